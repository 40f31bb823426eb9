"""The target of an HTTP/1 request, in both the forms an origin server must take.

Layer: transport; pure. Both servers ask it about each request. It is in neither of them,
as importing one would import all of Hypercorn.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import unquote

_ABSOLUTE: Final = re.compile(rb"(https?)://([^/?#]*)([^#]*)", re.IGNORECASE)
_BEGINNING: Final = re.compile(rb"https?:", re.IGNORECASE)


class RequestTarget(NamedTuple):
    """What is asked for.

    Attributes:
        path: path and query, as sent.
        authority: host and port, if the target has them; they replace `Host`.
        secure: whether the target says `https`.
    """

    path: bytes
    authority: bytes | None = None
    secure: bool = False


def read_target(target: bytes) -> RequestTarget:
    """Read a target; one of neither form is returned as the path.

    Raises:
        ValueError: it is an absolute URI without a host, or with a user or fragment.
    """
    if _BEGINNING.match(target) is None:
        return RequestTarget(target)
    found = _ABSOLUTE.fullmatch(target)
    if found is None:
        raise ValueError("not an http URI")
    scheme, authority, path = found.groups()
    if not authority or authority.startswith(b":") or b"@" in authority:
        raise ValueError("no host, or a user beside it")
    if not path.startswith(b"/"):
        path = b"/" + path
    return RequestTarget(path, authority, secure=scheme.lower() == b"https")


def split_target(target: bytes) -> tuple[str, bytes, bytes]:
    """Return the path of a target that begins with one, decoded; the same as sent; the query."""
    raw_path, _, query = target.partition(b"?")
    path = raw_path.decode("latin-1")
    return unquote(path) if "%" in path else path, raw_path, query
