"""`genmcp call` and `genmcp tools`, in process and over the network."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from genmcp.cli import main
from genmcp.cli.remote import RemoteEndpoint
from genmcp.cli.target import UsageError, load_server
from genmcp.testing import Client
from genmcp.transport.serve import serve
from tests.e2e.raw_http import HANG_GUARD_SECONDS

APP = '''
import attrs
from genmcp import InputRequired, Suite, Tool, ToolError, mcp

@attrs.frozen
class Sum:
    a: float
    b: float = 1

class Add(Tool[Sum], name="add"):
    """Adds two numbers.

    Slowly.
    """

    async def call(self, request, channel):
        args = request.params.arguments
        await channel.send_progress(1, total=2, message="half")
        await channel.send_log("info", {"adding": args.a})
        return mcp.call_tool_result(data={"sum": args.a + args.b})

class Show(Tool, name="show", description="Shows."):
    async def call(self, request, channel):
        return mcp.call_tool_result(
            text="seen", image=("image/png", b"png"), link={"uri": "x:y", "name": "y"}
        )

class Fail(Tool, name="fail", description="Fails."):
    async def call(self, request, channel):
        raise ToolError("no luck")

class Ask(Tool, name="ask", description="Asks."):
    async def call(self, request, channel):
        return InputRequired({}, {"step": 1})

suite = Suite(server_name="test", server_version="1", tools=[Add, Show, Fail, Ask], page_size=2)
'''


@pytest.fixture(autouse=True)
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "stdin", io.StringIO())  # no terminal, wherever the tests run
    (tmp_path / "called_app.py").write_text(APP, encoding="utf-8")
    yield
    sys.modules.pop("called_app", None)


def test_tools_are_listed_with_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "called_app:suite"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "add   Adds two numbers.",
        "show  Shows.",
        "fail  Fails.",
        "ask   Asks.",
    ]


def test_tools_are_listed_as_clients_get_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "called_app:suite", "--json"]) == 0
    tools = json.loads(capsys.readouterr().out)
    assert [tool["name"] for tool in tools] == ["add", "show", "fail", "ask"]
    assert tools[0]["inputSchema"]["required"] == ["a"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["a=1", "b=2.5"],
        ["--arguments", '{"a": 1, "b": 2.5}'],
        ["--arguments", '{"a": 1, "b": 3}', "b=2.5"],
        ["--json", "a=1", "b=2.5"],
        ["a=1", "--json", "b=2.5"],
    ],
    ids=" ".join,
)
def test_the_result_is_printed_and_the_rest_said_aside(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["call", "called_app:suite", "add", *arguments]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"sum": 3.5}
    assert captured.err.splitlines() == ["1/2 half", 'info: {"adding":1.0}']


def test_what_is_no_text_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "called_app:suite", "show"]) == 0
    assert capsys.readouterr().out.splitlines() == ["seen", "[image/png, shown with --json]", "x:y"]


def test_without_a_structured_result_json_has_the_content(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["call", "called_app:suite", "show", "--json"]) == 0
    kinds = [block["type"] for block in json.loads(capsys.readouterr().out)]
    assert kinds == ["text", "image", "resource_link"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fail"], "no luck"),
        (["add", "a=x"], "a: "),
        (["add", "c=1"], '"c"'),
        (["nothing"], "error -32602: Unknown tool: nothing"),
        (["ask"], "asks for input"),
    ],
    ids=str,
)
def test_a_failure_is_said_aside_with_status_1(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["call", "called_app:suite", *arguments]) == 1
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["called_app:suite", "add", "a"], "name=value"),
        (["called_app:suite", "add", "=1"], "name=value"),
        (["called_app:suite", "add", "a=\udcff"], "'a=\\udcff' is not UTF-8"),
        (["called_app:suite", "add", "a=1", "b=2", "a=1"], "a is given twice"),
        (["called_app:suite", "add", "--arguments", '{"a": 1, "a": 2}'], '"a"'),
        (["called_app:suite", "add", "--arguments", '{"a": "\udcff"}'], "not JSON: "),
        (["called_app:suite", "add", "--arguments", "{"], "--arguments is not JSON"),
        (["called_app:suite", "add", "--arguments", "[1]"], "JSON object"),
        (["called_app:sweet", "add"], "did you mean suite?"),
        (["http://", "add"], "no host"),
        (["http://a:b", "add"], "no URL"),
    ],
    ids=str,
)
def test_a_mistake_is_one_line_with_status_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["call", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("genmcp call: error: ")
    assert says in line


@pytest.mark.parametrize("arguments", [[], ["what"], ["call", "a:b", "c", "--what"]], ids=str)
def test_an_unknown_command_or_option_is_refused_with_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: genmcp" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["serve", "a:b", "--prot", "1"],
            "genmcp serve: error: there is no --prot 1; did you mean --port?",
        ),
        (["tools", "a:b", "--jsn"], "genmcp tools: error: there is no --jsn; did you mean --json?"),
        (
            ["call", "a:b", "c", "--id=1"],
            "there is no --id=1; an argument of the tool is written id=...",
        ),
        (["tools", "a:b", "--zebra"], "there is no --zebra\n"),
    ],
    ids=str,
)
def test_an_unknown_option_is_told_what_was_meant(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert words in capsys.readouterr().err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("genmcp ")


def test_a_server_that_is_not_there_is_one_line_with_status_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["call", "http://127.0.0.1:9/mcp", "add"]) == 1
    assert "127.0.0.1:9" in capsys.readouterr().err


async def test_a_server_elsewhere_is_called_by_its_url(
    nursery: trio.Nursery, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run(task_status: trio.TaskStatus[list[str]]) -> None:
        server: Any = load_server("called_app:suite")
        await serve(server, port=0, secret_key="k" * 32, task_status=task_status)

    with trio.fail_after(HANG_GUARD_SECONDS):
        (url,) = await nursery.start(run)
        # The command runs a loop of its own, in a thread that has none.
        status = await trio.to_thread.run_sync(main, ["call", url, "add", "a=1"])
        assert status == 0
        assert json.loads(capsys.readouterr().out) == {"sum": 2}
        async with Client(RemoteEndpoint(url)).open("tools/list") as answer:
            assert answer.response.status == 200
            assert [message["id"] async for message in answer] == [1]
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize("url", ["http://", "http://a:b/", "https:///mcp"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match=r"URL|host"):
        RemoteEndpoint(url)
