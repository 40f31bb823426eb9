"""Roots: the client's folders. Deprecated by the protocol.

Layer: vocabulary. Spec: client/roots
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

import attrs

from genmcp.mcp.v2607.base import MetaObject
from genmcp.mcp.v2607.checks import Check, show
from genmcp.mcp.v2607.fields import WireObject, checked, required


def _root_uri_problem(uri: str) -> str | None:
    return None if uri.startswith("file://") else f"must start with file://, got {show(uri)}"


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ListRootsRequestParams(WireObject):
    """The parameters of a roots request: nothing but `_meta`."""

    meta: MetaObject | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ListRootsRequest(WireObject):
    """Asks for the client's roots. An input request: it has no id."""

    method: ClassVar[Literal["roots/list"]] = "roots/list"
    params: ListRootsRequestParams | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class Root(WireObject):
    """One folder or file of the client.

    Attributes:
        uri: starts with `file://`.
    """

    uri: str = attrs.field(validator=Check(_root_uri_problem))
    name: str | None = None
    meta: MetaObject | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ListRootsResult(WireObject):
    """The client's roots."""

    roots: Sequence[Root] = attrs.field(factory=list[Root], metadata=required())
