"""Two server processes: what one sealed, the other opens, if they share the key."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import attrs
import mcp_types as types
import pytest
import trio
from mcp.shared.exceptions import MCPError

from tests.e2e.test_official_client_suite import connect

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "tests" / "e2e" / "test_official_client_suite.py"
SECONDS = 30  # a guard against hanging, not a measure
KEY, OTHER_KEY = "k" * 32, "o" * 32


@pytest.fixture(autouse=True)
async def collected() -> AsyncIterator[None]:
    """What the client leaves half-way is collected here, not in another test."""
    yield
    gc.collect()


@attrs.frozen
class Process:
    """A server in a process of its own."""

    url: str
    log: Path

    def wait_for(self, pattern: str) -> str:
        """Wait until the log has it: another process has no event to wait for."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            if found := re.search(pattern, self.log.read_text(encoding="utf-8")):
                return found.group()
            time.sleep(0.02)
        raise AssertionError(self.log.read_text(encoding="utf-8"))


@contextmanager
def serving(log: Path, key: str) -> Generator[Process]:
    with log.open("w", encoding="utf-8") as out:
        popen = subprocess.Popen(
            [sys.executable, "-m", "genmcp", "serve", f"{SUITE}:make_suite", "--port", "0"],
            cwd=ROOT,
            env={**os.environ, "GENMCP_SECRET_KEY": key, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        url = Process("", log).wait_for(r"http://127\.0\.0\.1:\d+/mcp")
        yield Process(url, log)
    finally:
        popen.kill()
        popen.wait()


@contextmanager
def two(tmp_path: Path, key: str, other_key: str) -> Generator[tuple[Process, Process]]:
    with ExitStack() as stack:
        first = stack.enter_context(serving(tmp_path / "first.log", key))
        yield first, stack.enter_context(serving(tmp_path / "second.log", other_key))


async def carry_over(first: Process, second: Process) -> tuple[list[str], str]:
    """Take a cursor and a request state from one process to the other."""
    with trio.fail_after(SECONDS):
        async with connect(first.url) as client:
            page = await client.list_resources()
            asked = await client.session.call_tool("two_rounds", {}, allow_input_required=True)
        async with connect(second.url) as client:
            more = await client.list_resources(cursor=page.next_cursor)
            answers: dict[str, Any] = {"name": types.ElicitResult(action="decline")}
            done = await client.session.call_tool(
                "two_rounds",
                {},
                request_state=asked.request_state,
                input_responses=answers,
                allow_input_required=True,
            )
    return [str(item.uri) for item in [*page.resources, *more.resources]], done.content[0].text


async def test_one_key_makes_them_one_server(tmp_path: Path) -> None:
    with two(tmp_path, KEY, KEY) as (first, second):
        uris, text = await carry_over(first, second)
    assert uris[:6] == [f"file:///{n}.txt" for n in range(6)]
    assert text == "Declined() first"


async def test_with_different_keys_they_refuse_and_the_log_says_why(tmp_path: Path) -> None:
    with two(tmp_path, KEY, OTHER_KEY) as (first, second):
        with trio.fail_after(SECONDS):
            async with connect(first.url) as client:
                page = await client.list_resources()
                asked = await client.session.call_tool("two_rounds", {}, allow_input_required=True)
            async with connect(second.url) as client:
                with pytest.raises(MCPError) as cursor_refused:
                    await client.list_resources(cursor=page.next_cursor)
                with pytest.raises(MCPError) as state_refused:
                    await client.session.call_tool(
                        "two_rounds",
                        {},
                        request_state=asked.request_state,
                        allow_input_required=True,
                    )
        assert cursor_refused.value.code == state_refused.value.code == -32602
        refused = r" \(request .+\): error -32602: %s refused: unknown key"
        second.wait_for("resources/list" + refused % "cursor")
        second.wait_for("tools/call 'two_rounds'" + refused % "requestState")
