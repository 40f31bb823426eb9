"""The protocol of 2025: its messages in terms of today's, and what is kept of a session.

Layer: between the contracts and the transports. Suite and providers know one protocol,
`2026-07-28`. Clients of 2025 speak another: they open a session, are asked questions by
requests of the server, and expect results without today's members. That is translated at
the rim, and only there; all that gets further is the channel's `protocol_version`.

    versions    which of the earlier versions are served, and which one is agreed on
    era         which era a message belongs to: the decision table
    session     what a session id holds: a sealed token, so that idle sessions cost nothing
    messages    the responses that clients post, besides the messages of today
    requests    a request of 2025 as one of today
    results     results and notifications without what 2025 does not know
    failures    errors with the codes of 2025
    questions   what `InputRequired` asks, as requests of the server
    store       what no token can hold: an ended session, a log level, a subscription
    signals     what the requests of one session tell each other, as bytes
    replay      the events of streams, for clients that lost their connection
    memory_store, memory_replay
                both, for one process
    guard       both, for who uses them: what fails or hangs fails one client

`genmcp.transport.legacy` puts it on HTTP, `genmcp.transport.stdio.legacy_session` on stdio.

Spec: basic/versioning#backward-compatibility-with-initialization-handshakes
"""
