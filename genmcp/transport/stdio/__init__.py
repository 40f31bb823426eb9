"""stdio: one client, whose process this is, and a line for each message.

Layer: transport. `line_splitter` cuts what comes in into lines, `line_inbound` reads them,
`line_reply` renders the answers; they are pure. `connection` serves the client: its
`open_calls`, each an `open_call` (a `line_call`, where it is of today), and `refusals`, all
of which end in the one `output`. What clients of 2025 send goes to `legacy_session`; there
each call is a `legacy_call`, and changes are told by `legacy_news`. `standard_streams` keeps
stdin and stdout for it, as `descriptors`. `serve` is for users.

Spec: basic/transports/stdio
"""
