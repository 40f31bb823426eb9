"""What a request must say about itself: its `_meta`, and the headers that mirror it.

Layer: transport, pure; the middle of the order of checks in `genmcp.transport.inbound`,
which calls these functions one after the other.

Proxies route by the headers, the server runs the body. So each header that repeats a
part of the body must be there once and say the same.

Spec: basic/index#meta, basic/transports/streamable-http#server-validation
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from genmcp.errors import HeaderMismatch, InvalidParams, UnsupportedProtocolVersion
from genmcp.mcp import v2607 as mcp
from genmcp.transport import headers as header
from genmcp.transport.headers import decode_value, show
from genmcp.wire.json_kinds import OBJECT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from genmcp.transport.headers import RequestHeaders
    from genmcp.wire.messages import RequestMessage

SUPPORTED_VERSIONS: Final = (mcp.PROTOCOL_VERSION,)
"""The protocol versions that requests may name in `_meta`."""

_VERSION_KEY: Final = mcp.PROTOCOL_VERSION_KEY
_CAPABILITIES_KEY: Final = mcp.CLIENT_CAPABILITIES_KEY
_TARGETS: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Which member of the params `Mcp-Name` mirrors; other methods have no such header."""
_HANDSHAKE: Final = "initialize"


def read_meta(
    headers: RequestHeaders, message: RequestMessage, supported: Sequence[str] = SUPPORTED_VERSIONS
) -> dict[str, Any]:
    """Return `params._meta`, which has the two keys every request must have.

    Raises:
        InvalidParams: it, or one of the two, is missing or of another JSON type.
        UnsupportedProtocolVersion: it is missing because this is the handshake of
            earlier protocol versions; the answer names the versions served.

    Spec: basic/index#meta, basic/versioning
    """
    params = message.params if message.params is not None else {}
    found = params.get("_meta")
    meta: dict[str, Any] | None = found if type(found) is OBJECT else None
    if meta is None or _VERSION_KEY not in meta:
        if message.method == _HANDSHAKE:
            _refuse_handshake(headers, params, supported)
        if meta is not None:
            raise _invalid_meta(f'has no "{_VERSION_KEY}"')
        raise _invalid_meta(
            ("must be an object" if "_meta" in params else "is missing")
            + f'; every request carries "{_VERSION_KEY}" and "{_CAPABILITIES_KEY}" in it'
        )
    if not isinstance(meta[_VERSION_KEY], str):
        raise _invalid_meta(f'must have a string as "{_VERSION_KEY}"')
    if _CAPABILITIES_KEY not in meta:
        raise _invalid_meta(f'has no "{_CAPABILITIES_KEY}"; send {{}} for no capabilities')
    if not isinstance(meta[_CAPABILITIES_KEY], dict):
        raise _invalid_meta(f'must have an object as "{_CAPABILITIES_KEY}"')
    return meta


def _invalid_meta(problem: str) -> InvalidParams:
    return InvalidParams(f"params._meta {problem}", data={"path": "params._meta"})


def _refuse_handshake(
    headers: RequestHeaders, params: Mapping[str, Any], supported: Sequence[str]
) -> NoReturn:
    # A client that names a served version in the header has merely forgotten `_meta`,
    # and gets the answer everyone gets for that; both answers name the versions.
    named = headers.get(header.PROTOCOL_VERSION)
    if named is not None and named.decode("latin-1") in SUPPORTED_VERSIONS:
        raise _invalid_meta(f"is missing; {describe_unknown(_HANDSHAKE)}")
    requested = params.get("protocolVersion")
    raise UnsupportedProtocolVersion(requested if isinstance(requested, str) else "", supported)


