"""Requests and callers, as the transport would make them.

Layer: testing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genmcp.caller import Caller
from genmcp.mcp import v2607 as mcp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from genmcp.access import Access


def fake_caller(**facts: Any) -> Caller:
    """Return a caller that hears everything: a progress token, log level `debug`.

    Any attribute of `Caller` can be given: `fake_caller(assigns={"user": "ada"})`. With
    `access`, scopes are checked, and its subject is the principal; without it they are
    not, as where there is no HTTP.
    """
    access: Access | None = facts.get("access")
    given: dict[str, Any] = {
        "request_id": 1,
        "protocol_version": mcp.PROTOCOL_VERSION,
        "client_info": mcp.Implementation(name="genmcp.testing", version="0"),
        "client_capabilities": mcp.ClientCapabilities(),
        "progress_token": "progress",
        "log_level": "debug",
        "scopes_apply": access is not None,
        "principal": None if access is None else access.subject,
    }
    return Caller(**{**given, **facts})


def fake_request(
    name: str = "tool",
    arguments: Mapping[str, Any] | None = None,
    *,
    request_state: Any = None,
    input_responses: Mapping[str, Any] | None = None,
    caller: Caller | None = None,
) -> mcp.CallToolRequest[Any]:
    """Return a `tools/call` request, for calling a hook directly.

    `arguments` is handed on as it is: give the instance that `call` expects, or a
    mapping for `validate_request`.
    """
    caller = fake_caller() if caller is None else caller
    meta = mcp.RequestMetaObject(
        protocol_version=caller.protocol_version,
        client_capabilities=caller.client_capabilities,
        client_info=caller.client_info,
        progress_token=caller.progress_token,
        log_level=caller.log_level,
    )
    return mcp.CallToolRequest(
        params=mcp.CallToolRequestParams(
            meta=meta,
            name=name,
            arguments={} if arguments is None else arguments,
            request_state=request_state,
            input_responses=input_responses,
        )
    )
