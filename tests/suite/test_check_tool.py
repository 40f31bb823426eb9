"""The contract check says what is wrong with a tool, and passes one that is right."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from genmcp import Accepted, InputRequired, Tool, ToolError, elicit_form, mcp
from genmcp.testing import AnsweringClient, accept, check_tool


@attrs.frozen
class Args:
    word: str


@attrs.frozen
class Sure:
    sure: bool


class Good(Tool[Args], name="good", description="Says a word."):
    async def call(self, request: Any, channel: Any) -> str:
        return str(request.params.arguments.word)


class Asks(
    Tool[Args], name="asks", description="Asks first.", requires={"elicitation": {"form": {}}}
):
    async def call(self, request: Any, channel: Any) -> Any:
        sure = channel.answers.form("sure", Sure)
        if sure is None:
            return InputRequired({"sure": elicit_form("Sure?", Sure)})
        return "yes" if isinstance(sure, Accepted) else "no"


def test_good_tool_passes_and_gives_its_results() -> None:
    [result] = check_tool(Good, [{"word": "hi"}])
    assert result == mcp.call_tool_result(text="hi")


def test_tool_that_asks_is_checked_with_its_answers() -> None:
    check_tool(Asks)
    [result] = check_tool(Asks, [{"word": "x"}], AnsweringClient(sure=accept(sure=True)))
    assert result.text == "yes"
    with pytest.raises(AssertionError, match="'sure'"):
        check_tool(Asks, [{"word": "x"}])


class Silent(Tool[Args], name="silent"):
    async def call(self, request: Any, channel: Any) -> str:
        return "x"


class Shapeless(Tool, name="shapeless", description="d"):
    def input_schema(self) -> Any:
        return {"type": "object", "properties": {"thing": {}}}

    async def call(self, request: Any, channel: Any) -> str:
        return "x"


class Fails(Good, name="fails", description="d"):
    async def call(self, request: Any, channel: Any) -> str:
        raise ToolError("always")


class ClosesNothing(Good, name="closes", description="d"):
    async def handle_close(self, channel: Any, state: Any) -> None: ...


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        (Silent, "Silent: a model chooses tools by their description"),
        (Shapeless, "Shapeless: arguments that say nothing about themselves.*thing"),
        (Fails, "Fails: the example .* was answered with an error"),
        (ClosesNothing, "ClosesNothing: handle_close runs only for calls that returned Stream"),
    ],
)
def test_what_is_wrong_is_an_assertion_with_the_class(tool: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_tool(tool, [{"word": "x"}])
