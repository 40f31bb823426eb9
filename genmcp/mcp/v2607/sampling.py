"""Sampling: asking the client's model. Deprecated by the protocol.

Layer: vocabulary. Spec: client/sampling
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import attrs

from genmcp.mcp.v2607.base import JSONObject, MetaObject, Role, unit_interval_problem
from genmcp.mcp.v2607.checks import Check
from genmcp.mcp.v2607.content import SamplingMessageContentBlock, TextContent
from genmcp.mcp.v2607.fields import WireObject, checked
from genmcp.mcp.v2607.tools import Tool


@attrs.frozen(kw_only=True, eq=False, repr=False, field_transformer=checked)
class ToolChoice(WireObject):
    """Whether the model may, must, or must not call a tool; absent means `auto`."""

    mode: Literal["auto", "required", "none"] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, field_transformer=checked)
class SamplingMessage(WireObject):
    """One message to or from a model."""

    role: Role
    content: SamplingMessageContentBlock | Sequence[SamplingMessageContentBlock]
    meta: MetaObject | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, field_transformer=checked)
class ModelHint(WireObject):
    """A wish for a model, as part of its name. Open."""

    name: str | None = None
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(kw_only=True, eq=False, repr=False, field_transformer=checked)
class ModelPreferences(WireObject):
    """What matters in the choice of a model; each priority from 0 to 1."""

    hints: Sequence[ModelHint] | None = None
    cost_priority: float | None = attrs.field(default=None, validator=Check(unit_interval_problem))
    speed_priority: float | None = attrs.field(default=None, validator=Check(unit_interval_problem))
    intelligence_priority: float | None = attrs.field(
        default=None, validator=Check(unit_interval_problem)
    )


@attrs.frozen(kw_only=True, eq=False, repr=False, field_transformer=checked)
class CreateMessageRequestParams(WireObject):
    """What to ask the model.

    Attributes:
        max_tokens: the most tokens the answer may have.
        include_context: `none` when absent; the others are deprecated.
    """

    messages: Sequence[SamplingMessage]
    max_tokens: int
    model_preferences: ModelPreferences | None = None
    system_prompt: str | None = None
    include_context: Literal["none", "thisServer", "allServers"] | None = None
    temperature: float | None = None
    stop_sequences: Sequence[str] | None = None
    metadata: JSONObject | None = None
    tools: Sequence[Tool] | None = None
    tool_choice: ToolChoice | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, field_transformer=checked)
class CreateMessageRequest(WireObject):
    """Asks the client's model for a message. An input request: it has no id."""

    method: ClassVar[Literal["sampling/createMessage"]] = "sampling/createMessage"
    params: CreateMessageRequestParams


@attrs.frozen(kw_only=True, eq=False, repr=False, field_transformer=checked)
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
        blocks = [self.content] if isinstance(self.content, WireObject) else self.content
        return "\n".join(block.text for block in blocks if isinstance(block, TextContent))
