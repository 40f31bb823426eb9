"""Builders of what reading resources gives, and of their lists.

Layer: vocabulary. Spec: server/resources
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from genmcp.mcp.v2607.build_content import (
    Binary,
    as_resource_contents,
    resource_contents,
)
from genmcp.mcp.v2607.caching import fill_cache_control
from genmcp.mcp.v2607.checks import show
from genmcp.mcp.v2607.content import Resource, ResourceContents
from genmcp.mcp.v2607.resources import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    ResourceTemplate,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from genmcp.mcp.v2607.base import CacheScope, Cursor

T = TypeVar("T")


def read_resource_result(
    *,
    uri: str | None = None,
    text: str | None = None,
    blob: Binary | None = None,
    mime_type: str | None = None,
    contents: Iterable[ResourceContents | Mapping[str, Any]] | None = None,
    meta: Mapping[str, Any] | None = None,
    cache_scope: CacheScope | None = None,
    ttl_ms: int | None = None,
) -> ReadResourceResult:
    """Build what reading a resource gives.

    Either pass one entry flat, as `resource_contents` takes it, or any number of
    them as `contents`, ready or as mappings; the flat arguments, `meta` among them,
    are ignored then.

    Raises:
        ValueError: both or neither of `text` and `blob`; bad base64; a wrong
            `cache_scope` or `ttl_ms`.
        TypeError: there is no `uri` and no `contents`, or a wrong type.

    Spec: server/resources#reading-resources
    """
    if contents is not None:
        entries = [as_resource_contents(entry) for entry in contents]
    elif uri is not None:
        entries = [resource_contents(uri=uri, text=text, blob=blob, mime_type=mime_type, meta=meta)]
    else:
        raise TypeError("read_resource_result needs uri= with text= or blob=, or contents=")
    if cache_scope is None and ttl_ms is None:
        return ReadResourceResult(contents=entries)
    scope, ttl = fill_cache_control(cache_scope, ttl_ms)
    return ReadResourceResult(contents=entries, cache_scope=scope, ttl_ms=ttl)


def list_resources_result(
    resources: Iterable[Resource],
    next_cursor: Cursor | None = None,
    *,
    cache_scope: CacheScope | None = None,
    ttl_ms: int | None = None,
) -> ListResourcesResult:
    """Build one page of the resources; no `next_cursor` on the last one.

    Raises:
        TypeError: an item is not an `mcp.Resource`.
        ValueError: `cache_scope` or `ttl_ms` is wrong.

    Spec: server/resources#listing-resources
    """
    scope, ttl = fill_cache_control(cache_scope, ttl_ms)
    return ListResourcesResult(
        resources=all_of(Resource, "resources", resources),
        next_cursor=next_cursor,
        cache_scope=scope,
        ttl_ms=ttl,
    )


def list_resource_templates_result(
    templates: Iterable[ResourceTemplate],
    next_cursor: Cursor | None = None,
    *,
    cache_scope: CacheScope | None = None,
    ttl_ms: int | None = None,
) -> ListResourceTemplatesResult:
    """Build one page of the resource templates; no `next_cursor` on the last one.

    Raises:
        TypeError: an item is not an `mcp.ResourceTemplate`.
        ValueError: `cache_scope` or `ttl_ms` is wrong.

    Spec: server/resources#resource-templates
    """
    scope, ttl = fill_cache_control(cache_scope, ttl_ms)
    return ListResourceTemplatesResult(
        resource_templates=all_of(ResourceTemplate, "templates", templates),
        next_cursor=next_cursor,
        cache_scope=scope,
        ttl_ms=ttl,
    )


def all_of(cls: type[T], name: str, items: Iterable[Any]) -> list[T]:
    """Return the items in a list, all of one class.

    Raises:
        TypeError: one is not; the message names it.
    """
    done: list[T] = []
    for item in items:
        if not isinstance(item, cls):
            raise TypeError(f"{name} must hold mcp.{cls.__name__} objects, got {show(item)}")
        done.append(item)
    return done
