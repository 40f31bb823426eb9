"""The official Python client with our server as its child process, in either era."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
import trio
from mcp import Client, StdioServerParameters
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError

from tests.e2e.raw_http import HANG_GUARD_SECONDS
from tests.e2e.stdio_server import ROOT

# What the client warns of is gone today, and what clients of 2025 have.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*as of 2026-07-28:mcp.shared.exceptions.MCPDeprecationWarning"
)

MODES = ["2026-07-28", "legacy", "auto"]


def make_client(mode: Any, *flags: str, **callbacks: Any) -> Client:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "genmcp", "serve", *flags, "--stdio", "tests.e2e.asking_server:suite"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=str(ROOT),
    )
    return Client(server, mode=mode, cache=None, **callbacks)


@pytest.mark.parametrize("mode", MODES)
async def test_finds_all_there_is(mode: Any) -> None:
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with make_client(mode) as client:
            first = await client.list_tools()
            rest = await client.list_tools(cursor=first.next_cursor)
            resources = await client.list_resources()
            templates = await client.list_resource_templates()
            menu = await client.read_resource("menu:tomorrow")
            prompts = await client.list_prompts()
            recipe = await client.get_prompt("recipe", {"dish": "soup"})
            reference = mcp_types.PromptReference(type="ref/prompt", name="recipe")
            completed = await client.complete(reference, {"name": "dish", "value": "f"})
    assert [tool.name for tool in (*first.tools, *rest.tools)] == ["order", "count", "wait", "cook"]
    assert rest.next_cursor is None
    assert [one.uri for one in resources.resources] == ["menu:today", "menu:tomorrow"]
    assert templates.resource_templates == []
    assert menu.contents[0].text == "meat"
    assert [prompt.name for prompt in prompts.prompts] == ["recipe"]
    assert recipe.messages[0].content.text == "How is soup made?"
    assert completed.completion.values == ["fish"]


@pytest.mark.parametrize("mode", MODES)
async def test_hears_of_progress_and_of_logs(mode: Any) -> None:
    heard: list[float] = []
    logs: list[Any] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def log(params: Any) -> None:
        logs.append(params.data)

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with make_client(mode, logging_callback=log, log_level="warning") as client:
            counted = await client.call_tool("count", {}, progress_callback=hear)
    assert counted.content[0].text == "counted"
    assert heard == [1, 2, 3]
    assert logs == ["counted 1", "counted 2", "counted 3"]


async def test_sets_the_level_of_its_logs() -> None:
    logs: list[Any] = []

    async def log(params: Any) -> None:
        logs.append(params.data)

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with make_client("legacy", logging_callback=log) as client:
            await client.set_logging_level("error")
            await client.call_tool("count", {})
            assert logs == []
            await client.set_logging_level("debug")
            await client.call_tool("count", {})
            await client.send_ping()
    assert logs == ["counted 1", "counted 2", "counted 3"]


@pytest.mark.parametrize("mode", MODES)
async def test_calls_run_beside_a_question_and_one_is_cancelled(tmp_path: Path, mode: Any) -> None:
    mark = tmp_path / "mark"
    progressed, asked, proceed = trio.Event(), trio.Event(), trio.Event()
    told: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        progressed.set()

    async def elicit(context: Any, params: Any) -> Any:
        asked.set()
        await proceed.wait()
        return mcp_types.ElicitResult(action="decline")

    async def order(client: Client) -> None:
        told.append((await client.call_tool("order", {})).content[0].text)

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with make_client(mode, elicitation_callback=elicit) as client:
            async with anyio.create_task_group() as ordering:
                ordering.start_soon(order, client)
                await asked.wait()
                async with anyio.create_task_group() as waiting:
                    waiting.start_soon(
                        lambda: client.call_tool(
                            "wait", {"file": str(mark)}, progress_callback=hear
                        )
                    )
                    await progressed.wait()
                    assert (await client.call_tool("count", {})).content[0].text == "counted"
                    waiting.cancel_scope.cancel()
                while not mark.exists():  # noqa: ASYNC110 - what it waits for tells nobody
                    await trio.sleep(0.02)
                proceed.set()
            assert (await client.call_tool("count", {})).content[0].text == "counted"
    assert told == ["Nothing, then."]


async def test_subscribes_to_a_resource_in_2025() -> None:
    heard: list[Any] = []
    something = trio.Event()

    async def hear(message: Any) -> None:
        heard.append(message)
        if len(heard) == 2:
            something.set()

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with make_client("legacy", message_handler=hear) as client:
            await client.subscribe_resource("menu:today")
            await client.call_tool("cook", {})
            await something.wait()
            updated = [m for m in heard if isinstance(m, mcp_types.ResourceUpdatedNotification)]
            changed = [m for m in heard if isinstance(m, mcp_types.ToolListChangedNotification)]
            assert [message.params.uri for message in updated] == ["menu:today"]
            assert len(changed) == 1
            heard.clear()
            await client.unsubscribe_resource("menu:today")
            await client.call_tool("cook", {})
            await client.call_tool("cook", {})
            await something.wait()
    assert {type(message) for message in heard} == {mcp_types.ToolListChangedNotification}


async def test_listens_to_a_resource_today() -> None:
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with (
            make_client("2026-07-28") as client,
            client.listen(resource_subscriptions=["menu:today"]) as subscription,
        ):
            await client.call_tool("cook", {})
            assert await anext(subscription) == ResourceUpdated(uri="menu:today")


async def test_leaving_in_the_middle_of_a_question_ends_the_process() -> None:
    asked = trio.Event()

    async def elicit(context: Any, params: Any) -> Any:
        asked.set()
        await trio.sleep_forever()

    async def order(client: Client) -> None:
        with pytest.raises(MCPError):
            await client.call_tool("order", {})

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with (
            anyio.create_task_group() as group,
            make_client("legacy", elicitation_callback=elicit) as client,
        ):
            group.start_soon(order, client)
            await asked.wait()


async def test_without_legacy_there_is_no_session() -> None:
    with trio.fail_after(HANG_GUARD_SECONDS):
        with pytest.raises(ExceptionGroup) as refused:
            async with make_client("legacy", "--no-legacy"):
                raise AssertionError
        assert refused.group_contains(MCPError, match="supported: 2026-07-28")
        async with make_client("auto", "--no-legacy") as client:
            assert client.protocol_version == "2026-07-28"
