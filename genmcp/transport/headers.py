"""Request headers: which ones are read, and how strictly.

Layer: transport, pure. A shell hands over the pairs its HTTP parser gave it; they are
gone through once. `genmcp.transport.inbound` asks for the values.

Anything two readers could understand differently is refused, because a proxy may
route on what it read and this server would run what it read: a header sent twice, a
byte outside visible ASCII, Base64 that is not the one canonical spelling.

Spec: basic/transports/streamable-http#standard-request-headers, and #value-encoding
"""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING, Final

import attrs

from genmcp.errors import HeaderMismatch
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from genmcp.transport.reply import HeaderPairs

HOST: Final = b"host"
ORIGIN: Final = b"origin"
AUTHORIZATION: Final = b"authorization"
CONTENT_TYPE: Final = b"content-type"
CONTENT_LENGTH: Final = b"content-length"
CONTENT_ENCODING: Final = b"content-encoding"
TRANSFER_ENCODING: Final = b"transfer-encoding"
EXPECT: Final = b"expect"
PROTOCOL_VERSION: Final = b"mcp-protocol-version"
METHOD: Final = b"mcp-method"
NAME: Final = b"mcp-name"
SESSION_ID: Final = b"mcp-session-id"
LAST_EVENT_ID: Final = b"last-event-id"
ACCEPT: Final = b"accept"
REQUEST_METHOD: Final = b"access-control-request-method"
REQUEST_HEADERS: Final = b"access-control-request-headers"

_PARAM_PREFIX: Final = b"mcp-param-"
_SPELLINGS: Final = {
    HOST: "Host",
    ORIGIN: "Origin",
    AUTHORIZATION: "Authorization",
    CONTENT_TYPE: "Content-Type",
    CONTENT_LENGTH: "Content-Length",
    CONTENT_ENCODING: "Content-Encoding",
    TRANSFER_ENCODING: "Transfer-Encoding",
    EXPECT: "Expect",
    PROTOCOL_VERSION: "MCP-Protocol-Version",
    METHOD: "Mcp-Method",
    NAME: "Mcp-Name",
    # Not "Mcp-": it is one of 2025, and means nothing on a request of today.
    SESSION_ID: "MCP-Session-Id",
    LAST_EVENT_ID: "Last-Event-ID",
    ACCEPT: "Accept",
    REQUEST_METHOD: "Access-Control-Request-Method",
    REQUEST_HEADERS: "Access-Control-Request-Headers",
}
_LISTS: Final = frozenset({REQUEST_HEADERS, ACCEPT})
_VISIBLE: Final = re.compile(rb"[\t\x20-\x7e]*")
_WRAPPED_START: Final = "=?base64?"
_WRAPPED_END: Final = "?="
_MAX_SHOWN_CHARACTERS: Final = 80


Mirrored = tuple[str, str, str | None]
"""What headers repeat of a body: the protocol version, the method, and whom it is about."""


@attrs.define(eq=False)
class Findings:
    """What was found out about headers, for the next request that has the same.

    Attributes:
        agreed: what a body said that agreed with them, as no other can.
        passed: what each response says, if the endpoint has nothing against a request of
            this head, whoever sends it.
    """

    agreed: Mirrored | None = None
    passed: HeaderPairs | None = None


@attrs.frozen(eq=False, repr=False)
class RequestHeaders(Value):
    """The headers of one request that matter here; whatever else was sent is dropped.

    Attributes:
        values: lower-case name to value, outer spaces and tabs removed. Of a header
            sent more than once, the last; the lists among them are put together.
        params: the same for `Mcp-Param-*`, by what follows that prefix.
        repeated: the headers sent more than once, as they are spelled.
        findings: what was found out about them.
    """

    # An access token is among them, and a repr ends up in logs.
    values: Mapping[bytes, bytes] = attrs.field(repr=False)
    params: Mapping[str, bytes]
    repeated: frozenset[str]
    # The headers of one request are often those of the next.
    findings: Findings = attrs.field(factory=Findings, repr=False, eq=False)

    def get(self, name: bytes) -> bytes | None:
        """Return the value of the header with this lower-case name, if it was sent."""
        return self.values.get(name)

    def read_mirror(self, name: bytes, mirrored: str) -> str:
        """Return a header that repeats a part of the body.

        Args:
            name: the header, in lower case.
            mirrored: what it repeats, for the message: `the body's "method"`.

        Raises:
            HeaderMismatch: it was not sent, was sent more than once, or has a
                character that no header may have.
        """
        spelling = _SPELLINGS[name]
        value = self.values.get(name)
        if value is None:
            raise HeaderMismatch(f"The header {spelling} is missing; it must repeat {mirrored}")
        if spelling in self.repeated:
            raise HeaderMismatch(f"The header {spelling} was sent more than once; send it once")
        if _VISIBLE.fullmatch(value) is None:
            raise HeaderMismatch(
                f"The header {spelling} has characters outside visible ASCII: {show(value)}"
                + ("; wrap such a value as =?base64?...?=" if name == NAME else "")
            )
        return value.decode("ascii")

    def with_length(self, digits: bytes) -> RequestHeaders:
        """Return the same headers with another `Content-Length`."""
        values = {**self.values, CONTENT_LENGTH: digits}
        return RequestHeaders(values, self.params, self.repeated, self.findings)


