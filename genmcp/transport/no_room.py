"""What a connection is told that is not let in.

Layer: transport, pure. The doors of both servers say it, before a byte was read:
`genmcp.transport.http1.door` and `genmcp.transport.runner.door`.
"""

from __future__ import annotations

import functools
from typing import Final

from genmcp.errors import Overloaded
from genmcp.wire.messages import write_error

_RETRY_AFTER_SECONDS: Final = 1


@functools.cache
def render_full(limit: int) -> bytes:
    """Return what a connection is told when the server has `limit` of them."""
    return _render("The server has no room for another connection", "max_connections", limit)


@functools.cache
def render_full_for_address(limit: int) -> bytes:
    """Return what a connection is told when its address has `limit` of them."""
    message = "The server takes no more connections from this address"
    return _render(message, "max_connections_per_address", limit)


def _render(message: str, setting: str, limit: int) -> bytes:
    error = Overloaded(
        f"{message} ({setting})",
        setting=setting,
        limit=limit,
        is_option=True,
        retry_after_seconds=_RETRY_AFTER_SECONDS,
    )
    body = write_error(None, error)
    return (
        b"HTTP/1.1 503 Service Unavailable\r\n"
        b"content-type: application/json\r\n"
        b"content-length: %d\r\n"
        b"retry-after: %d\r\n"
        b"connection: close\r\n\r\n%s" % (len(body), _RETRY_AFTER_SECONDS, body)
    )
