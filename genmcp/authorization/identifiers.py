"""URLs that are names: resources and issuers, and when two of them are one.

Layer: contract, pure.

Spec: basic/authorization/index#canonical-server-uri
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import Final
from urllib.parse import SplitResult, urlsplit

from genmcp.errors import show

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
# What RFC 3986 lets stand in a URL; no space, quote, backslash or control character.
_URL: Final = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+\Z")


# Asked for every request, about the few names that verified tokens have.
@lru_cache(maxsize=256)
def canonicalize(name: str) -> str:
    """Return the form in which names of one resource are equal.

    Scheme and host are in lower case, and the scheme's own port and one trailing slash
    are left out. What is no URL with a host (issuers name resources as they like) stays
    as it is; so does one with a fragment, which names no resource, and one with other
    characters than URLs have: `urlsplit` takes line breaks out of names, and there are
    letters outside of ASCII that are in ASCII once they are in lower case.
    """
    if _URL.match(name) is None:
        return name
    try:
        parts = urlsplit(name)
        port = parts.port
    except ValueError:
        return name
    host = _find_host(parts)
    if not (host and parts.scheme) or "#" in name:
        return name
    if port == _DEFAULT_PORTS.get(parts.scheme):
        port = None
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    authority = user + (host if port is None else f"{host}:{port}")
    query = f"?{parts.query}" if "?" in name else ""
    return f"{parts.scheme}://{authority}{parts.path.removesuffix('/')}{query}"


def check_url(setting: str, url: object, *, query: bool = True) -> str:
    """Return `url` if it is one that secrets, or trust, may rest on.

    Args:
        setting: the option it was given as, for the message.
        url: `https`, or `http` for loopback.
        query: whether it may have a query. None may have a fragment.

    Raises:
        TypeError: it is not a string.
        ValueError: it is no such URL.
    """
    if not isinstance(url, str):
        raise TypeError(f"{setting} must be a URL as a str, got {show(url)}")
    problem = _find_problem(url, query=query)
    if problem is not None:
        # A password in it belongs in no message.
        shown = "" if "@" in url else f", got {show(url)}"
        raise ValueError(f"{setting} {problem}{shown}")
    return url


def _find_problem(url: str, *, query: bool) -> str | None:
    try:
        parts = urlsplit(url)
        host, _ = _find_host(parts), parts.port
    except ValueError:
        host, parts = "", SplitResult("", "", "", "", "")
    if _URL.match(url) is None or not host or parts.scheme not in _DEFAULT_PORTS:
        return 'must be a URL such as "https://auth.example.com"'
    if "@" in parts.netloc:
        return "must have no user or password"
    if parts.scheme == "http" and not _is_loopback(host):
        return "must begin with https:// (http:// is for loopback only)"
    if "#" in url:
        return "must have no fragment"
    if "?" in url and not query:
        return "must have no query"
    return None


def _find_host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    return f"[{host}]" if ":" in host else host


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