_NOT_REPEATED: Final = frozenset[str]()
NO_HEADERS: Final = RequestHeaders({}, {}, _NOT_REPEATED)
"""None at all."""


def scan_headers(pairs: Iterable[tuple[bytes, bytes]]) -> RequestHeaders:
    """Go through the headers of a request once and keep those that matter."""
    values: dict[bytes, bytes] = {}
    params: dict[str, bytes] = {}
    repeated: list[str] = []
    for raw_name, value in pairs:
        name = raw_name.lower()
        spelling = _SPELLINGS.get(name)
        if spelling is not None:
            if name not in values:
                values[name] = value.strip(b" \t")
            elif name in _LISTS:
                values[name] += b"," + value
            else:
                repeated.append(spelling)
                values[name] = value.strip(b" \t")
        elif name.startswith(_PARAM_PREFIX):
            param = name[len(_PARAM_PREFIX) :].decode("latin-1")
            if param in params:
                repeated.append(f"Mcp-Param-{param}")
            params[param] = value.strip(b" \t")
    return RequestHeaders(values, params, frozenset(repeated) if repeated else _NOT_REPEATED)


def decode_value(text: str) -> str:
    """Return what a value of `Mcp-Name` or `Mcp-Param-*` stands for.

    `=?base64?...?=`, markers in lower case and both present, wraps the Base64 of UTF-8
    text; any other value is literal. Decoded once: text that looks wrapped itself
    arrives wrapped twice.

    Raises:
        ValueError: between the markers is not canonical, padded, standard Base64 of
            UTF-8 text.

    Spec: basic/transports/streamable-http#value-encoding
    """
    # The length tells `=?base64?=`, where the markers share a character.
    wrapped = (
        text.startswith(_WRAPPED_START)
        and text.endswith(_WRAPPED_END)
        and len(text) >= len(_WRAPPED_START) + len(_WRAPPED_END)
    )
    if not wrapped:
        return text
    inside = text[len(_WRAPPED_START) : -len(_WRAPPED_END)].encode("ascii")
    try:
        decoded = binascii.a2b_base64(inside, strict_mode=True)
    except binascii.Error as error:
        raise ValueError(f"not standard, padded Base64: {error}") from None
    # Strict mode lets stray low bits in the last character pass.
    if binascii.b2a_base64(decoded, newline=False) != inside:
        raise ValueError("not canonical Base64: the last character has stray bits")
    try:
        return decoded.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("the Base64 does not hold UTF-8 text") from None


def read_params(headers: RequestHeaders) -> dict[str, str | None]:
    """Return the `Mcp-Param-*` headers by lower-case name; `None` for unreadable ones.

    Whether an unreadable one matters is for whoever knows the tool: headers that no
    parameter asks for are ignored.
    """
    if not headers.params:
        return {}
    return {param: _read_param(value) for param, value in headers.params.items()}


def _read_param(value: bytes) -> str | None:
    if _VISIBLE.fullmatch(value) is None:
        return None
    try:
        return decode_value(value.decode("ascii"))
    except ValueError:
        return None


def show(value: str | bytes) -> str:
    """Return a value a stranger sent as it may stand in a message: quoted and short."""
    return ascii(shorten(value))


def shorten(value: str | bytes) -> str:
    """Return a value a stranger sent as it may stand in JSON, which quotes it: short."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    if len(text) > _MAX_SHOWN_CHARACTERS:
        text = text[:_MAX_SHOWN_CHARACTERS] + "..."
    return text
