"""A shell needs no token for a Suite; an application keeps its own rules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from genmcp.cli import main

APP = """
from genmcp import Authorization, Stream, StreamableHTTP, Suite, Tool
from genmcp.testing import FakeVerifier

class Delete(Tool, name="delete", description="Deletes.", required_scopes=["files:write"]):
    async def call(self, request, channel):
        channel.post("go on")
        return Stream("state")

    async def handle_message(self, message, channel, state):
        return f"deleted: {message}, {state}"

suite = Suite(server_name="test", server_version="1", tools=[Delete])
app = StreamableHTTP(
    suite,
    public_url="https://mcp.example.com/mcp",
    authorization=Authorization(
        FakeVerifier({}), authorization_servers=["https://auth.example.com"]
    ),
)
"""


@pytest.fixture(autouse=True)
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "guarded_app.py").write_text(APP, encoding="utf-8")
    yield
    sys.modules.pop("guarded_app", None)


def test_a_tool_that_requires_scopes_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "guarded_app:suite", "delete"]) == 0
    assert capsys.readouterr().out == "deleted: go on, state\n"


def test_an_application_with_authorization_wants_its_token(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["call", "guarded_app:app", "delete"]) == 1
    assert "needs an access token" in capsys.readouterr().err
