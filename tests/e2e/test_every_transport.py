"""One tool that asks twice, written once, and answered through every way there is.

The server is `asking_server`, the client the official one, and between the two is a real
socket or a real process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import mcp_types
import pytest
import trio
from mcp import Client, StdioServerParameters

from genmcp.transport.serve import serve
from tests.e2e import asking_server
from tests.e2e.raw_http import HANG_GUARD_SECONDS
from tests.e2e.stdio_server import ROOT

# The client leaves streams half-read that it has the answer of.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")

VERSIONS = {"2026-07-28": "2026-07-28", "legacy": "2025-11-25"}
TRANSPORTS = ["native", "hypercorn", "stdio"]


@asynccontextmanager
async def serving(transport: Any) -> AsyncGenerator[Any]:
    """Serve the suite; yield what the client connects to."""
    if transport == "stdio":
        yield StdioServerParameters(
            command=sys.executable,
            args=["-m", "genmcp", "serve", "--stdio", "tests.e2e.asking_server:suite"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=str(ROOT),
        )
        return
    async with trio.open_nursery() as nursery:
        [url] = await nursery.start(partial(serve, asking_server.suite, port=0, http=transport))
        yield url
        nursery.cancel_scope.cancel()


class Guest:
    """Answers what it is asked.

    Attributes:
        answers: what it says, in turn.
        asked: what it was asked.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: Any) -> Any:
        self.asked.append(params.message)
        content = self.answers.pop(0)
        if isinstance(content, dict):
            return mcp_types.ElicitResult(action="accept", content=content)
        return mcp_types.ElicitResult(action=content)


@pytest.mark.parametrize("mode", VERSIONS)
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_tool_asks_twice_and_is_answered(transport: str, mode: Any) -> None:
    guest = Guest({"dish": "soup"}, {"amount": 2}, {"dish": "tea"}, {"amount": 1})
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with (
            serving(transport) as server,
            Client(server, mode=mode, cache=None, elicitation_callback=guest) as client,
        ):
            assert client.protocol_version == VERSIONS[mode]
            # Twice: nothing of the first call is left for the second.
            first = await client.call_tool("order", {})
            second = await client.call_tool("order", {})
    asked = ["What may it be?", "How much soup?", "What may it be?", "How much tea?"]
    assert guest.asked == asked
    assert first.content[0].text == "2 soup, round two"
    assert second.content[0].text == "1 tea, round two"
    assert first.structured_content == {"version": VERSIONS[mode]}


@pytest.mark.parametrize("mode", VERSIONS)
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_user_declines_or_cancels_the_second_question(transport: str, mode: Any) -> None:
    guest = Guest("decline", {"dish": "soup"}, "cancel")
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with (
            serving(transport) as server,
            Client(server, mode=mode, cache=None, elicitation_callback=guest) as client,
        ):
            declined = await client.call_tool("order", {})
            cancelled = await client.call_tool("order", {})
    assert declined.content[0].text == "Nothing, then."
    assert cancelled.content[0].text == "Nothing, after all."