def check_headers(
    headers: RequestHeaders,
    message: RequestMessage,
    meta: Mapping[str, Any],
    supported: Sequence[str] = SUPPORTED_VERSIONS,
) -> None:
    """Check all headers that mirror the body: the version first, then the others.

    Raises:
        HeaderMismatch: see `check_version` and `check_mirrors`.
        UnsupportedProtocolVersion: see `check_version`.
    """
    target = _find_target(message)
    said = (meta[_VERSION_KEY], message.method, target)
    if said == headers.findings.agreed:
        return
    check_version(headers, meta, supported)
    check_mirrors(headers, message)
    headers.findings.agreed = said


def check_version(
    headers: RequestHeaders,
    meta: Mapping[str, Any],
    supported: Sequence[str] = SUPPORTED_VERSIONS,
) -> None:
    """Check that the version header is there, says what `_meta` says, and is served.

    Args:
        headers: the request's.
        meta: its `_meta`.
        supported: the versions that -32022 names.

    Raises:
        HeaderMismatch: the header is missing, malformed or different.
        UnsupportedProtocolVersion: both name a version that is not served.

    Spec: basic/transports/streamable-http#protocol-version-header
    """
    declared: str = meta[_VERSION_KEY]
    mirrored = f'params._meta["{_VERSION_KEY}"]'
    sent = headers.read_mirror(header.PROTOCOL_VERSION, mirrored)
    if sent != declared:
        raise _mismatch("MCP-Protocol-Version", sent, mirrored, declared)
    check_served(meta, supported)


def check_served(meta: Mapping[str, Any], supported: Sequence[str] = SUPPORTED_VERSIONS) -> None:
    """Check that the version that `_meta` names is served.

    Raises:
        UnsupportedProtocolVersion: it is not. Wire form: -32022, with the served ones.
    """
    declared: str = meta[_VERSION_KEY]
    if declared not in SUPPORTED_VERSIONS:
        raise UnsupportedProtocolVersion(declared, supported)


def check_mirrors(headers: RequestHeaders, message: RequestMessage) -> None:
    """Check `Mcp-Method` and, for the three methods that have it, `Mcp-Name`.

    Raises:
        HeaderMismatch: one of them is missing, malformed or different, or some `Mcp-`
            header was sent more than once.

    Spec: basic/transports/streamable-http#standard-request-headers
    """
    method = headers.read_mirror(header.METHOD, "method")
    if method != message.method:
        raise _mismatch("Mcp-Method", method, "method", message.method)
    # A stray Mcp-Name is ignored, but two of one name let proxy and server disagree.
    for spelling in headers.repeated:
        if spelling.startswith("Mcp-"):
            raise HeaderMismatch(f"The header {spelling} was sent more than once; send it once")
    target = _find_target(message)
    if target is not None:
        _check_name(headers, f"params.{_TARGETS[message.method]}", target)


def _find_target(message: RequestMessage) -> str | None:
    """Return what `Mcp-Name` mirrors, for the methods that have it."""
    key = _TARGETS.get(message.method)
    if key is None or message.params is None:
        return None
    target = message.params.get(key)
    # Anything else leaves nothing to compare with; the params are refused for it next.
    return target if isinstance(target, str) else None


def _check_name(headers: RequestHeaders, mirrored: str, target: str) -> None:
    text = headers.read_mirror(header.NAME, mirrored)
    try:
        name = decode_value(text)
    except ValueError as error:
        raise HeaderMismatch(
            f"The header Mcp-Name is {show(text)}, which cannot be decoded: {error}"
        ) from None
    if name != target:
        raise _mismatch("Mcp-Name", name, mirrored, target)


def _mismatch(spelling: str, sent: str, mirrored: str, said: str) -> HeaderMismatch:
    return HeaderMismatch(
        f"The header {spelling} is {show(sent)}, but the body says {show(said)} "
        f"in {mirrored}; they must be equal"
    )


def describe_unknown(method: str) -> str:
    """Return the sentence for a method that is not served."""
    if method == _HANDSHAKE:
        return f"There is no {_HANDSHAKE} in protocol version {', '.join(SUPPORTED_VERSIONS)}"
    return f"Method not found: {show(method)}"
