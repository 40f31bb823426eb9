"""What `genmcp call` answers when a tool asks."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from genmcp.cli import main
from genmcp.cli.terminal_form import Terminal
from genmcp.mcp import v2607 as mcp
from genmcp.testing import accept, cancel, decline

APP = """
import json
from genmcp import InputRequired, Suite, Tool, elicit_form, elicit_url, mcp, sample

FORM = mcp.FormSchema(
    properties={
        "name": mcp.StringSchema(title="Your name", description="As on the badge.", min_length=2),
        "age": mcp.NumberSchema(type="integer", minimum=18, default=30),
    },
    required=["name"],
)

class Register(Tool, name="register", description="Registers."):
    async def call(self, request, channel):
        asked = {"who": elicit_form("Who are you?", FORM)}
        if channel.answers.form("who", FORM) is None:
            return InputRequired(asked, client_state=1)
        if "page" not in channel.answers:
            return InputRequired({"page": elicit_url("Pay.", "https://pay.example.com/?a=1")})
        return mcp.call_tool_result(text=json.dumps(dict(channel.answers)))

class Again(Tool, name="again", description="Asks for ever."):
    async def call(self, request, channel):
        return InputRequired({"who": elicit_form("Who?", FORM)})

class Think(Tool, name="think", description="Asks a model."):
    async def call(self, request, channel):
        return InputRequired({"said": sample("Of France?", max_tokens=9)})

suite = Suite(server_name="test", server_version="1", tools=[Register, Again, Think])
"""
ANSWERS = ["--answer", 'who={"name": "Ada", "age": 36}', "--answer", "page=true"]
ADA = {"action": "accept", "content": {"name": "Ada", "age": 36}}


class Keyboard(io.StringIO):
    """Input that is typed at a terminal, all of it in advance."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    (tmp_path / "asking_app.py").write_text(APP, encoding="utf-8")
    yield
    sys.modules.pop("asking_app", None)


def call(tool: str, *arguments: str) -> int:
    return main(["call", "asking_app:suite", tool, *arguments])


def test_answers_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("register", *ANSWERS) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"who": ADA, "page": {"action": "accept"}}
    assert captured.err == ""


def test_answers_are_read_from_a_file_and_those_given_go_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers = {"who": {"name": "Eve"}, "page": False}
    Path("answers.json").write_text(json.dumps(answers), encoding="utf-8")
    assert call("register", "--answers", "answers.json", *ANSWERS[:2]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"who": ADA, "page": {"action": "decline"}}


def test_what_has_no_answer_is_declined_when_told_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("register", "--decline", *ANSWERS[:2]) == 0
    assert json.loads(capsys.readouterr().out)["page"] == {"action": "decline"}


def test_a_person_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard("Ada\n36\ny\n"))
    assert call("register") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"who": ADA, "page": {"action": "accept"}}
    assert captured.err == (
        "Who are you?\nAs on the badge.\nYour name (text): age (integer, optional) [30]: "
        "Pay.\nOpen https://pay.example.com/?a=1? (y/n) [n]: "
    )


