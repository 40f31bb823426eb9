"""CORS: what lets a page in a browser read the answers.

Layer: transport, pure. There is one decision, that of `genmcp.transport.sender` about the
`Origin`, and two consequences: a page that may call may read what comes back, errors
included, and its browser's question beforehand (the preflight) is answered yes. A page
that may not call gets no header of these.

Left out on purpose: `Access-Control-Allow-Credentials`, as what clients identify
themselves by travels in `Authorization` and not in cookies; and the headers of Private
Network Access, which browsers gave up in 2025 for asking the user.

Spec: https://fetch.spec.whatwg.org/#http-cors-protocol
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from genmcp.errors import InvalidRequest
from genmcp.transport import headers as header
from genmcp.transport.inbound import Refusal
from genmcp.transport.reply import Whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from genmcp.transport.headers import RequestHeaders
    from genmcp.transport.reply import HeaderPairs

ANY_ORIGIN: Final = b"*"

MAX_AGE_SECONDS: Final = 7200
"""How long a browser may remember the answer to a preflight: the most that Chrome does."""

_EXPOSED: Final = b"WWW-Authenticate, Retry-After, Mcp-Session-Id"
_VARY: Final = b"Origin"
_VARY_OPTIONS: Final = (
    b"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"  # all it depends on
)
_TOKEN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MAX_NAMES: Final = 100
_MAX_LIST_BYTES: Final = 8192


def render_cors(verb: str, allowed: bytes | None) -> HeaderPairs:
    """Return what every response to a request says of who may read it.

    Args:
        verb: the HTTP method.
        allowed: the origin of the page that may, `ANY_ORIGIN`, or `None`. It goes out as
            it came in, since browsers compare it byte by byte.
    """
    # Without an origin, too: a cache must not give that answer to a page.
    vary = (b"vary", _VARY_OPTIONS if verb == "OPTIONS" else _VARY)
    if allowed is None:
        return (vary,)
    return (
        vary,
        (b"access-control-allow-origin", allowed),
        (b"access-control-expose-headers", _EXPOSED),
    )


def is_preflight(verb: str, headers: RequestHeaders) -> bool:
    """Tell whether a browser asks if a page may send what it wants to send."""
    return (
        verb == "OPTIONS"
        and headers.get(header.ORIGIN) is not None
        and headers.get(header.REQUEST_METHOD) is not None
    )


def answer_preflight(headers: RequestHeaders, verbs: Iterable[str]) -> Whole | Refusal:
    """Return the answer to the preflight of a page that may call.

    The headers it asks for are allowed by name: names of `Mcp-Param-*` are up to the
    tools, and `*` would not cover `Authorization`.

    Args:
        headers: those of the preflight.
        verbs: the HTTP methods that are served, whichever one is asked for.
    """
    if "Access-Control-Request-Method" in headers.repeated:
        return _refuse("The header Access-Control-Request-Method was sent more than once")
    requested = headers.get(header.REQUEST_HEADERS) or b""
    if len(requested) > _MAX_LIST_BYTES:
        return _refuse(f"Access-Control-Request-Headers is longer than {_MAX_LIST_BYTES} bytes")
    # Proxies may add empty entries and split the list; both are allowed of any list.
    names = [name for part in requested.split(b",") if (name := part.strip(b" \t"))]
    if len(names) > _MAX_NAMES:
        return _refuse(f"Access-Control-Request-Headers names more than {_MAX_NAMES} headers")
    for name in names:
        if _TOKEN.fullmatch(name) is None:
            return _refuse(
                "Access-Control-Request-Headers must be a list of header names; "
                f"{header.show(name)} is none"
            )
    # A 204 has no length; RFC 9110 forbids one.
    return Whole(204, tuple(_render_permission(verbs, names)), b"")


def _render_permission(verbs: Iterable[str], names: list[bytes]) -> Iterable[tuple[bytes, bytes]]:
    yield b"access-control-allow-methods", ", ".join(verbs).encode("ascii")
    if names:
        yield b"access-control-allow-headers", b", ".join(names)
    yield b"access-control-max-age", b"%d" % MAX_AGE_SECONDS


def _refuse(message: str) -> Refusal:
    return Refusal(400, InvalidRequest(message))
