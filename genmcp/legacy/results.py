"""Results and notifications without what 2025 does not know.

Layer: legacy, pure. Unknown members are legal JSON, but strict clients of 2025 refuse a
result for them, and some mean something else there.

Spec: 2025-11-25 schema, 2025-06-18 schema
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from genmcp.legacy.versions import JUNE
from genmcp.mcp import v2607 as mcp
from genmcp.wire.codec import encode
from genmcp.wire.json_text import write_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from genmcp.legacy.session import Session

_RESERVED: Final = "io.modelcontextprotocol/"
_MODERN_MEMBERS: Final = ("resultType", "ttlMs", "cacheScope")
_LISTS: Final = ("tools", "prompts", "resources", "resourceTemplates")
_NAMELESS: Final = {"name": "mcp-server", "version": "0"}
"""Who answers where the server keeps its identity to itself; 2025 demands one."""


def write_legacy_result(request_id: mcp.RequestId, result: dict[str, Any]) -> bytes:
    """Write a translated result in its envelope.

    Raises:
        EncodeError: it holds something that is not JSON.
    """
    return write_json({"jsonrpc": mcp.JSONRPC_VERSION, "id": request_id, "result": result})


def translate_result(result: mcp.Result, version: str) -> dict[str, Any]:
    """Return a result in wire form, as `version` has it.

    Raises:
        EncodeError: it is of no vocabulary class.
    """
    wire = _strip(encode(result))
    for name in _LISTS:
        if isinstance(wire.get(name), list):
            wire[name] = [_translate_item(item, version) for item in wire[name]]
    if isinstance(result, mcp.CallToolResult):
        _narrow_structured_content(wire)
    if version == JUNE:
        _strip_icons_of_links(wire)
    return wire


def translate_discovery(result: mcp.DiscoverResult, session: Session) -> dict[str, Any]:
    """Return the result of `initialize`.

    Spec: 2025-11-25 basic/lifecycle#initialization
    """
    wire: dict[str, Any] = encode(result)
    capabilities = dict(wire["capabilities"])
    capabilities.pop("extensions", None)
    info = wire.get("_meta", {}).get(mcp.SERVER_INFO_KEY, _NAMELESS)
    told = {
        "protocolVersion": session.version,
        "capabilities": capabilities,
        "serverInfo": _describe_server(info, session.version),
    }
    if "instructions" in wire:
        told["instructions"] = wire["instructions"]
    return told


def write_legacy_notification(notification: mcp.Notification) -> bytes:
    """Write a notification in its envelope, without the id of a subscription.

    Raises:
        EncodeError: it holds something that is not JSON.
    """
    wire: dict[str, Any] = encode(notification)
    params = wire.get("params")
    if isinstance(params, dict):
        stripped = _strip(cast("dict[str, Any]", params))
        wire = {**wire, "params": stripped}
        if not stripped:
            del wire["params"]
    return write_json({"jsonrpc": mcp.JSONRPC_VERSION, **wire})


def _strip(wire: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in wire.items() if name not in _MODERN_MEMBERS}
    meta = kept.get("_meta")
    if isinstance(meta, dict):
        own = {
            key: value
            for key, value in cast("dict[str, Any]", meta).items()
            if not key.startswith(_RESERVED)
        }
        if own:
            kept["_meta"] = own
        else:
            del kept["_meta"]
    return kept


def _translate_item(item: Any, version: str) -> Any:
    if not isinstance(item, dict):
        return item
    item = cast("dict[str, Any]", item)
    refused: list[Callable[[str, Any], bool]] = [_is_open_output]
    if version == JUNE:
        refused.append(_is_icons)
    return {name: v for name, v in item.items() if not any(is_it(name, v) for is_it in refused)}


def _is_open_output(name: str, value: Any) -> bool:
    # Dropped rather than wrapped: references inside it name places from its root.
    if name != "outputSchema":
        return False
    return not (isinstance(value, dict) and cast("dict[str, Any]", value).get("type") == "object")


def _is_icons(name: str, value: Any) -> bool:
    return name == "icons"


def _narrow_structured_content(wire: dict[str, Any]) -> None:
    """Put what is no object into one."""
    if "structuredContent" in wire and not isinstance(wire["structuredContent"], dict):
        wire["structuredContent"] = {"result": wire["structuredContent"]}


def _strip_icons_of_links(wire: dict[str, Any]) -> None:
    blocks = wire.get("content")
    if isinstance(blocks, list):
        wire["content"] = [_strip_icons_of(block) for block in cast("list[Any]", blocks)]
    messages = wire.get("messages")
    if isinstance(messages, list):
        wire["messages"] = [
            {**message, "content": _strip_icons_of(message.get("content"))}
            for message in cast("list[dict[str, Any]]", messages)
        ]


def _strip_icons_of(block: Any) -> Any:
    if isinstance(block, dict) and cast("dict[str, Any]", block).get("type") == "resource_link":
        link = cast("dict[str, Any]", block)
        return {name: value for name, value in link.items() if name != "icons"}
    return cast("Any", block)


def _describe_server(info: dict[str, Any], version: str) -> dict[str, Any]:
    if version != JUNE:
        return info
    return {name: info[name] for name in ("name", "version", "title") if name in info}
