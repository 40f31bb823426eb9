"""Builders of content: `content_block` and `resource_contents`.

Layer: vocabulary. `build_tools` and `build_prompts` take the same kinds.
Spec: server/tools#tool-result
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, TypeGuard, cast, get_args, overload

import attrs
from typing_extensions import TypeIs

from genmcp.mcp.v2607.checks import show
from genmcp.mcp.v2607.content import (
    AudioContent,
    BlobResourceContents,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    Resource,
    ResourceContents,
    ResourceLink,
    TextContent,
    TextResourceContents,
    encode_base64,
)

Binary: TypeAlias = bytes | bytearray | memoryview | str
"""Bytes to be encoded, or text that is standard padded base64 already."""

Media: TypeAlias = tuple[str, Binary]
"""A media type and the data, for an image or a sound."""

ContentKind: TypeAlias = Literal["text", "image", "audio", "resource", "link"]

_CLASSES: Final[tuple[type, ...]] = get_args(ContentBlock)
_RESOURCE_KEYS: Final = ("uri", "text", "blob", "mime_type", "meta")


@overload
def content_block(kind: Literal["text"], value: str) -> TextContent: ...
@overload
def content_block(kind: Literal["image"], value: Media) -> ImageContent: ...
@overload
def content_block(kind: Literal["audio"], value: Media) -> AudioContent: ...
@overload
def content_block(
    kind: Literal["resource"], value: Mapping[str, Any] | ResourceContents
) -> EmbeddedResource: ...
@overload
def content_block(kind: Literal["link"], value: Mapping[str, Any] | Resource) -> ResourceLink: ...
@overload
def content_block(kind: ContentKind, value: Any) -> ContentBlock: ...
def content_block(kind: str, value: Any) -> ContentBlock:
    """Build one piece of content.

    | kind | value |
    |---|---|
    | `text` | a `str` |
    | `image`, `audio` | `(mime_type, data)`; `data` is bytes, or a `str` of base64 |
    | `resource` | `{"uri", "text"}` or `{"uri", "blob"}`, and `mime_type`, `meta` |
    | `link` | `{"name", "uri"}` and any other attribute of `Resource` |

    Raises:
        ValueError: the kind is unknown, or the data is not base64.
        TypeError: the value is not of the kind's form, or has an unknown key.
    """
    match kind:
        case "text":
            if not isinstance(value, str):
                raise TypeError(f"text must be a str, got {show(value)}")
            return TextContent(text=value)
        case "image":
            mime_type, data = _media(kind, value)
            return ImageContent(mime_type=mime_type, data=data)
        case "audio":
            mime_type, data = _media(kind, value)
            return AudioContent(mime_type=mime_type, data=data)
        case "resource":
            return EmbeddedResource(resource=as_resource_contents(value))
        case "link":
            return _link(value)
        case _:
            kinds = ", ".join(get_args(ContentKind))
            raise ValueError(f"unknown kind of content {kind!r}; the kinds are {kinds}")


def resource_contents(
    *,
    uri: str,
    text: str | None = None,
    blob: Binary | None = None,
    mime_type: str | None = None,
    meta: Mapping[str, Any] | None = None,
) -> TextResourceContents | BlobResourceContents:
    """Build the contents of a resource from its text or its bytes.

    Raises:
        ValueError: both or neither of `text` and `blob` are given, or `blob` is a
            `str` that is not standard padded base64.
        TypeError: an argument has the wrong type.
    """
    if (text is None) == (blob is None):
        given = "neither" if text is None else "both"
        raise ValueError(f"pass exactly one of text and blob for {uri!r}, got {given}")
    if blob is not None:
        return BlobResourceContents(
            uri=uri, blob=as_base64("blob", blob), mime_type=mime_type, meta=meta
        )
    return TextResourceContents(uri=uri, text=cast("str", text), mime_type=mime_type, meta=meta)


def as_resource_contents(value: Any) -> TextResourceContents | BlobResourceContents:
    """Take ready contents as they are, and build them from a mapping.

    Raises:
        TypeError: it is neither, or the mapping has an unknown key or no `uri`.
    """
    if isinstance(value, TextResourceContents | BlobResourceContents):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(
            'resource must be {"uri": ..., "text": ...} or {"uri": ..., "blob": ...}, '
            f"got {show(value)}"
        )
    entries = cast("Mapping[str, Any]", value)
    check_keys("resource", entries, known=_RESOURCE_KEYS, required=("uri",))
    return resource_contents(**entries)


def as_base64(name: str, data: object) -> str:
    """Encode bytes; take a `str` as it is, since the class checks it.

    Raises:
        TypeError: `data` is neither.
    """
    if isinstance(data, memoryview):
        return encode_base64(data.tobytes())
    if isinstance(data, bytes | bytearray):
        return encode_base64(bytes(data))
    if isinstance(data, str):
        return data
    raise TypeError(f"{name} must be bytes, or a str of base64, got {show(data)}")


def is_content(value: object) -> TypeIs[ContentBlock]:
    """Tell whether `value` is a ready piece of content."""
    return isinstance(value, _CLASSES)


def flatten_entries(entries: Iterable[object]) -> Iterator[Any]:
    """Yield the positional entries of a builder, those inside a list one by one."""
    for entry in entries:
        if isinstance(entry, list):
            yield from entry
        else:
            yield entry


def as_pair(entry: object) -> tuple[str, Any] | None:
    """Take a tuple as a keyword and its value; None when it is no tuple.

    Raises:
        TypeError: it is a tuple of another form.
    """
    if not issubclass(type(entry), tuple):
        return None
    if not _is_pair(entry) or not isinstance(entry[0], str):
        raise TypeError(f'a pair must be like ("text", value), got {show(entry)}')
    return entry[0], entry[1]


def check_keys(
    name: str, entries: Mapping[str, Any], *, known: tuple[str, ...], required: tuple[str, ...]
) -> None:
    """Refuse keys that are not known, and the lack of those required.

    Raises:
        TypeError: naming the key, and the one that was probably meant.
    """
    for key in entries:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(known)}"
            raise TypeError(f"{name} has no {key!r}; {hint}")
    for key in required:
        if key not in entries:
            raise TypeError(f"{name} needs {key!r}, got {show(dict(entries))}")


def _media(kind: str, value: object) -> tuple[str, str]:
    if not _is_pair(value):
        raise TypeError(f"{kind} must be a pair (mime_type, data), got {show(value)}")
    mime_type, data = value
    return mime_type, as_base64(f"{kind} data", data)


def _is_pair(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, tuple | list) and len(cast("list[Any]", value)) == _PAIR


_PAIR: Final = 2


def _link(value: Any) -> ResourceLink:
    if isinstance(value, ResourceLink):
        return value
    if isinstance(value, Resource):
        return ResourceLink(**attrs.asdict(value, recurse=False))
    if not isinstance(value, Mapping):
        raise TypeError(f'link must be {{"name": ..., "uri": ...}}, got {show(value)}')
    entries = cast("Mapping[str, Any]", value)
    known = tuple(field.name for field in attrs.fields(ResourceLink))
    check_keys("link", entries, known=known, required=("name", "uri"))
    return ResourceLink(**entries)
