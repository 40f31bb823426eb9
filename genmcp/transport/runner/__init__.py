"""Runs an ASGI application on trio, built from Hypercorn's parts.

Layer: transport, shell. `genmcp.transport.serving` is what uses it here; by itself it
serves any ASGI application. In the order of a request: `run` starts and shuts down,
`door` accepts, `connection` moves bytes, `http` (`http1`, `http2`) makes requests of
them, `application` runs the application; `crash` tells whose an
exception is, `signals` hears those that end a process; `config` says in Hypercorn's
words what `genmcp.transport.port_config` says in ours.

Hypercorn's own `serve` ends the process, and the nursery it is embedded in, when one
connection fails; waits without end for a client that stops reading, even when
cancelled; and never tells the application that a shutdown began. So this is a runner of
its own around Hypercorn's protocol classes. Nothing in Hypercorn is patched.
"""

from genmcp.transport.runner.run import run_asgi

__all__ = ["run_asgi"]
