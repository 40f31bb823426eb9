"""How messages travel: HTTP and stdio, and what is pure in them.

Layer: transport, above the mux. In the order of a request: `endpoint` answers one. Who
may call is `sender`'s to say (with `origin`, `public_url`, `cors`) and, where that takes
an access token, `authorize`'s (with `challenge`, `resource_metadata`); `inbound` (with
`headers`, `envelope`) reads it or refuses it; `identify` asks the application who calls;
`reply` (with `sse`) renders the answer. All but the first and the last but one are pure.

An `exchange` carries one request: `asgi_exchange` for ASGI servers, where `asgi` is the
application and `runner` serves it with Hypercorn's parts, or `http1.exchange`, where
`http1` is our own server; both read targets with `request_target`. `serve` is what users
call, and `serving` starts either (with `port_config`, `listeners`, `announcement`,
`signals`).

`stdio` has the other transport, all of it but what a message says of itself (`envelope`),
which is the same.
"""
