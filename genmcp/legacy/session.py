"""A session: what client and server agreed on once, carried by the session id itself.

Layer: legacy, pure. The id is a sealed token. A session that its client forgets leaves
nothing behind here, and every process with the same secret takes it up. It is bound to
whoever opened it; an id alone is no proof of who is calling. Over stdio nobody needs one:
the pipe is the session.

Spec: 2025-11-25 basic/transports#session-management, basic/lifecycle
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final, cast

import attrs
import orjson

from genmcp.errors import InvalidParams
from genmcp.legacy.versions import NOVEMBER, negotiate_version
from genmcp.mcp import v2607 as mcp
from genmcp.value import Value
from genmcp.wire.codec import DecodeError, decode
from genmcp.wire.json_text import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from genmcp.tokens import Keyring

TTL_SECONDS: Final = 24 * 3600
"""How long a session lives. A client whose session has ended opens another."""

_PURPOSE: Final = "session"
_PARTS: Final = {"sampling": ("context", "tools"), "elicitation": ("form", "url")}
"""What 2025-11-25 knows inside a capability; 2025-06-18 knows nothing there."""
# The id is a header, and servers and proxies take no long ones.
_MAX_NAME: Final = 256
_MAX_EXPERIMENTAL_BYTES: Final = 1024


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Session(Value):
    """What was agreed on.

    Attributes:
        key: names it in the store. Not the id: who knows the key cannot use the session.
        version: the protocol version both speak.
        client_info: how the client named itself, in wire form.
        capabilities: what it can do, in wire form.
        expires_at: when it ends, in seconds since the epoch; `math.inf` for one that lives as
            long as its connection.
    """

    key: str
    version: str
    client_info: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    expires_at: float


def read_handshake(
    params: Mapping[str, Any] | None, now: float, ttl_seconds: float = TTL_SECONDS
) -> Session:
    """Return the session that an `initialize` asks for.

    Args:
        params: those of the request.
        now: the time, in seconds since the epoch.
        ttl_seconds: how long it lives.

    Raises:
        InvalidParams: something is missing or of another type; names it.

    Spec: 2025-11-25 basic/lifecycle#initialization
    """
    params = params or {}
    requested = params.get("protocolVersion")
    if not isinstance(requested, str):
        raise _invalid("protocolVersion", "must be a string")
    version = negotiate_version(requested)
    return Session(
        key=secrets.token_urlsafe(16),
        version=version,
        client_info=_read_client_info(params),
        capabilities=_read_capabilities(params, version),
        expires_at=int(now) + ttl_seconds,
    )


def seal_session(session: Session, keyring: Keyring, principal: str | None) -> str:
    """Return the session's id: visible ASCII, and opaque to clients."""
    payload = write_json(
        [
            session.key,
            session.version,
            dict(session.client_info),
            dict(session.capabilities),
            session.expires_at,
        ]
    )
    return keyring.seal(_PURPOSE, payload, ttl_seconds=TTL_SECONDS, bound_to=_bind(principal))


def unseal_session(token: str, keyring: Keyring, principal: str | None) -> Session:
    """Return the session of an id.

    Raises:
        TokenError: it is none of ours, somebody else's, or too old. Wire form: HTTP 404.
    """
    key, version, info, capabilities, expires_at = orjson.loads(
        keyring.unseal(_PURPOSE, token, bound_to=_bind(principal))
    )
    return Session(
        key=key,
        version=version,
        client_info=info,
        capabilities=capabilities,
        expires_at=expires_at,
    )


def _bind(principal: str | None) -> bytes:
    return b"" if principal is None else b"principal " + principal.encode("utf-8", "surrogatepass")


def _read_client_info(params: Mapping[str, Any]) -> dict[str, Any]:
    found = params.get("clientInfo")
    if not isinstance(found, dict):
        raise _invalid("clientInfo", "must be an object with name and version")
    info = cast("dict[str, Any]", found)
    for name in ("name", "version"):
        if not isinstance(info.get(name), str):
            raise _invalid(f"clientInfo.{name}", "must be a string")
    # Icons and descriptions stay out: they would make the id too long to be a header.
    known = {name: info[name] for name in ("name", "version", "title") if name in info}
    return {name: text[:_MAX_NAME] for name, text in known.items() if isinstance(text, str)}


def _read_capabilities(params: Mapping[str, Any], version: str) -> dict[str, Any]:
    found = params.get("capabilities")
    if not isinstance(found, dict):
        raise _invalid("capabilities", "must be an object; send {} for no capabilities")
    declared = cast("dict[str, Any]", found)
    read: dict[str, Any] = {}
    for name in ("roots", "sampling", "elicitation"):
        if isinstance(declared.get(name), dict):
            parts = _PARTS.get(name, ()) if version == NOVEMBER else ()
            read[name] = {part: {} for part in parts if isinstance(declared[name].get(part), dict)}
    experimental = declared.get("experimental")
    if experimental and len(write_json(experimental)) <= _MAX_EXPERIMENTAL_BYTES:
        read["experimental"] = experimental
    try:
        decode(mcp.ClientCapabilities, read)
    except DecodeError as error:
        raise _invalid("capabilities", str(error)) from None
    return read


def _invalid(name: str, problem: str) -> InvalidParams:
    return InvalidParams(f"params.{name} {problem}", data={"path": f"params.{name}"})
