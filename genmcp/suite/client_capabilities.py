"""What a call needs of its client, and what the client lacks of it.

Layer: suite. Capabilities are declared on every request and never remembered. The
ones inside count: `elicitation` alone means forms, a page needs `elicitation.url`.

Spec: basic/index#meta, client/elicitation#capabilities
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genmcp.errors import MissingRequiredClientCapability
from genmcp.mcp import v2607 as mcp
from genmcp.wire.codec import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def check_capabilities(required: Mapping[str, Any], declared: mcp.ClientCapabilities) -> None:
    """Refuse a call whose client lacks something of `required`, in wire form.

    Raises:
        MissingRequiredClientCapability: with only what is missing. Wire form:
            -32021, HTTP 400.
    """
    if not required:
        return
    missing = find_missing(required, encode(declared))
    if missing:
        raise MissingRequiredClientCapability(missing)


def find_missing(required: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `required` has and `declared` lacks, both in wire form."""
    missing: dict[str, Any] = {}
    for name, parts in required.items():
        if name not in declared:
            missing[name] = parts
            continue
        has = _spell_out(name, declared[name])
        lacking = {part: value for part, value in parts.items() if part not in has}
        if lacking:
            missing[name] = lacking
    return missing


def needs_of(questions: Iterable[mcp.InputRequest]) -> dict[str, Any]:
    """Return the capabilities it takes to answer `questions`, in wire form."""
    needs: dict[str, Any] = {}
    for question in questions:
        match question:
            case mcp.ListRootsRequest():
                needs.setdefault("roots", {})
            case mcp.CreateMessageRequest(params=params):
                sampling = needs.setdefault("sampling", {})
                if params.tools is not None or params.tool_choice is not None:
                    sampling["tools"] = {}
                if params.include_context not in {None, "none"}:
                    sampling["context"] = {}
            case mcp.ElicitRequest(params=mcp.ElicitRequestURLParams()):
                needs.setdefault("elicitation", {})["url"] = {}
            case mcp.ElicitRequest():
                needs.setdefault("elicitation", {})["form"] = {}
    return needs


def _spell_out(name: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    if name == "elicitation" and not settings.keys() & {"form", "url"}:
        return {**settings, "form": {}}
    return settings
