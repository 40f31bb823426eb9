"""The public URL: what clients connect to, whatever stands in between.

Layer: transport, pure. Behind a proxy a server sees addresses its clients never use. The
one URL they do use is told once, and the rest follows from it: which `Host` and `Origin`
are answered (`genmcp.transport.origin`), where the endpoint is, and the resource that
access tokens are issued for.

That resource is compared as a string, by authorization servers and by clients, so there is
one spelling of it. What has several, such as a percent-encoded path, is refused.

Spec: basic/authorization/index#canonical-server-uri
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final

import attrs

from genmcp.errors import show
from genmcp.transport.origin import read_authority
from genmcp.value import Value

if TYPE_CHECKING:
    from genmcp.transport.origin import Authority

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_EXAMPLE: Final = '"https://mcp.example.com/mcp"'
_MAX_CHARACTERS: Final = 2000
# One character each that may stand in a path as it is; a percent sign may not.
_SEGMENT: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@-]+")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ANYWHERE: Final = {"0.0.0.0", "::"}  # noqa: S104 - to tell them, not to bind them


@attrs.frozen(eq=False, repr=False)
class PublicUrl(Value):
    """The URL of an endpoint as its clients have it, and its parts.

    Made by `read_public_url`, which sees to it that equal URLs are equal here.

    Attributes:
        url: the canonical form: scheme and host in lower case, no default port, no
            trailing slash. The resource that access tokens name as their audience.
        path: its path without a trailing slash; empty for the root.
        origin: scheme, host and port, as the `Origin` header of its own pages has them.
        authority: host and port, as the `Host` header has them.
        host: the host alone, an IPv6 address in brackets.
    """

    url: str
    path: str
    origin: str
    authority: str
    host: str


def read_public_url(text: str) -> PublicUrl:
    """Read a public URL, such as `"https://mcp.example.com/mcp"`.

    `http` is for loopback only: access tokens travel in the requests, and clients are
    told not to send them in the clear. Where a proxy ends TLS, its URL begins with
    `https` all the same.

    Raises:
        ValueError: it is not such a URL; the message begins with `public_url`, and says
            what to write instead.
        TypeError: it is not a string.
    """
    # The type says so, but settings often come out of a file.
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"public_url must be a string such as {_EXAMPLE}, got {show(text)}")
    _check_characters(text)
    scheme, separator, rest = text.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in _DEFAULT_PORTS:
        raise _refuse(text, f"must begin with https://, such as {_EXAMPLE}")
    authority_text, slash, path_text = rest.partition("/")
    authority = _read_host(text, authority_text)
    if scheme == "http" and not authority.loopback:
        raise _refuse(
            text,
            "must begin with https://: access tokens travel in the requests, and http:// "
            "shows them to whoever is on the way; where a proxy ends TLS, write its URL",
        )
    path = _read_path(text, slash + path_text)
    host = f"[{authority.name}]" if ":" in authority.name else authority.name
    port = None if authority.port == _DEFAULT_PORTS[scheme] else authority.port
    shown = host if port is None else f"{host}:{port}"
    origin = f"{scheme}://{shown}"
    return PublicUrl(url=origin + path, path=path, origin=origin, authority=shown, host=host)


def _check_characters(text: str) -> None:
    if len(text) > _MAX_CHARACTERS:
        raise _refuse(text, f"must have at most {_MAX_CHARACTERS} characters")
    if not text.isascii():
        raise _refuse(text, "must be ASCII; write an international host in its xn-- form")
    if any(not "!" <= character <= "~" for character in text):
        raise _refuse(text, "must have no spaces and no control characters")
    for character, name in (("?", "query"), ("#", "fragment")):
        if character in text:
            raise _refuse(text, f"must have no {name}; leave out what begins with {character!r}")


def _read_host(text: str, authority_text: str) -> Authority:
    if "@" in authority_text:
        raise _refuse(text, "must have no user or password; leave out what ends with '@'")
    authority = read_authority(authority_text.encode("ascii"))
    if authority is None or authority.port == 0:
        raise _refuse(text, f"must name a host, and a port if it is a special one, as {_EXAMPLE}")
    if authority.name in _ANYWHERE:
        raise _refuse(
            text, "names what a server is bound to; write the host that clients connect to"
        )
    if ":" not in authority.name and _NUMBER.fullmatch(authority.name.rpartition(".")[2]):
        try:
            ipaddress.IPv4Address(authority.name)
        except ValueError:
            # Browsers make four numbers of 127.1 and 0x7f000001: another origin.
            raise _refuse(text, "must write an address as four numbers") from None
    return authority


def _read_path(text: str, path: str) -> str:
    path = path.removesuffix("/")
    for segment in path.split("/")[1:]:
        if segment in {".", ".."}:
            raise _refuse(text, "must have no . or .. in its path; write where it leads to")
        if not segment:
            raise _refuse(text, "must have no empty part in its path; write one slash")
        if _SEGMENT.fullmatch(segment) is None:
            raise _refuse(
                text,
                "must have a path of letters, digits and -._~!$&'()*+,;=:@; what is "
                "percent-encoded has several spellings, and tokens are issued for one",
            )
    return path


def _refuse(text: str, why: str) -> ValueError:
    # What stands before an @ may be a password, and this goes to logs and terminals.
    return ValueError(f"public_url {why}" + ("" if "@" in text else f"; got {show(text)}"))
