"""Scalars, and the small objects several pages of the specification share.

Layer: vocabulary. Spec: basic/index
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import attrs

from genmcp.mcp.v2607.checks import Check, show
from genmcp.mcp.v2607.fields import WireObject, checked

PROTOCOL_VERSION: Final = "2026-07-28"
"""The revision of the protocol these classes describe."""

LATEST_PROTOCOL_VERSION: Final = PROTOCOL_VERSION
"""The specification's own name for `PROTOCOL_VERSION`."""

JSONRPC_VERSION: Final = "2.0"
"""What every message says in its `jsonrpc` member."""

RequestId: TypeAlias = str | int
"""A JSON-RPC id, never null. `1` and `"1"` are two ids, `0` and `""` are ids."""

ProgressToken: TypeAlias = str | int
"""What progress is reported under. `0` and `""` are tokens."""

Cursor: TypeAlias = str
"""An opaque place in a listing. The empty string is a cursor."""

ResultType: TypeAlias = str
"""`complete`, `input_required`, or a value of an extension."""

Role: TypeAlias = Literal["user", "assistant"]
"""Who speaks, or who something is meant for."""

LoggingLevel: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]
"""The severities of a log record, ascending."""

CacheScope: TypeAlias = Literal["public", "private"]
"""Whether a cached answer may be shared between users."""

JSONValue: TypeAlias = Any
"""Any JSON value, null included."""

JSONObject: TypeAlias = Mapping[str, Any]
"""A JSON object with any members."""

JSONArray: TypeAlias = Sequence[Any]
"""A JSON array of any values."""

MetaObject: TypeAlias = Mapping[str, Any]
"""An open `_meta` object whose keys this library gives no meaning."""

_LABEL: Final = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_META_KEY: Final = re.compile(
    rf"(?:{_LABEL}(?:\.{_LABEL})*/)?(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
)
"""A key of `_meta`: an optional prefix that looks like a domain, and a name."""

_ICON_SCHEMES: Final = ("http://", "https://", "data:")


def _icon_source_problem(src: str) -> str | None:
    if src.lower().startswith(_ICON_SCHEMES):
        return None
    return f"must be an http, https or data URI, got {show(src)}"


def meta_problem(meta: MetaObject) -> str | None:
    """Say which key of a `_meta` object of our own breaks the grammar.

    What clients send is not held to it: keys that mean nothing here are kept.

    Spec: basic/index#meta
    """
    for key in meta:
        if not _META_KEY.fullmatch(key):
            return f"must have keys like 'com.example/name', got {show(key)}"
    return None


def unit_interval_problem(value: float) -> str | None:
    """Say what is wrong with a number that must lie between 0 and 1."""
    return None if 0 <= value <= 1 else f"must be between 0 and 1, got {value!r}"


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class Icon(WireObject):
    """A picture that stands for a tool, a prompt, a resource or a server.

    Attributes:
        src: an `http`, `https` or `data` URI; clients refuse any other.
        mime_type: the media type, where `src` does not tell it.
        sizes: such as `["48x48"]`, or `["any"]` for a scalable picture.
        theme: the background it was made for.

    Raises:
        ValueError: `src` has another scheme.

    Spec: basic/index#icons
    """

    src: str = attrs.field(validator=Check(_icon_source_problem))
    mime_type: str | None = None
    sizes: Sequence[str] | None = None
    theme: Literal["light", "dark"] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class Implementation(WireObject):
    """The name and version of a client or a server. Self-reported: never trust it.

    Spec: basic/index#meta
    """

    name: str
    version: str
    title: str | None = None
    description: str | None = None
    website_url: str | None = None
    icons: Sequence[Icon] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class Annotations(WireObject):
    """Hints for the client on how to use or show an object.

    Attributes:
        audience: who it is meant for.
        priority: from 0, optional, to 1, effectively required.
        last_modified: an ISO 8601 time.

    Spec: server/resources#annotations
    """

    audience: Sequence[Role] | None = None
    priority: float | None = attrs.field(default=None, validator=Check(unit_interval_problem))
    last_modified: str | None = None
