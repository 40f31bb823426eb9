"""A request of 2025 as one of today.

Layer: legacy, pure. What today's requests say of themselves in `_meta` (who calls, in
which version, with which capabilities) a session knows already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from genmcp.caller import Caller, read_caller
from genmcp.errors import InvalidParams
from genmcp.mcp import v2607 as mcp
from genmcp.wire.messages import decode_request

if TYPE_CHECKING:
    from genmcp.legacy.session import Session
    from genmcp.wire.messages import RequestMessage

DEFAULT_LOG_LEVEL: Final[mcp.LoggingLevel] = "info"
"""What a client hears of that has not set a level: the server may choose."""

MODERN_ONLY: Final = frozenset({"server/discover", "subscriptions/listen"})
"""The methods of today that 2025 does not have."""

_RESERVED: Final = "io.modelcontextprotocol/"
# Members of today's retries, and of the tasks of 2025-11-25, which are not served: whoever
# does not declare them ignores the member.
_DROPPED: Final = ("inputResponses", "requestState", "task")


def translate_request(
    message: RequestMessage, session: Session, log_level: mcp.LoggingLevel | None
) -> tuple[mcp.Request, Caller]:
    """Return the request as one of today, and who calls.

    Args:
        message: the request; its method is one that both eras have, or the server's own.
        session: the one it belongs to.
        log_level: what was set by `logging/setLevel`, if it was.

    Raises:
        InvalidParams: the params have not the form of the method's.
    """
    params = {name: value for name, value in (message.params or {}).items() if name not in _DROPPED}
    meta = params["_meta"] = _complete_meta(params.get("_meta"), session, log_level)
    request = decode_request(message.method, params)
    return request, read_caller(message.id, request, meta)


def make_request(
    method: str, params: dict[str, Any], request_id: mcp.RequestId, session: Session
) -> tuple[mcp.Request, Caller]:
    """Return a request that the rim makes on behalf of a session."""
    meta = _complete_meta(None, session, None)
    request = decode_request(method, {**params, "_meta": meta})
    return request, read_caller(request_id, request, meta)


def _complete_meta(
    found: Any, session: Session, log_level: mcp.LoggingLevel | None
) -> dict[str, Any]:
    if found is not None and not isinstance(found, dict):
        raise InvalidParams("params._meta must be an object", data={"path": "params._meta"})
    own = cast("dict[str, Any]", found or {})
    return {
        **{key: value for key, value in own.items() if not key.startswith(_RESERVED)},
        mcp.PROTOCOL_VERSION_KEY: session.version,
        mcp.CLIENT_CAPABILITIES_KEY: dict(session.capabilities),
        mcp.CLIENT_INFO_KEY: dict(session.client_info),
        mcp.LOG_LEVEL_KEY: log_level or DEFAULT_LOG_LEVEL,
    }
