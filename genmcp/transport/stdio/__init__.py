"""stdio: one client, whose process this is, and a line for each message.

Layer: transport. `line_splitter` cuts what comes in into lines, `line_inbound` reads them,
`line_reply` renders the answers; they are pure. `connection` runs the calls of the client
with its `output`. `standard_streams` keeps stdin and stdout for them, as `descriptors`.
`serve` is for users.

Spec: basic/transports/stdio
"""
