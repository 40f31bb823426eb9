"""HTTP/1.1 on trio, for exactly this job.

Layer: transport, shell. In the order of a request: `run` starts and shuts down,
`door` accepts, `connection` reads and answers (`inflow` and `wire` move
its bytes, `request_reader` and `response_writer` are the protocol, pure), `exchange` is
one request as the application sees it, `description` what it is told of one.
"""

from genmcp.transport.http1.run import run_http1

__all__ = ["run_http1"]
