"""What a connection is told that is not let in.

Layer: transport, pure. The doors of both servers say it, before a byte was read:
`genmcp.transport.http1.door` and `genmcp.transport.runner.door`.
"""

from __future__ import annotations

from typing import Final

from genmcp.errors import Overloaded
from genmcp.wire.messages import write_error

_RETRY_AFTER_SECONDS: Final = 1


def _render(message: str, setting: str) -> bytes:
    error = Overloaded(
        f"{message} ({setting})", setting=setting, retry_after_seconds=_RETRY_AFTER_SECONDS
    )
    body = write_error(None, error)
    return (
        b"HTTP/1.1 503 Service Unavailable\r\n"
        b"content-type: application/json\r\n"
        b"content-length: %d\r\n"
        b"retry-after: %d\r\n"
        b"connection: close\r\n\r\n%s" % (len(body), _RETRY_AFTER_SECONDS, body)
    )


FULL: Final = _render("The server has no room for another connection", "max_connections")
FULL_FOR_ADDRESS: Final = _render(
    "The server takes no more connections from this address", "max_connections_per_address"
)
