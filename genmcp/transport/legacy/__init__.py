"""Clients of 2025 on HTTP: sessions, streams that can be resumed, questions on them.

Layer: transport, shell. `genmcp.transport.endpoint` hands over what belongs to 2025, when
it has passed what holds for everybody: path, origin, access token, size. What is said is
translated by `genmcp.legacy`.

    admission     who is calling, and in which session
    endpoint      one message of one session
    session_methods  ping, log level, watched resources
    conversation  one request: its calls, and the questions in between
    stream        the response to it: JSON, or a stream that outlives its connection
    sink          a call's events as messages of 2025
    verbs         GET and DELETE
    listening     GET: what the server tells unasked
    resuming      GET with `Last-Event-ID`: what a client missed

Spec: 2025-11-25 basic/transports#streamable-http
"""
