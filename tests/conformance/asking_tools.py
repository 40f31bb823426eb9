"""Tools of the fixture that ask the client before they answer.

Those named `test_input_required_result_...` are what the suite tests questions with in
protocol 2026-07-28, the others in 2025-11-25, where the same questions are requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import attrs

from genmcp import (
    Accepted,
    Channel,
    Declined,
    FormAnswer,
    InputRequired,
    Tool,
    elicit_form,
    list_roots,
    mcp,
    sample,
)


@attrs.frozen
class Name:
    name: str


@attrs.frozen
class Colour:
    color: str


@attrs.frozen
class Confirmation:
    ok: bool


# -- protocol 2026-07-28 -------------------------------------------------------------


class AskName(Tool, name="test_input_required_result_elicitation"):
    """Asks for a name, and greets."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> InputRequired | str:
        match channel.answers.form("user_name", Name):
            case None:
                return InputRequired({"user_name": elicit_form("What is your name?", Name)})
            case Accepted(Name(name=name)):
                return f"Hello, {name}!"
            case _:
                return "Hello, whoever you are!"


class AskModel(Tool, name="test_input_required_result_sampling"):
    """Asks the client's model."""

    async def call(
        self, request: mcp.CallToolRequest, channel: Channel
    ) -> InputRequired | mcp.CallToolResult:
        written = channel.answers.sampling("capital_question")
        if written is None:
            question = sample("What is the capital of France?", max_tokens=100)
            return InputRequired({"capital_question": question})
        return mcp.call_tool_result(text=f"The model says: {read_text(written)}")


class AskRoots(Tool, name="test_input_required_result_list_roots"):
    """Asks for the client's folders."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> InputRequired | str:
        roots = channel.answers.roots("client_roots")
        if roots is None:
            return InputRequired({"client_roots": list_roots()})
        return "The folders are " + ", ".join(root.uri for root in roots)


class KeepState(Tool, name="test_input_required_result_request_state"):
    """Asks, and finds in the retry what it knew when it asked."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> InputRequired | str:
        if channel.answers.form("confirm", Confirmation) is None:
            question = elicit_form("Please confirm", Confirmation)
            return InputRequired({"confirm": question}, client_state="asked")
        return "state-ok" if channel.answers.client_state == "asked" else "state-lost"


class TamperedState(KeepState, name="test_input_required_result_tampered_state"):
    """Asks, with a state that a client cannot change."""


class MultipleInputs(Tool, name="test_input_required_result_multiple_inputs"):
    """Asks three questions at once."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> InputRequired | str:
        name = channel.answers.form("user_name", Name)
        greeting = channel.answers.sampling("greeting")
        roots = channel.answers.roots("client_roots")
        if name is None or greeting is None or roots is None:
            return InputRequired(
                {
                    "user_name": elicit_form("What is your name?", Name),
                    "greeting": sample("Generate a greeting", max_tokens=50),
                    "client_roots": list_roots(),
                }
            )
        return f"{describe(name)}; {read_text(greeting)}; {len(roots)} folders"


class MultiRound(Tool, name="test_input_required_result_multi_round"):
    """Asks, and asks again."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> InputRequired | str:
        name = channel.answers.form("step1", Name)
        if name is None:
            return InputRequired({"step1": elicit_form("Step 1: What is your name?", Name)})
        colour = channel.answers.form("step2", Colour)
        if colour is None:
            question = elicit_form("Step 2: What is your favorite color?", Colour)
            return InputRequired({"step2": question})
        return f"{describe(name)}; {describe(colour)}"


