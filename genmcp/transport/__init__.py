"""How messages travel: HTTP, and what is pure in it.

Layer: transport, above the mux. Pure: `inbound` (with `headers`, `origin` and
`envelope`) reads a request or refuses it, `reply` (with `sse`) renders the answer.
Shells: `asgi` is the application (with `exchange` and `watch`), `runner` serves it.
"""
