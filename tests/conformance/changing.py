"""Lists of the fixture that change when two of its tools are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from genmcp import Channel, EventBus, Extension, Tool, mcp


class Lists:
    """What is listed at the moment. Says on the bus that it has changed."""

    def __init__(self, bus: EventBus) -> None:
        self._bus: Final = bus
        self.has_extra_tool = False
        self.has_extra_prompt = False

    def change_tools(self) -> None:
        self.has_extra_tool = not self.has_extra_tool
        self._bus.tools_changed()

    def change_prompts(self) -> None:
        self.has_extra_prompt = not self.has_extra_prompt
        self._bus.prompts_changed()


@attrs.frozen
class TriggerToolChange(Tool, name="test_trigger_tool_change"):
    """Adds a tool, or takes it away again."""

    lists: Lists

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> str:
        self.lists.change_tools()
        return "The list of tools has changed."


@attrs.frozen
class TriggerPromptChange(Tool, name="test_trigger_prompt_change"):
    """Adds a prompt, or takes it away again."""

    lists: Lists

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> str:
        self.lists.change_prompts()
        return "The list of prompts has changed."


class ExtraTool(Tool, name="test_extra_tool"):
    """Comes and goes."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> str:
        return "I am here at the moment."


@attrs.frozen
class ExtraTools(Extension):
    """The tool that comes and goes."""

    lists: Lists
    extra: ExtraTool = attrs.field(factory=ExtraTool)

    def tools(self, channel: Channel) -> Sequence[ExtraTool]:
        return [self.extra] if self.lists.has_extra_tool else []
