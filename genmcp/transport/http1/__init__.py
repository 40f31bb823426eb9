"""HTTP/1.1 on trio, for exactly this job.

Layer: transport, shell. In the order of a request: `run` starts and shuts down,
`door` accepts, `connection` reads and answers (`inflow` and `wire` move
its bytes, `request_reader`, with the heads it knows (`known_heads`), and `response_writer`
are the protocol, pure), `exchange` is one request as the application sees it, `description`
what it is told of one. `service` is what all connections share.
"""

from genmcp.transport.http1.run import run_http1

__all__ = ["run_http1"]
