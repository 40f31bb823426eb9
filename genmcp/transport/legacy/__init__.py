"""Clients of 2025: what their requests do, and how that is carried on HTTP.

Layer: transport, shell. What is said is translated by `genmcp.legacy`. For HTTP and for
stdio (`genmcp.transport.stdio.legacy_session`):

    session_requests  one request of a session as a call of today
    session_methods   ping, log level, watched resources
    conversation  one request: its calls, and the questions in between
    carrier       what carries it: the contract
    sink          a call's events as messages of 2025
    listening     what the server tells unasked

For HTTP alone; `genmcp.transport.endpoint` hands over what belongs to 2025, when it has
passed what holds for everybody: path, origin, access token, size:

    admission     who is calling, and in which session
    endpoint      one message of one session
    stream        the carrier: JSON, or a stream that outlives its connection
    verbs         GET and DELETE
    news_stream   GET: what the server tells unasked
    resuming      GET with `Last-Event-ID`: what a client missed

Spec: 2025-11-25 basic/transports
"""
