"""The access token of `genmcp call`: where it goes, and what is said without one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from genmcp.cli import main
from genmcp.cli.access_token import TokenWatch, is_private
from genmcp.cli.target import load_server
from genmcp.testing import Client
from genmcp.transport.serve import serve
from tests.e2e.raw_http import HANG_GUARD_SECONDS

APP = """
from genmcp import Authorization, StreamableHTTP, Suite, Tool
from genmcp.testing import FakeVerifier, fake_access

class Who(Tool, name="who", description="Tells who calls."):
    async def call(self, request, channel):
        return channel.principal

app = StreamableHTTP(
    Suite(server_name="test", server_version="1", tools=[Who]),
    public_url="https://mcp.example.com/mcp",
    authorization=Authorization(
        FakeVerifier({"good": fake_access(subject="ada")}),
        authorization_servers=["https://auth.example.com"],
    ),
    secret_key="k" * 32,
)
"""


@pytest.fixture(autouse=True)
def own_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("GENMCP_TOKEN", raising=False)
    (tmp_path / "token_app.py").write_text(APP, encoding="utf-8")
    yield
    sys.modules.pop("token_app", None)


def test_a_protected_endpoint_is_called_with_the_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GENMCP_TOKEN", "good")
    assert main(["call", "token_app:app", "who"]) == 0
    assert capsys.readouterr().out == "ada\n"


def test_without_a_token_it_says_where_one_belongs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "token_app:app"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "needs an access token" in line
    assert line.endswith("[genmcp sends what the variable GENMCP_TOKEN holds]")


def test_a_token_that_is_not_taken_is_said_to_have_been_sent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GENMCP_TOKEN", "guessed")
    assert main(["call", "token_app:app", "who"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("[what GENMCP_TOKEN holds was sent]")
    assert "guessed" not in line


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "\u00fc", 'quote"'])
def test_what_is_no_token_is_refused_and_not_repeated(
    token: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GENMCP_TOKEN", token)
    assert main(["call", "token_app:app", "who"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("GENMCP_TOKEN has characters that no access token has")
    assert token not in line


async def test_a_server_on_this_machine_is_sent_the_token(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run(task_status: trio.TaskStatus[list[str]]) -> None:
        server: Any = load_server("token_app:app")
        await serve(server, port=0, task_status=task_status)

    monkeypatch.setenv("GENMCP_TOKEN", "good")
    with trio.fail_after(HANG_GUARD_SECONDS):
        (url,) = await nursery.start(run)
        assert await trio.to_thread.run_sync(main, ["call", url, "who"]) == 0
    assert capsys.readouterr().out == "ada\n"
    nursery.cancel_scope.cancel()


def test_the_token_is_not_sent_where_others_can_listen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent: list[list[tuple[bytes, bytes]]] = []

    class Elsewhere:
        def __init__(self, url: str) -> None:
            pass

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            sent.append(scope["headers"])
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"<html>"})

    monkeypatch.setattr("genmcp.cli.call_command.RemoteEndpoint", Elsewhere)
    monkeypatch.setenv("GENMCP_TOKEN", "good")
    assert main(["tools", "http://mcp.example.com/mcp"]) == 1
    assert b"authorization" not in dict(sent[0])
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "401 Unauthorized [GENMCP_TOKEN is sent to https and loopback URLs only]"
    assert main(["tools", "https://mcp.example.com/mcp"]) == 1
    assert dict(sent[1])[b"authorization"] == b"Bearer good"


@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("https://mcp.example.com/mcp", True),
        ("http://localhost:8000/mcp", True),
        ("http://127.0.0.1/mcp", True),
        ("http://[::1]:8000/mcp", True),
        ("http://mcp.example.com/mcp", False),
        ("http://localhost.example.com/mcp", False),
        ("http://127.0.0.1.example.com/mcp", False),
        ("http://127.0.0.1@mcp.example.com/mcp", False),
        ("http://10.0.0.1/mcp", False),
        ("http://\u212aocalhost/mcp", False),
    ],
)
def test_where_nobody_can_listen(url: str, *, private: bool) -> None:
    assert is_private(url) is private


async def test_nothing_is_said_where_no_token_is_missing() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    watch = TokenWatch(app, token=None)
    async with Client(watch).open("tools/list") as answer:
        assert answer.response.status == 204
    assert watch.describe() == ""
    assert "GENMCP_TOKEN" not in os.environ
