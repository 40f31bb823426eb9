"""How messages travel: HTTP and stdio, and what is pure in them.

Layer: transport, above the mux. In the order of a request: `endpoint` answers one. Who
may call is `sender`'s to say (with `origin`, `public_url`, `cors`) and, where that takes
an access token, `authorize`'s (with `challenge`, `resource_metadata`); `inbound` (with
`headers`, `envelope`) reads it or refuses it; `identify` asks the application who calls;
`reply` (with `sse`, `discovery_sink`) renders the answer. Why a request was refused is told
by `refused`, and what must not happen is masked by `fault`. All but `endpoint`, `authorize`
and `identify` are pure. What belongs to 2025 goes to `legacy`.

An `exchange` carries one request: `asgi_exchange` for ASGI servers, where `asgi` is the
application and `runner` serves it with Hypercorn's parts, or `http1.exchange`, where
`http1` is our own server; both read targets with `request_target`, and turn connections away
with `no_room`. `watch` notices that a client has gone. `serve` is what users call, and
`serving` starts either (with `port_config`, `listeners`, `unix_socket`, `announcement`,
`signals`); `proxies` says whom to believe about where a request comes from.

`stdio` has the other transport, all of it but what a message says of itself (`envelope`),
which is the same.
"""
