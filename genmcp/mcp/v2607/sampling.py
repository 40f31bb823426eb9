"""Sampling: asking the client's model. Deprecated by the protocol.

Layer: vocabulary. Spec: client/sampling
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

import attrs

from genmcp.mcp.v2607.base import JSONObject, MetaObject, Role, unit_interval_problem
from genmcp.mcp.v2607.checks import Check
from genmcp.mcp.v2607.content import (
    SamplingMessageContentBlock,
    TextContent,
    ToolResultContent,
    ToolUseContent,
)
from genmcp.mcp.v2607.fields import WireObject, checked
from genmcp.mcp.v2607.tools import Tool


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ToolChoice(WireObject):
    """Whether the model may, must, or must not call a tool; absent means `auto`."""

    mode: Literal["auto", "required", "none"] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class SamplingMessage(WireObject):
    """One message to or from a model."""

    role: Role
    content: SamplingMessageContentBlock | Sequence[SamplingMessageContentBlock]
    meta: MetaObject | None = None


_Blocks: TypeAlias = Sequence[SamplingMessageContentBlock]


def _blocks_of(message: SamplingMessage) -> _Blocks:
    return [message.content] if isinstance(message.content, WireObject) else message.content


def messages_problem(messages: Sequence[SamplingMessage]) -> str | None:
    """Say where a conversation leaves a wish to call a tool without its answer.

    Spec: client/sampling#tool-use-and-result-balance
    """
    asked: set[str] = set()
    for index, message in enumerate(messages):
        blocks = _blocks_of(message)
        answered = {one.tool_use_id for one in blocks if isinstance(one, ToolResultContent)}
        wishes = {one.id for one in blocks if isinstance(one, ToolUseContent)}
        if wishes and message.role != "assistant":
            return f"must have tool_use in messages of the assistant only; not in message {index}"
        if answered and (message.role != "user" or not _only_results(blocks)):
            return (
                "must have tool_result in messages of the user that hold nothing else; "
                f"not in message {index}"
            )
        if answered != asked:
            return (
                "must answer each tool_use with a tool_result in the very next message; "
                f"message {index} answers {sorted(answered)}, asked was {sorted(asked)}"
            )
        asked = wishes
    if asked:
        return f"must answer each tool_use with a tool_result; the last asks {sorted(asked)}"
    return None


def _only_results(blocks: _Blocks) -> bool:
    return all(isinstance(one, ToolResultContent) for one in blocks)


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ModelHint(WireObject):
    """A wish for a model, as part of its name. Open."""

    name: str | None = None
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ModelPreferences(WireObject):
    """What matters in the choice of a model; each priority from 0 to 1."""

    hints: Sequence[ModelHint] | None = None
    cost_priority: float | None = attrs.field(default=None, validator=Check(unit_interval_problem))
    speed_priority: float | None = attrs.field(default=None, validator=Check(unit_interval_problem))
    intelligence_priority: float | None = attrs.field(
        default=None, validator=Check(unit_interval_problem)
    )


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CreateMessageRequestParams(WireObject):
    """What to ask the model.

    Attributes:
        max_tokens: the most tokens the answer may have.
        include_context: `none` when absent; the others are deprecated.

    Raises:
        ValueError: a `tool_use` in `messages` without its `tool_result` in the next
            message, or a message that mixes results of tools with something else.
    """

    messages: Sequence[SamplingMessage] = attrs.field(validator=Check(messages_problem))
    max_tokens: int
    model_preferences: ModelPreferences | None = None
    system_prompt: str | None = None
    include_context: Literal["none", "thisServer", "allServers"] | None = None
    temperature: float | None = None
    stop_sequences: Sequence[str] | None = None
    metadata: JSONObject | None = None
    tools: Sequence[Tool] | None = None
    tool_choice: ToolChoice | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CreateMessageRequest(WireObject):
    """Asks the client's model for a message. An input request: it has no id."""

    method: ClassVar[Literal["sampling/createMessage"]] = "sampling/createMessage"
    params: CreateMessageRequestParams


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CreateMessageResult(SamplingMessage):
    """What the model said.

    Attributes:
        stop_reason: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or another.
    """

    model: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """The blocks of text in `content`, a line end between them."""
        return "\n".join(one.text for one in _blocks_of(self) if isinstance(one, TextContent))
