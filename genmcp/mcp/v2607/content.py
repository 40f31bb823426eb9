"""Content: what tools answer, prompts say, and models exchange.

Layer: vocabulary. The builder `content_block` is in `build_content`.
Spec: server/tools#tool-result
"""

import base64
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, TypeAlias

import attrs

from genmcp.mcp.unset import UNSET, Unset
from genmcp.mcp.v2607.base import Annotations, Icon, MetaObject, meta_problem
from genmcp.mcp.v2607.checks import Check, show
from genmcp.mcp.v2607.fields import WireObject, checked, required

_BASE64: Final = (string.ascii_letters + string.digits + "+/").encode("ascii")

_NAME: Final = r"[A-Za-z0-9!#$&^_.+-]+"
_MEDIA_TYPE: Final = re.compile(rf"{_NAME}/{_NAME}(?:[ \t]*;[\x20-\x7e\t]*)?")
"""RFC 6838 names; whatever parameters may follow are not looked into."""


def base64_problem(data: str) -> str | None:
    """Say why `data` is not standard padded base64 (RFC 4648, section 4)."""
    # `translate` and not a pattern: this is done to every byte of every picture.
    padding = data.encode("ascii", "replace").translate(None, _BASE64).decode("ascii")
    if padding not in ("", "=", "==") or not data.endswith(padding):
        return (
            "must be standard base64 (the alphabet with + and /, no line breaks), "
            "or pass bytes to a builder"
        )
    if len(data) % 4:
        return "must be base64 padded with = to a multiple of 4 characters"
    return None


def media_type_problem(mime_type: str) -> str | None:
    """Say why `mime_type` is not a media type.

    Spec: server/prompts#image-content
    """
    if _MEDIA_TYPE.fullmatch(mime_type):
        return None
    return f"must be a media type such as image/png, got {show(mime_type)}"


def encode_base64(data: bytes) -> str:
    """Return `data` in the one spelling the wire takes."""
    return base64.b64encode(data).decode("ascii")


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class TextContent(WireObject):
    """A text."""

    type: ClassVar[Literal["text"]] = "text"
    text: str
    annotations: Annotations | None = None
    meta: MetaObject | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ImageContent(WireObject):
    """A picture.

    Attributes:
        data: standard padded base64; `content_block` encodes bytes for you.
        mime_type: such as `image/png`.

    Raises:
        ValueError: `data` is not base64 of that kind, or `mime_type` no media type.
    """

    type: ClassVar[Literal["image"]] = "image"
    data: str = attrs.field(validator=Check(base64_problem))
    mime_type: str = attrs.field(validator=Check(media_type_problem))
    annotations: Annotations | None = None
    meta: MetaObject | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class AudioContent(WireObject):
    """A sound. `data` as in `ImageContent`; `mime_type` such as `audio/wav`."""

    type: ClassVar[Literal["audio"]] = "audio"
    data: str = attrs.field(validator=Check(base64_problem))
    mime_type: str = attrs.field(validator=Check(media_type_problem))
    annotations: Annotations | None = None
    meta: MetaObject | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class Resource(WireObject):
    """A resource the client can read.

    Attributes:
        size: of the raw content, in bytes.

    Spec: server/resources#resource
    """

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    annotations: Annotations | None = None
    size: int | None = None
    icons: Sequence[Icon] | None = None
    meta: MetaObject | None = attrs.field(default=None, validator=Check(meta_problem))


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ResourceLink(Resource):
    """A resource the client can read, as a piece of content."""

    type: ClassVar[Literal["resource_link"]] = "resource_link"


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class TextResourceContents(WireObject):
    """The text of a resource."""

    uri: str
    text: str
    mime_type: str | None = None
    meta: MetaObject | None = attrs.field(default=None, validator=Check(meta_problem))


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class BlobResourceContents(WireObject):
    """The bytes of a resource.

    Attributes:
        blob: standard padded base64; `resource_contents` encodes bytes for you.

    Raises:
        ValueError: `blob` is not base64 of that kind.
    """

    uri: str
    blob: str = attrs.field(validator=Check(base64_problem))
    mime_type: str | None = None
    meta: MetaObject | None = attrs.field(default=None, validator=Check(meta_problem))


ResourceContents: TypeAlias = TextResourceContents | BlobResourceContents
"""What reading a resource gives."""


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class EmbeddedResource(WireObject):
    """A resource's contents, as a piece of content."""

    type: ClassVar[Literal["resource"]] = "resource"
    resource: TextResourceContents | BlobResourceContents
    annotations: Annotations | None = None
    meta: MetaObject | None = attrs.field(default=None, validator=Check(meta_problem))


ContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
)
"""One piece of content."""


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ToolUseContent(WireObject):
    """A model's wish to call a tool. Deprecated by the protocol with sampling."""

    type: ClassVar[Literal["tool_use"]] = "tool_use"
    id: str
    name: str
    input: Mapping[str, Any]
    meta: MetaObject | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ToolResultContent(WireObject):
    """What the tool answered the model. Deprecated by the protocol with sampling."""

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    tool_use_id: str
    content: Sequence[ContentBlock] = attrs.field(factory=list[ContentBlock], metadata=required())
    structured_content: Any | Unset = UNSET
    is_error: bool | None = None
    meta: MetaObject | None = None


SamplingMessageContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent
)
"""One piece of a message to or from a model."""