def test_a_person_is_asked_only_what_has_no_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard("\n"))
    assert call("register", *ANSWERS[:2]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"who": ADA, "page": {"action": "decline"}}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["register"], "error -32021: "),
        (["register"], "--answer KEY=JSON"),
        (["register", *ANSWERS[:2]], "asks for page, to which no answer is given: Pay."),
        (["register", "--answer", 'who={"name": "A"}'], "inputResponses.who.content"),
        (["again", *ANSWERS], "has asked 10 times"),
    ],
    ids=str,
)
def test_what_nobody_answers_is_one_line_with_status_1(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


@pytest.mark.parametrize("arguments", [[], ANSWERS], ids=["nobody", "answers"])
def test_no_answer_is_offered_to_what_asks_a_model(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("think", *arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error -32021: ")
    assert "--answer" not in line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--answer", "who"], "write KEY=JSON"),
        (["--answer", "=1"], "write KEY=JSON"),
        (["--answer", "who={"], "--answer who is not JSON"),
        (["--answer", "who=1"], "neither an object"),
        (["--answer", "who=null"], "neither an object"),
        (["--answer", 'who={"name": {}}'], "--answer who: content.name"),
        (["--answer", "a=true", "--answer", "a=true"], "a is given twice"),
        (["--answers", "nowhere.json"], "--answers: "),
        (["--answers", "asking_app.py"], "asking_app.py is not JSON"),
    ],
    ids=str,
)
def test_answers_that_cannot_be_read_are_one_line_with_status_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("register", *arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("genmcp call: error: ")
    assert says in line


def test_a_file_that_holds_no_object_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("answers.json").write_text("[]", encoding="utf-8")
    assert call("register", "--answers", "answers.json") == 2
    assert "must hold a JSON object" in capsys.readouterr().err


# -- one question at a terminal ------------------------------------------------------

DAYS = [mcp.EnumOption(const="mon", title="Monday"), mcp.EnumOption(const="tue", title="Tuesday")]
TEXT = mcp.StringSchema()
ONE = mcp.UntitledSingleSelectEnumSchema(enum=["red", "blue"])
ONE_TITLED = mcp.TitledSingleSelectEnumSchema(one_of=DAYS)
ONE_NAMED = mcp.LegacyTitledEnumSchema(enum=["r", "b"], enum_names=["Red", "Blue"])
SOME = mcp.UntitledMultiSelectEnumSchema(items=mcp.UntitledEnumItems(enum=["a", "b"]))
SOME_TITLED = mcp.TitledMultiSelectEnumSchema(
    items=mcp.TitledEnumItems(any_of=DAYS), min_items=1, default=["mon"]
)


def ask(question: mcp.ElicitRequestParams, typed: str) -> tuple[mcp.ElicitResult, str]:
    output = io.StringIO()
    return Terminal(io.StringIO(typed), output).ask(question), output.getvalue()


def make_form(field: Any, *, required: bool = True) -> mcp.ElicitRequestFormParams:
    form = mcp.FormSchema(properties={"x": field}, required=["x"] if required else None)
    return mcp.ElicitRequestFormParams(message="So?", requested_schema=form)


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        (TEXT, "5", "5"),
        (TEXT, "  a b ", "a b"),
        (mcp.StringSchema(default="d"), "", "d"),
        (mcp.StringSchema(default="d"), "e", "e"),
        (mcp.NumberSchema(), "2.5", 2.5),
        (mcp.NumberSchema(type="integer"), "-3", -3),
        (mcp.BooleanSchema(), "y", True),
        (mcp.BooleanSchema(), "No", False),
        (mcp.BooleanSchema(default=True), "", True),
        (ONE, "blue", "blue"),
        (ONE_TITLED, "tue", "tue"),
        (ONE_TITLED, "Tuesday", "tue"),
        (ONE_NAMED, "Blue", "b"),
        (SOME, "b, a", ["b", "a"]),
        (SOME_TITLED, "Tuesday,mon", ["tue", "mon"]),
        (SOME_TITLED, "", ["mon"]),
    ],
    ids=str,
)
def test_what_is_typed_has_the_type_of_the_field(field: Any, typed: str, value: Any) -> None:
    result, _ = ask(make_form(field), f"{typed}\n")
    assert result == accept(x=value)
    assert result.content is not None
    assert type(result.content["x"]) is type(value)


@pytest.mark.parametrize(
    ("field", "wrong", "right", "value"),
    [
        (mcp.StringSchema(min_length=3), "ab", "abc", "abc"),
        (mcp.NumberSchema(), "many", "1", 1),
        (mcp.NumberSchema(type="integer"), "1.5", "1", 1),
        (mcp.NumberSchema(minimum=5), "4", "5", 5),
        (mcp.BooleanSchema(), "perhaps", "yes", True),
        (ONE, "green", "red", "red"),
        (SOME, "a,c", "a", ["a"]),
        (SOME_TITLED, ",", "mon", ["mon"]),
    ],
    ids=str,
)
def test_what_does_not_fit_is_asked_again(field: Any, wrong: str, right: str, value: Any) -> None:
    result, output = ask(make_form(field), f"{wrong}\n{right}\n")
    assert result == accept(x=value)
    prompt = output.rpartition("\n")[2]
    _, told, end = output.split(prompt)
    assert told.startswith("x")
    assert end == ""


def test_the_choices_are_shown() -> None:
    _, output = ask(make_form(SOME_TITLED), "\n")
    assert output.splitlines()[:3] == ["So?", "  mon: Monday", "  tue: Tuesday"]
    assert output.endswith("x (several, with commas) [mon]: ")


@pytest.mark.parametrize(
    ("typed", "required", "result"),
    [
        ("\n", True, decline()),
        ("\n", False, mcp.ElicitResult(action="accept", content={})),
        ("", True, cancel()),
        ("", False, cancel()),
    ],
)
def test_an_empty_line_declines_and_the_end_cancels(
    typed: str, required: bool, result: mcp.ElicitResult
) -> None:
    assert ask(make_form(TEXT, required=required), typed)[0] == result


def test_a_form_without_fields_is_agreed_to_or_not() -> None:
    question = mcp.ElicitRequestFormParams(
        message="Delete?", requested_schema=mcp.FormSchema(properties={})
    )
    agreed = mcp.ElicitResult(action="accept", content={})
    assert ask(question, "what\ny\n")[0] == agreed
    assert ask(question, "\n")[0] == decline()
    assert ask(question, "")[0] == cancel()


def test_a_form_whose_schema_is_none_is_cancelled() -> None:
    result, output = ask(make_form(mcp.StringSchema(min_length=-1)), "a\n")
    assert result == cancel()
    assert "this form cannot be filled in" in output


def test_nothing_shown_speaks_to_the_terminal() -> None:
    field = mcp.StringSchema(title="T\x1b[2J", description="D\x07")
    _, output = ask(make_form(field), "a\n")
    question = mcp.ElicitRequestURLParams(message="M\x1b]0;\r", url="https://a.example/\x1b[1A")
    output += ask(question, "n\n")[1]
    assert not {"\x1b", "\x07", "\r"} & {*output}
    assert "https://a.example/\\x1b[1A" in output
