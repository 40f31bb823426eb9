"""Tools: how they are listed, called, and what they answer.

Layer: vocabulary. What an author subclasses is `genmcp.Tool`; `Tool` here is what
the wire lists. The builders are in `build_tools`. Spec: server/tools
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, cast

import attrs
from typing_extensions import TypeVar

from genmcp.mcp.unset import UNSET
from genmcp.mcp.v2607.base import Icon, MetaObject, meta_problem
from genmcp.mcp.v2607.checks import Check
from genmcp.mcp.v2607.content import ContentBlock, TextContent
from genmcp.mcp.v2607.exchange import (
    InputResponseRequestParams,
    Notification,
    NotificationParams,
    PaginatedRequestParams,
    PaginatedResult,
    Request,
    Result,
)
from genmcp.mcp.v2607.fields import WireObject, checked, required

A = TypeVar("A", default=dict[str, Any])


def _input_schema_problem(schema: Mapping[str, Any]) -> str | None:
    if schema.get("type") == "object":
        return None
    return 'must have "type": "object" at its root'


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ToolAnnotations(WireObject):
    """Hints about what a tool does. Clients do not trust them.

    Attributes:
        read_only_hint: it changes nothing; the protocol takes absent as False.
        destructive_hint: it may destroy something; absent means True.
        idempotent_hint: repeating a call changes nothing more; absent means False.
        open_world_hint: it reaches beyond a closed set of things; absent means True.
    """

    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class Tool(WireObject):
    """A tool as `tools/list` shows it.

    Attributes:
        input_schema: JSON Schema with `"type": "object"` at its root.
        output_schema: JSON Schema of `structured_content`, with any root.

    Raises:
        ValueError: `input_schema` has another root.

    Spec: server/tools#tool
    """

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: Mapping[str, Any] = attrs.field(validator=Check(_input_schema_problem))
    output_schema: Mapping[str, Any] | None = None
    annotations: ToolAnnotations | None = None
    icons: Sequence[Icon] | None = None
    meta: MetaObject | None = attrs.field(default=None, validator=Check(meta_problem))


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ListToolsRequest(Request):
    """Asks for one page of the tools."""

    method: ClassVar[str] = "tools/list"
    params: PaginatedRequestParams


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ListToolsResult(PaginatedResult):
    """One page of the tools."""

    tools: Sequence[Tool] = attrs.field(factory=list[Tool], metadata=required())


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CallToolRequestParams(InputResponseRequestParams, Generic[A]):
    """Which tool to call, and with what.

    Attributes:
        arguments: the JSON object that came, `{}` when it was absent or null. The
            suite replaces it by the object the tool's class declares.
    """

    name: str
    arguments: A = attrs.field(factory=cast("Callable[[], A]", dict))


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CallToolRequest(Request, Generic[A]):
    """Asks to call a tool.

    Spec: server/tools#calling-tools
    """

    method: ClassVar[str] = "tools/call"
    params: CallToolRequestParams[A]


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CallToolResult(Result):
    """What a tool answers. Built with `call_tool_result`.

    Attributes:
        content: for the model to read.
        structured_content: any JSON value, null included, for a program to read;
            `UNSET` when there is none.
        is_error: the tool failed and `content` says why.

    Spec: server/tools#tool-result
    """

    content: Sequence[ContentBlock] = attrs.field(factory=list[ContentBlock], metadata=required())
    structured_content: Any = UNSET
    is_error: bool | None = None

    @property
    def text(self) -> str:
        """The blocks of text in `content`, a line end between them."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ToolListChangedNotification(Notification):
    """The list of tools has changed.

    Spec: server/tools#list-changed-notification
    """

    method: ClassVar[str] = "notifications/tools/list_changed"
    params: NotificationParams | None = None
