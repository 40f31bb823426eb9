"""What a connection is answered for which there is no room.

Layer: transport, pure. For the doors of both servers, `genmcp.transport.http1` and
`genmcp.transport.runner`, which send it without having read a request.
"""

from __future__ import annotations

from genmcp.errors import Overloaded
from genmcp.wire.messages import write_error


def render_full(max_connections: int) -> bytes:
    """Return the whole response: 503, and when to come back."""
    error = Overloaded(
        "The server has no room for another connection (max_connections)",
        setting="max_connections",
        retry_after_seconds=1,
        limit=max_connections,
        is_option=True,
    )
    body = write_error(None, error)
    return (
        b"HTTP/1.1 503 Service Unavailable\r\n"
        b"content-type: application/json\r\n"
        b"content-length: %d\r\n"
        b"retry-after: %d\r\n"
        b"connection: close\r\n\r\n%s" % (len(body), error.retry_after_seconds, body)
    )
