"""Answers for tools that ask, so that a test need not play the rounds itself.

Layer: testing.

    client = AnsweringClient(sure=accept(sure=True))
    result = call_tool(Delete(), {"id": 7}, client)
    assert client.asked == ["sure"]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from genmcp.mcp import v2607 as mcp
from genmcp.testing.requests import fake_caller
from genmcp.wire.codec import encode

if TYPE_CHECKING:
    from genmcp.caller import Caller

Answer: TypeAlias = (
    mcp.InputResponse | Callable[[mcp.InputRequest], mcp.InputResponse | None] | None
)
"""An answer, or what makes one from the question; `None` leaves the key unanswered."""

MAX_ROUNDS: Final = 10

ASKS_ANYTHING: Final = mcp.ClientCapabilities(
    elicitation=mcp.ElicitationCapability(form={}, url={}),
    sampling=mcp.SamplingCapability(tools={}, context={}),
    roots=mcp.RootsCapability(),
)
"""The capabilities of a client that can be asked everything."""


def accept(**content: Any) -> mcp.ElicitResult:
    """The user says yes, and fills the form in with `content`."""
    return mcp.ElicitResult(action="accept", content=content or None)


def decline() -> mcp.ElicitResult:
    """The user says no."""
    return mcp.ElicitResult(action="decline")


def cancel() -> mcp.ElicitResult:
    """The user closes the window."""
    return mcp.ElicitResult(action="cancel")


class AnsweringClient:
    """A client that answers what it is asked, under the keys of its answers.

    Attributes:
        asked: the keys it was asked under, in order.
        questions: the questions, in the same order.
    """

    def __init__(self, answers: Mapping[str, Answer] | None = None, /, **named: Answer) -> None:
        self._answers = {**(answers or {}), **named}
        self.asked: list[str] = []
        self.questions: list[mcp.InputRequest] = []

    def caller(self) -> Caller:
        """Return the caller its requests come from: one that declares everything."""
        return fake_caller(client_capabilities=ASKS_ANYTHING)

    def answer(self, result: mcp.InputRequiredResult) -> dict[str, Any]:
        """Return the answers to one round of questions, in wire form.

        Raises:
            AssertionError: a question has no answer here.
        """
        answered: dict[str, Any] = {}
        for key, question in (result.input_requests or {}).items():
            self.asked.append(key)
            self.questions.append(question)
            assert key in self._answers, f"asked {key!r}, and there is no answer: {question!r}"
            answer = self._answers[key]
            given = answer(question) if callable(answer) else answer
            if given is not None:
                answered[key] = encode(given)
        return answered


def retry_params(
    params: mcp.CallToolRequestParams[Any], result: mcp.InputRequiredResult, answers: Any
) -> mcp.CallToolRequestParams[Any]:
    """Return the parameters of the retry, as a client sends them."""
    return attrs.evolve(params, request_state=result.request_state, input_responses=answers or None)
