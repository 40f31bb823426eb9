"""Two server processes with one key: a 2025 session begun at one goes on at the other."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs
import pytest

from tests.e2e.test_two_processes import KEY, ROOT, SECONDS, Process
from tests.legacy.client import ASKABLE, HEADERS, NOVEMBER

if TYPE_CHECKING:
    from collections.abc import Generator

TARGET = ROOT / "tests" / "e2e" / "sessions_server.py"


@contextmanager
def serving(log: Path, environment: dict[str, str]) -> Generator[str]:
    with log.open("w", encoding="utf-8") as out:
        popen = subprocess.Popen(
            [sys.executable, "-m", "genmcp", "serve", f"{TARGET}:make_app", "--port", "0"],
            cwd=ROOT,
            env={**os.environ, "GENMCP_SECRET_KEY": KEY, "PYTHONUNBUFFERED": "1", **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        yield Process("", log).wait_for(r"http://127\.0\.0\.1:\d+/mcp")
    finally:
        popen.kill()
        popen.wait()


class Stream:
    """A response that is read as it comes."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self._response = connection.getresponse()
        self.status = self._response.status
        self.headers = self._response.headers

    def read(self) -> Any:
        """Return the JSON that is the response."""
        return json.loads(self._response.read())

    def read_event(self) -> tuple[str, Any]:
        """Return the next event that says something, and its id."""
        event_id = ""
        while True:
            line = self._response.readline()
            assert line, "the stream ended"
            name, _, value = line.decode().strip().partition(": ")
            if name == "id":
                event_id = value
            if name == "data" and value:
                return event_id, json.loads(value)

    def close(self) -> None:
        self._response.close()
        self._connection.close()


@attrs.define
class Wire:
    """A client of 2025 that may talk to either process in one session."""

    stack: ExitStack
    session_id: str = ""
    ids: int = 0

    def send(self, url: str, verb: str, message: Any = None, **headers: str) -> Stream:
        parts = urlsplit(url)
        assert parts.hostname is not None
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=SECONDS)
        self.stack.callback(connection.close)
        common = {name.decode(): value.decode() for name, value in HEADERS.items()}
        del common["host"]
        if self.session_id:
            common |= {"Mcp-Session-Id": self.session_id, "MCP-Protocol-Version": NOVEMBER}
        common |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = None if message is None else json.dumps(message)
        connection.request(verb, parts.path, body, common)
        return Stream(connection)

    def post(self, url: str, method: str, params: Any = None) -> Stream:
        self.ids += 1
        message = {"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params or {}}
        return self.send(url, "POST", message)

    def ask(self, url: str, method: str, params: Any = None) -> Any:
        response = self.post(url, method, params)
        assert response.status == 200
        return response.read()["result"]

    def open(self, url: str) -> None:
        info = {"name": "old", "version": "1"}
        params = {"protocolVersion": NOVEMBER, "capabilities": ASKABLE, "clientInfo": info}
        response = self.post(url, "initialize", params)
        self.session_id = response.headers["mcp-session-id"]

    def answer(self, url: str, question: Any, name: str) -> Stream:
        result = {"action": "accept", "content": {"name": name}}
        return self.send(url, "POST", {"jsonrpc": "2.0", "id": question["id"], "result": result})


@pytest.fixture
def stack() -> Generator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def open_two(stack: ExitStack, path: Path, **environment: str) -> tuple[str, str, Wire]:
    first, second = (
        stack.enter_context(serving(path / f"{number}.log", environment)) for number in range(2)
    )
    wire = Wire(stack)
    wire.open(first)
    return first, second, wire


def text_of(message: Any) -> str:
    text: str = message["result"]["content"][0]["text"]
    return text


def test_with_one_key_all_goes_on_but_what_needs_memory(tmp_path: Path, stack: ExitStack) -> None:
    first, second, wire = open_two(stack, tmp_path)
    # What needs none.
    assert wire.ask(second, "tools/list")["tools"]
    who = wire.ask(second, "tools/call", {"name": "who"})
    assert who["structuredContent"]["client"] == "old"
    # An answer.
    greeting = wire.post(first, "tools/call", {"name": "greet"})
    event_id, question = greeting.read_event()
    refused = wire.answer(second, question, "Ada")
    assert refused.status == 400
    assert "share no session_store" in refused.read()["error"]["message"]
    assert wire.answer(first, question, "Ada").status == 202
    _, question = greeting.read_event()
    assert wire.answer(first, question, "Lovelace").status == 202
    assert text_of(greeting.read_event()[1]) == "Ada Lovelace (2)"
    # A stream.
    refused = wire.send(second, "GET", last_event_id=event_id)
    assert refused.status == 400
    assert "share no replay_store" in refused.read()["error"]["message"]
    # A log level.
    assert wire.ask(first, "logging/setLevel", {"level": "error"}) == {}
    who = wire.ask(second, "tools/call", {"name": "who"})
    assert who["structuredContent"]["level"] == "info"
    # The end.
    assert wire.send(first, "DELETE").status == 204
    assert wire.post(first, "ping").status == 404
    assert wire.post(second, "ping").status == 200


def test_with_shared_stores_all_goes_on(tmp_path: Path, stack: ExitStack) -> None:
    path = str(tmp_path / "sessions.sqlite3")
    first, second, wire = open_two(stack, tmp_path, SESSIONS_DB=path)
    # An answer.
    greeting = wire.post(first, "tools/call", {"name": "greet"})
    for name in ("Ada", "Lovelace"):
        _, question = greeting.read_event()
        assert wire.answer(second, question, name).status == 202
    assert text_of(greeting.read_event()[1]) == "Ada Lovelace (2)"
    # A log level.
    assert wire.ask(first, "logging/setLevel", {"level": "error"}) == {}
    who = wire.ask(second, "tools/call", {"name": "who"})
    assert who["structuredContent"]["level"] == "error"
    assert wire.ask(second, "logging/setLevel", {"level": "info"}) == {}
    # What is watched, before the stream opens: that it is heard of later takes a moment.
    assert wire.ask(second, "resources/subscribe", {"uri": "note:a"}) == {}
    changes = wire.send(first, "GET")
    assert changes.status == 200
    wire.ask(first, "tools/call", {"name": "touch"})
    assert changes.read_event()[1]["params"] == {"uri": "note:a"}
    # A stream.
    work = wire.post(first, "tools/call", {"name": "work"})
    event_id, _ = work.read_event()
    work.close()
    again = wire.send(second, "GET", last_event_id=event_id)
    assert again.status == 200
    wire.ask(first, "tools/call", {"name": "finish"})
    assert text_of(again.read_event()[1]) == "finished"
    # The end.
    assert wire.send(second, "DELETE").status == 204
    assert wire.post(first, "ping").status == 404
