"""The official Python client against a real socket: what users' clients will do.

The client runs on the same trio loop as the server, so that a test can look at the
server while the client works.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import attrs
import pytest
import trio
from mcp import Client
from mcp.shared.exceptions import MCPError

from genmcp import BlockingChannel, Channel, Stream, StreamableHTTP, Suite, Tool, ToolError, mcp
from genmcp.transport.serve import serve

SECONDS = 30  # a guard against hanging, not a measure


@attrs.frozen
class AddArgs:
    a: float
    b: float


@attrs.frozen
class Sum:
    total: float


class Add(
    Tool[AddArgs],
    name="add",
    title="Add",
    description="Adds two numbers.",
    output_schema=Sum,
    annotations=mcp.ToolAnnotations(read_only_hint=True),
):
    async def call(self, request: mcp.CallToolRequest[AddArgs], channel: Channel) -> Any:
        args = request.params.arguments
        return mcp.call_tool_result(data=Sum(args.a + args.b))


class Talk(Tool, name="talk", description="Reports as it works."):
    async def call(self, request: Any, channel: Channel) -> str:
        for step in range(3):
            await channel.send_progress(step + 1, total=3, message=f"step {step}")
            await channel.send_log("info", {"step": step}, logger="talk")
        await channel.send_log("debug", "too quiet to hear")
        return "talked"


class Greet(Tool, name="grüße", description="Greets.", any_name=True):
    async def call(self, request: Any, channel: Channel) -> str:
        return "hallo"


class Fail(Tool, name="fail", description="Fails in the way asked for."):
    async def call(self, request: Any, channel: Channel) -> str:
        if request.params.arguments.get("how") == "crash":
            raise RuntimeError("secret of the server")
        raise ToolError("told to fail")


class Slow(Tool[dict[str, Any], BlockingChannel], name="slow", description="Plain def."):
    def call(self, request: Any, channel: BlockingChannel) -> str:
        assert channel.send_progress(1, total=1)
        return "done in a thread"


class Hang(Tool, name="hang", description="Hangs until its client leaves."):
    def __init__(self) -> None:
        self.running = trio.Event()
        self.cleaned = trio.Event()

    async def call(self, request: Any, channel: Channel) -> str:
        await channel.send_progress(1)
        self.running.set()
        try:
            await trio.sleep_forever()
            raise AssertionError("not reached")
        finally:
            await trio.sleep(0.01)
            self.cleaned.set()


class Echoes(Tool, name="echoes", description="Streams what is posted to it."):
    def __init__(self) -> None:
        self.channel: Channel | None = None

    async def call(self, request: Any, channel: Channel) -> Any:
        channel.start_soon(self._post, channel)
        return Stream(0)

    async def _post(self, channel: Channel) -> None:
        for word in ("one", "two", "three"):
            channel.post(word)
            await trio.lowlevel.checkpoint()

    async def handle_message(self, message: Any, channel: Channel, state: int) -> Any:
        await channel.send_progress(state + 1, message=message)
        return "all" if state == 2 else Stream(state + 1)


@attrs.frozen
class Served:
    """A server that runs, and what a test looks at."""

    url: str
    app: StreamableHTTP
    hang: Hang


@pytest.fixture
async def served(nursery: trio.Nursery) -> Served:
    hang = Hang()
    suite = Suite(
        server_name="e2e",
        server_version="1.2.3",
        server_title="End to end",
        instructions="Use add.",
        tools=[Add, Talk, Greet, Fail, Slow, Echoes, hang],
        page_size=3,
    )
    app = StreamableHTTP(suite, secret_key="k" * 32)
    [url] = await nursery.start(partial(serve, app, port=0))
    return Served(url, app, hang)


@asynccontextmanager
async def connected(
    url: str, *, mode: str = "2026-07-28", log_level: Any = None, heard: list[Any] | None = None
) -> AsyncGenerator[Client]:
    async def hear(params: Any) -> None:
        if heard is not None:
            heard.append(params)

    with warnings.catch_warnings():
        # The client warns of the deprecated logging utility, which is what is tested.
        warnings.simplefilter("ignore")
        client = Client(url, mode=mode, cache=None, log_level=log_level, logging_callback=hear)
        with trio.fail_after(SECONDS):
            async with client:
                yield client


@pytest.mark.parametrize("mode", ["auto", "2026-07-28"])
async def test_discovers_lists_and_calls(served: Served, mode: str) -> None:
    async with connected(served.url, mode=mode) as client:
        assert client.protocol_version == "2026-07-28"
        if mode == "auto":
            assert client.server_info is not None
            assert client.server_info.name == "e2e"
            assert client.instructions == "Use add."
        names: list[str] = []
        cursor: str | None = None
        pages = 0
        while True:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            pages += 1
            cursor = page.next_cursor
            if cursor is None:
                break
        assert names == ["add", "talk", "grüße", "fail", "slow", "echoes", "hang"]
        assert pages == 3
        result = await client.call_tool("add", {"a": 1, "b": 2.5})
        assert result.structured_content == {"total": 3.5}
        assert not result.is_error


async def test_progress_and_logs_arrive(served: Served) -> None:
    heard: list[Any] = []
    steps: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total, message))

    async with connected(served.url, log_level="info", heard=heard) as client:
        result = await client.call_tool("talk", {}, progress_callback=on_progress)
        assert result.content[0].text == "talked"
    assert steps == [(1, 3, "step 0"), (2, 3, "step 1"), (3, 3, "step 2")]
    assert [(log.level, log.data, log.logger) for log in heard] == [
        ("info", {"step": step}, "talk") for step in range(3)
    ]


async def test_nothing_is_logged_that_was_not_asked_for(served: Served) -> None:
    heard: list[Any] = []
    async with connected(served.url, heard=heard) as client:
        await client.call_tool("talk", {})
    assert heard == []


async def test_non_ascii_name_can_be_called(served: Served) -> None:
    async with connected(served.url) as client:
        result = await client.call_tool("grüße", {})
        assert result.content[0].text == "hallo"


async def test_plain_def_tool_works(served: Served) -> None:
    steps: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    async with connected(served.url) as client:
        result = await client.call_tool("slow", {}, progress_callback=on_progress)
        assert result.content[0].text == "done in a thread"
    assert steps == [1]


async def test_streaming_tool_works(served: Served) -> None:
    words: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        words.append(message)

    async with connected(served.url) as client:
        result = await client.call_tool("echoes", {}, progress_callback=on_progress)
        assert result.content[0].text == "all"
    assert words == ["one", "two", "three"]


async def test_failures_are_told_apart(served: Served) -> None:
    async with connected(served.url) as client:
        failed = await client.call_tool("fail", {})
        assert failed.is_error
        assert failed.content[0].text == "told to fail"
        wrong = await client.call_tool("add", {"a": "x"})
        assert wrong.is_error
        assert 'missing required argument "b"' in wrong.content[0].text
        with pytest.raises(MCPError) as crashed:
            await client.call_tool("fail", {"how": "crash"})
        assert crashed.value.code == -32603
        assert "secret" not in str(crashed.value)
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("nope", {})
        assert unknown.value.code == -32602


async def test_cancelled_call_stops_on_the_server_and_cleans_up(served: Served) -> None:
    async with connected(served.url) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(client.call_tool, "hang", {}))
            await served.hang.running.wait()
            assert served.app.mux.open_calls == 1
            nursery.cancel_scope.cancel()
        # The bound: within a second. A machine under load gets more.
        with trio.fail_after(SECONDS):
            await served.hang.cleaned.wait()
            await served.app.drain(SECONDS)
        assert served.app.mux.open_calls == 0


async def test_many_clients_at_once(served: Served) -> None:
    results: list[float] = []

    async def one_client(number: int) -> None:
        async with connected(served.url) as client:
            for turn in range(5):
                result = await client.call_tool("add", {"a": number, "b": turn})
                results.append(result.structured_content["total"])

    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(one_client, number)
    assert sorted(results) == sorted(float(n + t) for n in range(8) for t in range(5))
    assert served.app.mux.open_calls == 0
