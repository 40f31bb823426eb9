"""Resources: how they are listed and read.

Layer: vocabulary. `Resource` itself and its contents are in `content`, which
embeds them. The builders are in `build_resources`. Spec: server/resources
"""

from collections.abc import Sequence
from typing import ClassVar

import attrs

from genmcp.mcp.v2607.base import Annotations, Icon, MetaObject, meta_problem
from genmcp.mcp.v2607.checks import Check
from genmcp.mcp.v2607.content import (
    BlobResourceContents,
    Resource,
    ResourceContents,
    TextResourceContents,
)
from genmcp.mcp.v2607.exchange import (
    CacheableResult,
    InputResponseRequestParams,
    Notification,
    NotificationParams,
    PaginatedRequestParams,
    PaginatedResult,
    Request,
)
from genmcp.mcp.v2607.fields import WireObject, checked, required


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ResourceTemplate(WireObject):
    """A family of resources, described by a URI template (RFC 6570).

    Spec: server/resources#resource-templates
    """

    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    annotations: Annotations | None = None
    icons: Sequence[Icon] | None = None
    meta: MetaObject | None = attrs.field(default=None, validator=Check(meta_problem))


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ListResourcesRequest(Request):
    """Asks for one page of the resources."""

    method: ClassVar[str] = "resources/list"
    params: PaginatedRequestParams


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ListResourcesResult(PaginatedResult):
    """One page of the resources."""

    resources: Sequence[Resource] = attrs.field(factory=list[Resource], metadata=required())


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ListResourceTemplatesRequest(Request):
    """Asks for one page of the resource templates."""

    method: ClassVar[str] = "resources/templates/list"
    params: PaginatedRequestParams


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ListResourceTemplatesResult(PaginatedResult):
    """One page of the resource templates."""

    resource_templates: Sequence[ResourceTemplate] = attrs.field(
        factory=list[ResourceTemplate], metadata=required()
    )


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ReadResourceRequestParams(InputResponseRequestParams):
    """Which resource to read."""

    uri: str


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ReadResourceRequest(Request):
    """Asks to read a resource.

    Spec: server/resources#reading-resources
    """

    method: ClassVar[str] = "resources/read"
    params: ReadResourceRequestParams


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ReadResourceResult(CacheableResult):
    """What reading a resource gives. Built with `read_resource_result`."""

    contents: Sequence[TextResourceContents | BlobResourceContents] = attrs.field(
        factory=list[ResourceContents], metadata=required()
    )


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ResourceListChangedNotification(Notification):
    """The list of resources has changed."""

    method: ClassVar[str] = "notifications/resources/list_changed"
    params: NotificationParams | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ResourceUpdatedNotificationParams(NotificationParams):
    """Which resource has changed."""

    uri: str


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ResourceUpdatedNotification(Notification):
    """A resource the client subscribed to has changed."""

    method: ClassVar[str] = "notifications/resources/updated"
    params: ResourceUpdatedNotificationParams
