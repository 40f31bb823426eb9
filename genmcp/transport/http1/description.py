"""What ASGI would say of a request, for the application's own functions.

Layer: transport, pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genmcp.transport.http1.request_reader import BadRequestError
from genmcp.transport.request_target import read_target, split_target

if TYPE_CHECKING:
    from genmcp.transport.http1.request_reader import IncomingRequest


def resolve_target(request: IncomingRequest, *, secure: bool) -> None:
    """Find out which path a request asks for.

    A target that is a whole URL gives the host, too, and then the header has no say: its
    `Host` becomes that of the target.

    Args:
        request: as it was read; what is found is put into it.
        secure: whether it came over TLS.

    Raises:
        BadRequestError: the target makes no sense here.

    Spec: RFC 9112, 3.2.2
    """
    target = request.target
    if not target.startswith(b"/"):
        target = _read_whole_url(request, secure=secure)
    request.path, request.raw_path, request.query = split_target(target)


def _read_whole_url(request: IncomingRequest, *, secure: bool) -> bytes:
    try:
        target, authority, wants_tls = read_target(request.target)
    except ValueError as error:
        raise BadRequestError(400, f"The request target makes no sense: {error}") from None
    if wants_tls and not secure:
        raise BadRequestError(421, "The target is an https URL, and this connection is not secured")
    if authority is not None:
        others = (pair for pair in request.headers if pair[0] != b"host")
        request.headers = [(b"host", authority), *others]
        request.scanned = None
    return target


def describe_request(
    request: IncomingRequest,
    *,
    client: tuple[str, int] | None,
    server: tuple[str, int | None] | None,
    secure: bool,
) -> dict[str, Any]:
    """Return the ASGI scope of a request.

    Args:
        request: as it was read, its target resolved.
        client: where it comes from.
        server: where it came to.
        secure: whether that is TLS.
    """
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.0" if request.http10 else "1.1",
        "method": request.verb,
        "scheme": "https" if secure else "http",
        "path": request.path,
        "raw_path": request.raw_path,
        "query_string": request.query,
        "root_path": "",
        # A copy: the application may change it, and the next request has the same list.
        "headers": request.headers.copy(),
        "client": client,
        "server": server,
    }
