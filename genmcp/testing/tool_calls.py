"""Calling one tool in a test, the way a client's call would reach it.

Layer: testing. The arguments are checked and cast, results are checked against
the output schema, messages and disconnects go through the real mux; only HTTP is
left out. For that there is `genmcp.testing.Client`.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import trio

from genmcp.errors import InternalError, McpError, MissingRequiredClientCapability
from genmcp.events import Answered, Failed, Notified
from genmcp.mcp import v2607 as mcp
from genmcp.mux import Call, Mux
from genmcp.suite import Suite
from genmcp.testing.answering import MAX_ROUNDS, AnsweringClient, retry_params
from genmcp.testing.beside import run_beside
from genmcp.testing.fake_channel import read_logs, read_progress
from genmcp.testing.requests import fake_caller, fake_request
from genmcp.testing.sink import RecordingSink
from genmcp.wire.json_text import write_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from genmcp.caller import Caller
    from genmcp.providers.extension import ToolSource


def call_tool(
    tool: ToolSource,
    arguments: Mapping[str, Any] | None = None,
    client: Caller | AnsweringClient | None = None,
    /,
    **named_arguments: Any,
) -> mcp.CallToolResult:
    """Call `tool` and return its result. For a plain test: it runs trio itself.

    Arguments are JSON, as a client would send them: `call_tool(Add(), a=1, b=2)`,
    or a mapping where a name is not a Python one. `client` is who calls; an
    `AnsweringClient` also answers what the tool asks, in as many rounds as it takes.

    Raises:
        McpError: the answer is a JSON-RPC error.
        Exception: what the tool raised, where a client would see a masked error.
        AssertionError: the tool asks, and `client` does not answer.
        EncodeError: the arguments are not JSON; write dates and the like as text.
        RuntimeError: called inside a trio test; `await call_tool_async(...)` there.
    """
    if trio.lowlevel.in_trio_run():
        raise RuntimeError("call_tool runs trio itself; here, use: await call_tool_async(...)")

    async def run() -> mcp.CallToolResult:
        return await call_tool_async(tool, arguments, client, **named_arguments)

    return trio.run(run)


async def call_tool_async(
    tool: ToolSource,
    arguments: Mapping[str, Any] | None = None,
    client: Caller | AnsweringClient | None = None,
    /,
    **named_arguments: Any,
) -> mcp.CallToolResult:
    """Call `tool` inside a trio test. See `call_tool`.

    Cancellation: the call is cancelled as if its client had gone.
    """
    caller = client.caller() if isinstance(client, AnsweringClient) else client
    bench = _Bench(tool, caller)
    request = bench.request({**(arguments or {}), **named_arguments})
    keys = ""
    for _ in range(MAX_ROUNDS):
        try:
            async with bench.run(request) as stream:
                result = await stream.result()
        except MissingRequiredClientCapability as error:
            if client is None:
                error.add_note("A tool that asks is to be called with an AnsweringClient.")
            raise
        if isinstance(result, mcp.CallToolResult):
            return result
        assert isinstance(result, mcp.InputRequiredResult), f"a tool answered {result!r}"
        assert isinstance(client, AnsweringClient), (
            f"the tool asks for input; call it with an AnsweringClient: {result!r}"
        )
        keys = ", ".join(map(repr, result.input_requests or ()))
        params = retry_params(request.params, result, client.answer(result))
        request = attrs.evolve(request, params=params)
    raise AssertionError(
        f"the tool still asks after {MAX_ROUNDS} rounds, at last for {keys or 'another try'}; "
        "does it read its answers by the keys it asks under?"
    )


class _Bench:
    """A suite of one tool, with a mux that all rounds of a call share."""

    def __init__(self, tool: ToolSource, caller: Caller | None) -> None:
        suite = Suite(server_name="test", server_version="0", tools=[tool], send_server_info=False)
        [self._name] = suite.tool_names
        self._mux = Mux(suite)
        self._caller = fake_caller() if caller is None else caller

    def request(self, arguments: Mapping[str, Any]) -> mcp.CallToolRequest[Any]:
        write_json(dict(arguments))  # what no client could send is the test's mistake
        return fake_request(self._name, arguments, caller=self._caller)

    @asynccontextmanager
    async def run(self, request: mcp.CallToolRequest[Any]) -> AsyncGenerator[ToolStream]:
        sink = RecordingSink()
        stream = ToolStream(self._mux.open(request, self._caller, sink), sink)
        async with run_beside(stream.run, stream.leave):
            yield stream


@attrs.define(eq=False)
class ToolStream:
    """A tool call that is running. Made by `stream_tool`."""

    _call: Call
    _sink: RecordingSink
    _ended: trio.Event = attrs.field(factory=trio.Event)

    async def run(self) -> None:
        """Run the call to its end. `stream_tool` does this."""
        await self._call.run()
        self._ended.set()

    def leave(self) -> None:
        """Let the client go away, without waiting."""
        self._call.client_gone()

    @property
    def sent(self) -> list[mcp.ServerNotification]:
        """The notifications sent so far, in order."""
        return self._sink.notifications

    @property
    def progress(self) -> list[tuple[float, float | None, str | None]]:
        """The progress sent so far, as `(progress, total, message)`."""
        return read_progress(self.sent)

    @property
    def logs(self) -> list[tuple[str, Any]]:
        """The log records sent so far, as `(level, data)`."""
        return read_logs(self.sent)

    @property
    def ended(self) -> bool:
        """Whether the call and all its clean-ups are over."""
        return self._ended.is_set()

    def stop_reading(self) -> None:
        """Let the client read no further: what the tool sends from here on waits."""
        self._sink.gate = trio.Event()

    def read_on(self) -> None:
        """Let the client read again."""
        if self._sink.gate is not None:
            self._sink.gate.set()

    def post(self, message: object) -> bool:
        """Post `message` to the call, as `Channel.post` does."""
        if self._call.over:
            return False
        self._call.mailbox.post(message)
        return True

    async def next_notification(self) -> mcp.ServerNotification:
        """Wait for the next notification that was not taken yet.

        Raises:
            AssertionError: the call ended instead.
        """
        while True:
            event = await self._sink.next_event()
            if isinstance(event, Notified):
                return event.notification
            assert not isinstance(event, Answered | Failed), f"the call ended with {event!r}"

    async def disconnect(self) -> None:
        """Let the client go away, and wait until the call has cleaned up."""
        self.leave()
        await self._ended.wait()

    async def result(self) -> mcp.Result:
        """Wait for the call's result.

        Raises:
            McpError: the answer is a JSON-RPC error.
            Exception: what the tool raised, where a client would see a masked error.
            AssertionError: the call ended without an answer.
        """
        await self._ended.wait()
        endings = self._sink.endings
        assert endings, "the call ended without an answer: its client had gone"
        match endings[0]:
            case Answered(result):
                return result
            case Failed(error):
                raise _unmask(error)


@asynccontextmanager
async def stream_tool(
    tool: ToolSource,
    arguments: Mapping[str, Any] | None = None,
    caller: Caller | None = None,
    /,
    **named_arguments: Any,
) -> AsyncGenerator[ToolStream]:
    """Run a call of `tool` beside the test's own code.

        async with stream_tool(Watch(), path="/tmp") as stream:
            stream.post("changed")
            await stream.next_notification()
            await stream.disconnect()

    Leaving the block disconnects a call that still runs, and waits for it.
    """
    bench = _Bench(tool, caller)
    async with bench.run(bench.request({**(arguments or {}), **named_arguments})) as stream:
        yield stream


def _unmask(error: McpError) -> BaseException:
    """Return the exception behind a masked error, so that a test shows it."""
    masked = isinstance(error, InternalError) and error.__cause__ is not None
    return error.__cause__ or error if masked else error
