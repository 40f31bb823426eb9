"""What `genmcp call` answers when a tool asks: what it was given, or what a person types.

Layer: cli. `genmcp.cli.terminal_form` does the asking.
Spec: client/elicitation, basic/patterns/mrtr
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from genmcp.cli.target import UsageError
from genmcp.cli.terminal_form import Terminal
from genmcp.errors import ParseError, show_line
from genmcp.mcp import v2607 as mcp
from genmcp.testing.answering import MAX_ROUNDS, AnsweringClient, accept, decline
from genmcp.wire.codec import DecodeError, decode, encode
from genmcp.wire.json_kinds import is_object
from genmcp.wire.json_text import read_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from genmcp.testing import ServerError

CAPABILITIES: Final = mcp.ClientCapabilities(elicitation=mcp.ElicitationCapability(form={}, url={}))
"""What the command declares where it can answer: people are asked, and no model."""

_HINT: Final = " [on a terminal this command asks you; --answer KEY=JSON answers without one]"


class Unanswered(Exception):
    """The tool asks what nobody answers. Exit status 1."""


class AskedClient(AnsweringClient):
    """Answers what a tool asks.

    Args:
        given: what is answered without asking, by the keys of questions.
        terminal: where a person is asked the rest, if there is one.
        declines: whether the rest is declined, and nobody asked.
    """

    def __init__(
        self, given: Mapping[str, mcp.ElicitResult], terminal: Terminal | None, *, declines: bool
    ) -> None:
        super().__init__()
        self._given = given
        self._terminal = terminal
        self._declines = declines
        self._rounds = 0

    def answer(self, result: mcp.InputRequiredResult) -> dict[str, Any]:
        """Return the answers to one round of questions, in wire form.

        Raises:
            Unanswered: there is none to one of them, or too many rounds.
        """
        self._rounds += 1
        if self._rounds == MAX_ROUNDS:
            raise Unanswered(f"the tool has asked {MAX_ROUNDS} times, and is not answered again")
        questions = result.input_requests or {}
        self.asked += questions
        self.questions += questions.values()
        return {key: encode(self._find_answer(key, asked)) for key, asked in questions.items()}

    def _find_answer(self, key: str, question: mcp.InputRequest) -> mcp.ElicitResult:
        name = show_line(key)
        if not isinstance(question, mcp.ElicitRequest):
            raise Unanswered(f"the tool asks for {name}, by {question.method}: none of a person")
        if key in self._given:
            return self._given[key]
        if self._declines:
            return decline()
        if self._terminal is None:
            asked = show_line(question.params.message)
            raise Unanswered(f"the tool asks for {name}, to which no answer is given: {asked}")
        return self._terminal.ask(question.params)


def describe_lack(answers: AskedClient | None, error: ServerError | None = None) -> str:
    """Say how what is asked can be answered, where nobody answers; else nothing.

    Args:
        answers: who answers.
        error: what the server answered with, unless it asks.
    """
    if answers is not None or (error is not None and not _wants_person(error)):
        return ""
    return _HINT


def _wants_person(error: ServerError) -> bool:
    if error.code != mcp.MISSING_REQUIRED_CLIENT_CAPABILITY or not is_object(error.data):
        return False
    wanted = error.data.get("requiredCapabilities")
    return is_object(wanted) and "elicitation" in wanted


def find_answers(parsed: argparse.Namespace) -> AskedClient | None:
    """Return who answers what the tool asks; `None` where nobody can.

    Raises:
        UsageError: the answers that are given cannot be read.
    """
    given = {**_read_file(parsed.answers), **_read_pairs(parsed.answer)}
    # It is None where the process has no standard input at all.
    stdin = cast("Any", sys.stdin)
    terminal = Terminal(stdin, sys.stderr) if stdin is not None and stdin.isatty() else None
    if not (given or parsed.decline or terminal):
        return None
    return AskedClient(given, terminal, declines=parsed.decline)


def _read_file(name: str | None) -> dict[str, mcp.ElicitResult]:
    if name is None:
        return {}
    try:
        read = read_json(Path(name).read_bytes())
    except OSError as error:
        raise UsageError(f"--answers: {error}") from None
    except ParseError as error:
        raise UsageError(f"--answers: {name} is not JSON: {error}") from None
    if not is_object(read):
        raise UsageError(f"--answers: {name} must hold a JSON object, of answers by their keys")
    return {key: _read_answer(f"--answers: {key}", answer) for key, answer in read.items()}


def _read_pairs(pairs: list[str]) -> dict[str, mcp.ElicitResult]:
    given: dict[str, mcp.ElicitResult] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not (key and equals):
            raise UsageError(f"--answer {pair!r} is no answer; write KEY=JSON")
        if key in given:
            raise UsageError(f"--answer {key} is given twice")
        try:
            answer = read_json(os.fsencode(text))
        except ParseError as error:
            raise UsageError(f"--answer {key} is not JSON: {error}") from None
        given[key] = _read_answer(f"--answer {key}", answer)
    return given


def _read_answer(whose: str, answer: object) -> mcp.ElicitResult:
    if answer is True:
        return accept()
    if answer is False:
        return decline()
    if not is_object(answer):
        raise UsageError(f"{whose} is neither an object, of a form's fields, nor true nor false")
    try:
        return decode(mcp.ElicitResult, {"action": "accept", "content": answer})
    except DecodeError as error:
        raise UsageError(f"{whose}: {error}") from None
