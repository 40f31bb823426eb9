"""Thousands of calls through the whole stack leave nothing behind. Counted, not timed."""

from __future__ import annotations

import gc
import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
import trio

from genmcp import Channel, Stream, StreamableHTTP, Suite, Tool, ToolError, mcp
from genmcp.testing import Client, ServerError
from tests.legacy.server import Served
from tests.transport.stdio.legacy_peer import LegacyPeer, session
from tests.transport.stdio.legacy_peer import answer as stdio_answer
from tests.transport.stdio.legacy_peer import call as stdio_call
from tests.transport.stdio.legacy_peer import notification as stdio_notification

CALLS = 10_000
WARM_UP = 500


@attrs.frozen
class Args:
    how: int


class Mixed(Tool[Args], name="mixed", description="Ends in one of six ways."):
    async def call(self, request: mcp.CallToolRequest[Args], channel: Channel) -> Any:
        match request.params.arguments.how:
            case 0:
                return "plain"
            case 1:
                await channel.send_progress(1)
                return "streamed"
            case 2:
                raise ToolError("told to")
            case 3:
                raise RuntimeError("crash")
            case 4:
                channel.start_soon(trio.sleep_forever)
                return "with a child"
            case _:
                channel.post("go")
                return Stream(None)

    async def handle_message(self, message: Any, channel: Channel, state: Any) -> Any:
        return "after a message"


def ignore(progress: mcp.ProgressNotificationParams) -> None:
    """Hear progress, so that it is sent."""


def count_objects() -> Counter[str]:
    """Living objects by type, of everything the garbage collector tracks."""
    gc.collect()
    return Counter(type(item).__name__ for item in gc.get_objects())


@pytest.fixture
def no_log() -> Iterator[None]:
    """The log that a test keeps would hold every traceback, and so every call."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


async def test_ten_thousand_calls_leave_no_task_no_channel_and_no_growth(no_log: None) -> None:
    suite = Suite(server_name="s", server_version="1", tools=[Mixed])
    app = StreamableHTTP(suite, secret_key="k" * 32)
    before = Counter[str]()
    tasks = 0
    async with Client(app) as client:
        for number in range(CALLS + WARM_UP):
            if number == WARM_UP:
                before = count_objects()
                tasks = trio.lowlevel.current_statistics().tasks_living
            how = number % 7
            if how == 3:
                with pytest.raises(ServerError):
                    await client.call_tool("mixed", {"how": how})
            else:
                await client.call_tool("mixed", {"how": how}, on_progress=ignore)
    after = count_objects()
    assert app.mux.open_calls == 0
    assert trio.lowlevel.current_statistics().tasks_living == tasks
    # Other tests may have left some behind, in what pytest keeps of their failures.
    for name in ("Call", "CallChannel", "Exchange", "MemoryResponse"):
        assert after[name] <= before[name], name
    # Caches of the interpreter and of pytest move by a few, and trio forgets deadlines that
    # did not come a thousand at a time; what one of the seven ways leaves behind is more.
    grown = {name: after[name] - before[name] for name in after}
    assert {name: by for name, by in grown.items() if by > CALLS // 8} == {}


async def use_session(client: LegacyPeer, number: int) -> None:
    """Make a request of 2025 over stdio that ends in one of seven ways."""
    peer = client.peer
    match number % 7:
        case 0:
            await client.result("tools/call", name="who")
        case 1 | 2:
            await peer.send(stdio_call(number, "greet"))
            question = await peer.receive()
            if number % 7 == 1:
                await peer.send(stdio_answer(question["id"], result={"action": "decline"}))
                assert (await peer.receive())["id"] == number
            else:
                await peer.send(stdio_notification("cancelled", requestId=number))
                assert (await peer.receive())["method"] == "notifications/cancelled"
        case 3:
            await client.ask("tools/call", name="crash")
            await peer.send(stdio_answer(f"genmcp-{number}", result={}))
        case 4:
            await client.result("resources/subscribe", uri="note:a")
        case 5:
            await client.result("resources/unsubscribe", uri="note:a")
        case _:
            await client.open()


async def test_a_session_over_stdio_leaves_no_question_and_no_growth(
    no_log: None, autojump_clock: Any
) -> None:
    requests = CALLS // 5
    before = Counter[str]()
    tasks = 0
    async with session(Served().make_suite()) as client:
        for number in range(requests + WARM_UP):
            if number == WARM_UP:
                await trio.sleep(1)
                before = count_objects()
                tasks = trio.lowlevel.current_statistics().tasks_living
            await use_session(client, number)
        await trio.sleep(1)
        after = count_objects()
        # One may listen for changes that did not at the first look, when one had just ended.
        assert trio.lowlevel.current_statistics().tasks_living <= tasks + 5
        for name in ("Call", "LegacyCall", "Question", "Listening", "LineNews", "Place"):
            assert after[name] <= before[name] + 3, name
        grown = {name: after[name] - before[name] for name in after}
        assert {name: by for name, by in grown.items() if by > requests // 20} == {}
