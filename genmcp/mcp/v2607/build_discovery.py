"""Builders of what a server says about itself.

Layer: vocabulary. Spec: server/discover
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypedDict, Unpack, cast

import attrs

from genmcp.mcp.v2607.base import PROTOCOL_VERSION, CacheScope, Icon, Implementation
from genmcp.mcp.v2607.caching import fill_cache_control
from genmcp.mcp.v2607.capabilities import (
    PromptsCapability,
    ResourcesCapability,
    ServerCapabilities,
    ToolsCapability,
)
from genmcp.mcp.v2607.checks import show
from genmcp.mcp.v2607.discovery import DiscoverResult
from genmcp.mcp.v2607.meta import ResultMetaObject

Flag: TypeAlias = bool | Mapping[str, Any] | None


class CapabilityFlags(TypedDict, total=False):
    """The keywords of `capabilities`."""

    experimental: Flag
    logging: Flag
    completions: Flag
    prompts: Flag | PromptsCapability
    resources: Flag | ResourcesCapability
    tools: Flag | ToolsCapability
    extensions: Flag


_CLASSES: Final[Mapping[str, type]] = {
    "prompts": PromptsCapability,
    "resources": ResourcesCapability,
    "tools": ToolsCapability,
}
_FLAGS: Final = tuple(CapabilityFlags.__annotations__)
_WIRE_NAMES: Final = {"listChanged": "list_changed"}


def capabilities(
    ready: ServerCapabilities | None = None, /, **flags: Unpack[CapabilityFlags]
) -> ServerCapabilities:
    """Build what the server offers.

    Each flag is True for `{}`, a mapping that says more, such as
    `tools={"list_changed": True}`, or False or None for what is not offered. A
    ready `ServerCapabilities` comes back unchanged.

    Raises:
        TypeError: a flag is unknown or has another value, or flags come with a
            ready object.
    """
    if ready is not None:
        if not isinstance(ready, ServerCapabilities):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"capabilities takes flags or a ServerCapabilities, got {show(ready)}")
        if flags:
            raise TypeError("capabilities takes flags or a ServerCapabilities, not both")
        return ready
    built: dict[str, Any] = {name: _capability(name, flag) for name, flag in flags.items()}
    return ServerCapabilities(**built)


def _capability(name: str, flag: object) -> Any:
    if name not in _FLAGS:
        close = difflib.get_close_matches(name, _FLAGS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(_FLAGS)}"
        raise TypeError(f"capabilities has no {name!r}; {hint}")
    cls = _CLASSES.get(name)
    if flag is None or flag is False or (cls is not None and isinstance(flag, cls)):
        return flag or None
    if flag is True:
        return cls() if cls is not None else {}
    if not isinstance(flag, Mapping):
        raise TypeError(f"{name} must be True, False, None or a mapping, got {show(flag)}")
    members = cast("Mapping[str, Any]", flag)
    if cls is None:
        return dict(members)
    attributes = {field.name for field in attrs.fields(cls)} - {"extra"}
    named = {_WIRE_NAMES.get(key, key): value for key, value in members.items()}
    extra = {key: value for key, value in named.items() if key not in attributes}
    return cls(**{key: named[key] for key in named.keys() & attributes}, extra=extra)


def server_info(
    *,
    name: str,
    version: str,
    title: str | None = None,
    description: str | None = None,
    website_url: str | None = None,
    icons: Sequence[Icon] | None = None,
) -> Implementation:
    """Build the server's identity.

    Raises:
        TypeError: `name` or `version` is missing, or something is not a `str`.
    """
    return Implementation(
        name=name,
        version=version,
        title=title,
        description=description,
        website_url=website_url,
        icons=icons,
    )


def discover_result(
    *,
    name: str,
    version: str,
    title: str | None = None,
    capabilities: ServerCapabilities | CapabilityFlags | None = None,
    instructions: str | None = None,
    supported_versions: Iterable[str] = (PROTOCOL_VERSION,),
    cache_scope: CacheScope | None = None,
    ttl_ms: int | None = None,
) -> DiscoverResult:
    """Build the answer to `server/discover`, with the identity in its `_meta`.

    Args:
        name: the server's name.
        version: the server's version, not the protocol's.
        title: the name for people to read.
        capabilities: ready, or flags as `capabilities()` takes them.
        instructions: how to use the server, for the model to read.
        supported_versions: the protocol revisions the endpoint serves.
        cache_scope: `private` unless given.
        ttl_ms: 0 unless given: the answer is not kept.

    Raises:
        TypeError: `name` or `version` is missing, or an argument has a wrong type.
        ValueError: `cache_scope` or `ttl_ms` is wrong.

    Spec: server/discover
    """
    scope, ttl = fill_cache_control(cache_scope, ttl_ms)
    return DiscoverResult(
        meta=ResultMetaObject(
            server_info=server_info(name=name, version=version, title=title),
        ),
        supported_versions=list(supported_versions),
        capabilities=_as_capabilities(capabilities),
        instructions=instructions,
        cache_scope=scope,
        ttl_ms=ttl,
    )


def _as_capabilities(
    given: ServerCapabilities | CapabilityFlags | None,
) -> ServerCapabilities:
    if isinstance(given, ServerCapabilities):
        return given
    return capabilities(**(given or {}))