class Capabilities(Tool, name="test_input_required_result_capabilities"):
    """Asks only what the client says that it can be asked."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> InputRequired | str:
        able = channel.client_capabilities
        questions: dict[str, mcp.InputRequest] = {}
        if able.elicitation is not None:
            questions["user_name"] = elicit_form("What is your name?", Name)
        if able.sampling is not None:
            questions["greeting"] = sample("Generate a greeting", max_tokens=50)
        if able.roots is not None:
            questions["client_roots"] = list_roots()
        if questions.keys() - channel.answers.keys():
            return InputRequired(questions)
        return f"{len(questions)} questions were answered."


# -- protocol 2025-11-25 -------------------------------------------------------------


@attrs.frozen
class Prompt:
    prompt: Annotated[str, "what to ask the client's model"]


class Sampling(Tool[Prompt], name="test_sampling"):
    """Asks the client's model what the caller wants to know."""

    async def call(
        self, request: mcp.CallToolRequest[Prompt], channel: Channel
    ) -> InputRequired | str:
        written = channel.answers.sampling("answer")
        if written is None:
            return InputRequired(
                {"answer": sample(request.params.arguments.prompt, max_tokens=100)}
            )
        return f"LLM response: {read_text(written)}"


@attrs.frozen
class Message:
    message: Annotated[str, "what to ask the user"]


@attrs.frozen
class User:
    username: Annotated[str, "User's response"]
    email: Annotated[str, "User's email address"]


class Elicitation(Tool[Message], name="test_elicitation"):
    """Asks the user what the caller wants to know."""

    async def call(
        self, request: mcp.CallToolRequest[Message], channel: Channel
    ) -> InputRequired | str:
        answer = channel.answers.form("user", User)
        if answer is None:
            return InputRequired({"user": elicit_form(request.params.arguments.message, User)})
        return f"User response: {describe(answer)}"


@attrs.frozen
class Defaults:
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


class ElicitationDefaults(Tool, name="test_elicitation_sep1034_defaults"):
    """Asks with a form that is filled in already."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> InputRequired | str:
        answer = channel.answers.form("defaults", Defaults)
        if answer is None:
            return InputRequired({"defaults": elicit_form("Is this right?", Defaults)})
        return f"Elicitation completed: {describe(answer)}"


_PLAIN: Final = mcp.UntitledEnumItems(enum=["option1", "option2", "option3"])
_TITLED: Final = [
    mcp.EnumOption(const="value1", title="First Option"),
    mcp.EnumOption(const="value2", title="Second Option"),
    mcp.EnumOption(const="value3", title="Third Option"),
]
CHOICES: Final = mcp.FormSchema(
    properties={
        "untitledSingle": mcp.UntitledSingleSelectEnumSchema(enum=_PLAIN.enum),
        "titledSingle": mcp.TitledSingleSelectEnumSchema(one_of=_TITLED),
        "legacyEnum": mcp.LegacyTitledEnumSchema(
            enum=["opt1", "opt2", "opt3"], enum_names=["Option One", "Option Two", "Option Three"]
        ),
        "untitledMulti": mcp.UntitledMultiSelectEnumSchema(items=_PLAIN),
        "titledMulti": mcp.TitledMultiSelectEnumSchema(items=mcp.TitledEnumItems(any_of=_TITLED)),
    }
)
"""A form with each kind of choice."""


class ElicitationEnums(Tool, name="test_elicitation_sep1330_enums"):
    """Asks the user to choose."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> InputRequired | str:
        answer = channel.answers.form("choices", CHOICES)
        if answer is None:
            return InputRequired({"choices": elicit_form("What do you choose?", CHOICES)})
        return f"Elicitation completed: {describe(answer)}"


# -- what they say -------------------------------------------------------------------


def describe(answer: FormAnswer[Any]) -> str:
    """Say what a user did with a form."""
    match answer:
        case Accepted(content):
            return f"action=accept, content={content}"
        case Declined():
            return "action=decline"
        case _:
            return "action=cancel"


def read_text(written: mcp.CreateMessageResult) -> str:
    """Return what a model wrote, as far as it is text."""
    content = written.content
    blocks = content if isinstance(content, Sequence) else [content]
    return "\n".join(block.text for block in blocks if isinstance(block, mcp.TextContent))


ASKING_TOOLS: Final = (
    AskName,
    AskModel,
    AskRoots,
    KeepState,
    TamperedState,
    MultipleInputs,
    MultiRound,
    Capabilities,
    Sampling,
    Elicitation,
    ElicitationDefaults,
    ElicitationEnums,
)
