"""The official Python client with our server as its child process, over stdio."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio
from mcp import Client, StdioServerParameters
from mcp.client.subscriptions import ToolsListChanged
from mcp.shared.exceptions import MCPError

from tests.e2e.raw_http import HANG_GUARD_SECONDS
from tests.e2e.stdio_server import APP, ROOT, command

SUBSCRIBED = """
import os
import signal

from genmcp import EventBus, EventSubscriptions, Suite, Tool, mcp

bus = EventBus()

class Change(Tool, name="change", description="Changes the tools."):
    async def call(self, request, channel):
        bus.publish(mcp.ToolListChangedNotification())
        return "changed"

class Stop(Tool, name="stop", description="Has the server stopped."):
    async def call(self, request, channel):
        os.kill(os.getpid(), signal.SIGTERM)
        return "stopping"

suite = Suite(
    server_name="changing", server_version="1", tools=[Change, Stop],
    subscription_handler=EventSubscriptions(bus),
)
"""


def make_server(directory: Path, app: str = APP) -> StdioServerParameters:
    (directory / "app.py").write_text(app, encoding="utf-8")
    python, *arguments = command(directory)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return StdioServerParameters(command=python, args=arguments, env=environment)


@pytest.mark.parametrize("mode", ["auto", "2026-07-28"])
async def test_calls_tools_that_print(tmp_path: Path, mode: Any) -> None:
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with Client(make_server(tmp_path), mode=mode) as client:
            tools = await client.list_tools()
            noise = await client.call_tool("noise", {})
            echo = await client.call_tool("echo", {"text": "grüße\u2028"})
    assert {tool.name for tool in tools.tools} >= {"noise", "echo"}
    assert noise.content[0].text == "said ''"
    assert echo.content[0].text == "grüße\u2028"


async def test_calls_run_at_the_same_time_and_are_cancelled(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    progressed = trio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        progressed.set()

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with Client(make_server(tmp_path)) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(
                    lambda: client.call_tool("wait", {"file": str(mark)}, progress_callback=hear)
                )
                await progressed.wait()
                echo = await client.call_tool("echo", {"text": "meanwhile"})
                group.cancel_scope.cancel()
            while not mark.exists():  # noqa: ASYNC110 - what it waits for tells nobody
                await trio.sleep(0.02)
            after = await client.call_tool("echo", {"text": "after"})
    assert echo.content[0].text == "meanwhile"
    assert after.content[0].text == "after"
    assert mark.read_text() == "cleaned up"


async def test_leaving_ends_the_process_after_its_clean_ups(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    progressed = trio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        progressed.set()

    async def wait(client: Client) -> None:
        with pytest.raises(MCPError):
            await client.call_tool("wait", {"file": str(mark)}, progress_callback=hear)

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with anyio.create_task_group() as group, Client(make_server(tmp_path)) as client:
            group.start_soon(wait, client)
            await progressed.wait()
    assert mark.read_text() == "cleaned up"


async def test_hears_of_changes_and_of_the_end_of_its_subscription(tmp_path: Path) -> None:
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with (
            Client(make_server(tmp_path, SUBSCRIBED)) as client,
            client.listen(tools_list_changed=True) as subscription,
        ):
            await client.call_tool("change", {})
            assert await anext(subscription) == ToolsListChanged()
            stopped = await client.call_tool("stop", {})
            # In good order: no error, but the end of what there is to hear.
            assert [event async for event in subscription] == []
    assert stopped.content[0].text == "stopping"
