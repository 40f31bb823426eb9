"""Prompts: how they are listed and filled in.

Layer: vocabulary. The builders are in `build_prompts`. Spec: server/prompts
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import attrs

from genmcp.mcp.v2607.base import Icon, MetaObject, Role, meta_problem
from genmcp.mcp.v2607.checks import Check
from genmcp.mcp.v2607.content import ContentBlock
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


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class PromptArgument(WireObject):
    """One argument of a prompt; its value is always a text."""

    name: str
    title: str | None = None
    description: str | None = None
    required: bool | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class Prompt(WireObject):
    """A prompt as `prompts/list` shows it.

    Spec: server/prompts#prompt
    """

    name: str
    title: str | None = None
    description: str | None = None
    arguments: Sequence[PromptArgument] | None = None
    icons: Sequence[Icon] | None = None
    meta: MetaObject | None = attrs.field(default=None, validator=Check(meta_problem))


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class PromptMessage(WireObject):
    """One message of a prompt.

    Spec: server/prompts#promptmessage
    """

    role: Role
    content: ContentBlock


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ListPromptsRequest(Request):
    """Asks for one page of the prompts."""

    method: ClassVar[str] = "prompts/list"
    params: PaginatedRequestParams


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ListPromptsResult(PaginatedResult):
    """One page of the prompts."""

    prompts: Sequence[Prompt] = attrs.field(factory=list[Prompt], metadata=required())


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class GetPromptRequestParams(InputResponseRequestParams):
    """Which prompt to fill in.

    Attributes:
        arguments: texts by name, `{}` when absent or null.
    """

    name: str
    arguments: Mapping[str, str] = attrs.field(factory=dict[str, str])


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class GetPromptRequest(Request):
    """Asks to fill in a prompt.

    Spec: server/prompts#getting-a-prompt
    """

    method: ClassVar[str] = "prompts/get"
    params: GetPromptRequestParams


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class GetPromptResult(Result):
    """The messages of a prompt. Built with `get_prompt_result`."""

    messages: Sequence[PromptMessage] = attrs.field(
        factory=list[PromptMessage], metadata=required()
    )
    description: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class PromptListChangedNotification(Notification):
    """The list of prompts has changed."""

    method: ClassVar[str] = "notifications/prompts/list_changed"
    params: NotificationParams | None = None
