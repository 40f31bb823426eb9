"""Requests that our own server could get wrong where Hypercorn could not, or differently."""

from __future__ import annotations

import gc
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from genmcp.channel import Channel
from genmcp.providers import Tool
from genmcp.suite import Suite
from genmcp.transport.http1.request_reader import IncomingRequest
from genmcp.transport.serve import serve
from tests.e2e.raw_http import (
    GET,
    HANG_GUARD_SECONDS,
    Running,
    Streaming,
    connect,
    hello,
    read_all,
    read_status,
    read_until,
    running,
)
from tests.request_table.row import limit_data

UPGRADE = GET[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


@pytest.mark.parametrize("chunk", [b"none\r\n", b"1\nx\r\n", b"-1\r\n", b"1\r\nxy\r\n"])
async def test_a_bad_chunk_right_behind_its_head_is_refused_at_once(chunk: bytes) -> None:
    async with serving(SUITE) as server, await connect(server) as stream:
        head, _, _ = call("echo").partition(b"Content-Length")
        await stream.send_all(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk)
        # The client waits, and says nothing more.
        assert read_status(await read_all(stream)) == 400


async def test_a_body_that_stalls_is_told_by_the_setting_that_ended_it() -> None:
    async with serving(SUITE, read_timeout_seconds=0.1) as server, await connect(server) as stream:
        await stream.send_all(call("echo")[:-5])
        told = await read_all(stream)
    assert read_status(told) == 408
    error = json.loads(told.partition(b"\r\n\r\n")[2])["error"]
    assert (error["code"], error["data"]) == (-32600, limit_data("read_timeout_seconds", 0.1))


async def test_a_refusal_stays_one_when_the_body_stalls_that_it_waits_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Shorter than a refused body is read on for.
    async with serving(SUITE, read_timeout_seconds=0.1) as server, await connect(server) as stream:
        await stream.send_all(call("echo").replace(b"Host: localhost", b"Host: evil.test")[:-5])
        told = await read_all(stream)
    assert read_status(told) == 403
    assert "evil.test" in told.decode()
    assert "failed" not in caplog.text


async def test_a_head_that_stalls_is_told_by_the_setting_that_ended_it() -> None:
    async with serving(SUITE, read_timeout_seconds=0.1) as server, await connect(server) as stream:
        await stream.send_all(GET[:-2])
        told = await read_all(stream)
    assert read_status(told) == 408
    error = json.loads(told.partition(b"\r\n\r\n")[2])["error"]
    assert error["data"] == limit_data("read_timeout_seconds", 0.1)


async def test_an_unknown_verb_behind_a_request_is_refused_at_once() -> None:
    async with running(hello) as server, await connect(server) as stream:
        await stream.send_all(GET + b"BREW / HTTP/1.1\r\nHost: a\r\n\r\n")
        first, _, second = (await read_all(stream)).partition(b"hello")
        assert (read_status(first), read_status(second)) == (200, 405)


async def test_connect_is_refused_as_what_ends_the_connection() -> None:
    async with running(hello) as server, await connect(server) as stream:
        await stream.send_all(b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n" + GET)
        told = await read_all(stream)
    assert read_status(told) == 405
    assert b"\r\nconnection: close\r\n" in told
    assert b"CONNECT is not served" in told


async def test_a_thousand_offers_to_upgrade_in_a_row_are_each_answered() -> None:
    async with (
        running(hello) as server,
        await connect(server) as stream,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(stream.send_all, UPGRADE * 1000)
        received = b""
        while received.count(b"hello") < 1000:
            data = await stream.receive_some()
            assert data
            received += data


async def test_a_flood_of_pipelined_requests_lets_others_have_their_turn() -> None:
    answered = 0

    async def count(scope: Any, receive: Any, send: Any) -> None:
        nonlocal answered
        answered += 1
        await hello(scope, receive, send)

    async with (
        running(count) as server,
        await connect(server) as stream,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(stream.send_all, GET * 2000)
        nursery.start_soon(read_all, stream)
        before, most = 0, 0
        while answered < 2000:
            await trio.lowlevel.checkpoint()
            most = max(most, answered - before)
            before = answered
        nursery.cancel_scope.cancel()
    assert most <= 32


async def test_a_stream_that_goes_on_and_on_lets_others_have_their_turn() -> None:
    sent = 0

    async def chatter(scope: Any, receive: Any, send: Any) -> None:
        nonlocal sent
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while sent < 2000:
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
            sent += 1
        await send({"type": "http.response.body", "body": b"bye"})

    async with (
        running(chatter) as server,
        await connect(server) as stream,
        trio.open_nursery() as nursery,
    ):
        await stream.send_all(GET)
        nursery.start_soon(read_until, stream, b"bye")
        before, most = 0, 0
        while before < 2000:
            await trio.lowlevel.checkpoint()
            before, most = sent, max(most, sent - before)
    assert most <= 32


@pytest.mark.parametrize("last", [b"", b"POST / HTTP/1.1\r\nHost:\r\nContent-Length: 1\r\n\r\n"])
async def test_a_flood_of_pipelined_requests_is_kept_as_bytes_until_it_is_answered(
    last: bytes,
) -> None:
    flood = b"GET / HTTP/1.1\r\nHost:\r\n\r\n" * 5_000 + GET[:-2] + b"Connection: close\r\n\r\n"
    answered, most = 0, 0
    begun, go_on = trio.Event(), trio.Event()

    async def count(scope: Any, receive: Any, send: Any) -> None:
        nonlocal answered, most
        if answered % 500 == 2:
            most = max(most, sum(isinstance(one, IncomingRequest) for one in gc.get_objects()))
        elif not answered:
            # While this goes on, what comes behind it is read ahead.
            async with trio.open_nursery() as nursery:
                nursery.start_soon(receive)
                begun.set()
                await go_on.wait()
                nursery.cancel_scope.cancel()
        elif scope["method"] == "POST":
            await receive()
        answered += 1
        await hello(scope, receive, send)

    async with running(count) as server, await connect(server) as stream:
        await stream.send_all(GET)
        await begun.wait()
        await stream.send_all(last + (b"x" if last else b"") + flood)
        await trio.testing.wait_all_tasks_blocked()
        go_on.set()
        await read_all(stream)
    assert answered == 5_002 + bool(last)
    # There may be some from the test before.
    assert most < 1_500


async def test_http_1_0_that_is_kept_alive_is_told_so() -> None:
    async with running(hello) as server, await connect(server) as stream:
        for _ in range(2):
            await stream.send_all(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            received = b""
            while not received.endswith(b"hello"):
                data = await stream.receive_some()
                assert data
                received += data
            assert b"connection: keep-alive\r\n" in received


async def test_a_refused_body_that_was_not_sent_yet_is_not_asked_for() -> None:
    async with serving(SUITE) as server, await connect(server) as stream:
        await stream.send_all(
            b"POST /elsewhere HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
            b"Content-Length: 10\r\n\r\n"
        )
        assert read_status(await read_all(stream)) == 404


@pytest.mark.parametrize("leave", ["close", "reset"])
async def test_a_client_that_leaves_is_noticed_behind_more_than_is_read(leave: str) -> None:
    app = Streaming()
    async with running(app) as server:
        stream = await connect(server)
        await stream.send_all(GET)
        await app.started.wait()
        # More than is read ahead (five reads at most, of 64 KiB each), and with that no more
        # than the system takes besides, however small its buffer is: 128 KiB at first.
        await stream.send_all(GET * (340_000 // len(GET)))
        if leave == "reset":
            stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, bytes([1] + [0] * 7))
        await stream.aclose()
        await app.left.wait()
        assert app.told == "http.disconnect"


async def test_a_flood_behind_the_last_answer_ends_with_the_connection() -> None:
    async def flood(stream: trio.SocketStream) -> None:
        try:
            while True:
                await stream.send_all(bytes(100_000))
        except trio.BrokenResourceError:
            return

    async with running(hello) as server, await connect(server) as stream:
        await stream.send_all(GET[:-2] + b"Connection: close\r\n\r\n")
        await flood(stream)


class LeaveOpen(Tool[dict[str, Any]], name="leave-open", description="Forgets a nursery."):
    async def call(self, request: Any, channel: Channel) -> str:
        async def produce() -> AsyncGenerator[int]:
            async with trio.open_nursery():
                yield 1
                yield 2

        self._kept = produce()
        await self._kept.__anext__()
        return "done"


class Echo(Tool[dict[str, Any]], name="echo", description="Says it again."):
    async def call(self, request: Any, channel: Channel) -> str:
        return "echo"


class Close(Tool[dict[str, Any]], name="close", description="Closes its own call."):
    async def call(self, request: Any, channel: Channel) -> str:
        channel.close()
        await trio.sleep_forever()
        return "never"


class Slow(Tool[dict[str, Any]], name="slow", description="Takes a moment."):
    async def call(self, request: Any, channel: Channel) -> str:
        await trio.sleep(0.01)
        return "slow"


class Interrupt(Tool[dict[str, Any]], name="exit", description="Ends the process, it thinks."):
    async def call(self, request: Any, channel: Channel) -> str:
        await trio.sleep(0.01)
        raise SystemExit(3)


SUITE = Suite(
    server_name="test",
    server_version="1",
    tools=[LeaveOpen(), Echo(), Close(), Slow(), Interrupt()],
)


@asynccontextmanager
async def serving(suite: Suite, **options: Any) -> AsyncGenerator[Running]:
    stop, ended = trio.Event(), trio.Event()

    async def run(task_status: trio.TaskStatus[list[str]]) -> None:
        try:
            await serve(
                suite, port=0, secret_key="k" * 32, stop=stop, task_status=task_status, **options
            )
        finally:
            ended.set()

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            urls = await nursery.start(run)
            yield Running([url.removesuffix("/mcp") for url in urls], stop, ended)
            nursery.cancel_scope.cancel()


def call(name: str, **more: str) -> bytes:
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":{},'
        b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        b'"io.modelcontextprotocol/clientCapabilities":{}}}}' % name.encode()
    )
    return (
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\n"
        b"Mcp-Method: tools/call\r\nMcp-Name: %s\r\nContent-Length: %d\r\n\r\n%s"
        % (name.encode(), len(body), body)
    )


async def test_a_call_that_tears_its_task_apart_costs_no_other_call() -> None:
    async with serving(SUITE) as server:
        async with await connect(server) as stream:
            await stream.send_all(call("leave-open") + call("echo"))
            received = await read_all(stream)
            # One answer to one request: what followed it is for another connection.
            assert received.count(b"HTTP/1.1 200 OK") == received.count(b"HTTP/1.1 ") == 1
            assert b"error" not in received
        async with await connect(server) as stream:
            await stream.send_all(call("echo"))
            await read_until(stream, b'"echo"')


@pytest.mark.parametrize("name", ["close", "exit"])
async def test_what_follows_a_call_that_was_ended_is_answered(name: str) -> None:
    async with serving(SUITE) as server, await connect(server) as stream:
        await stream.send_all(call(name) + call("slow") + call("echo"))
        received = await read_until(stream, b'"echo"')
        assert received.count(b"HTTP/1.1 ") == 3
        assert received.index(b"-32603") < received.index(b'"slow"') < received.index(b'"echo"')


@pytest.mark.usefixtures("unhurried_answers")
async def test_a_client_that_half_closes_behind_several_calls_gets_all_their_answers() -> None:
    async with serving(SUITE) as server, await connect(server) as stream:
        await stream.send_all(call("slow") * 5 + call("echo"))
        await stream.send_eof()
        received = await read_all(stream)
    assert (received.count(b'"slow"'), received.count(b'"echo"')) == (5, 1)


async def test_a_body_in_a_hundred_thousand_chunks_is_read() -> None:
    async with serving(SUITE) as server, await connect(server) as stream:
        head, _, rest = call("echo").partition(b"Content-Length")
        body = rest.partition(b"\r\n\r\n")[2]
        padded = body[:-1] + b" " * (100_000 - len(body)) + body[-1:]
        chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in padded)
        await stream.send_all(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
        await stream.send_all(b"0\r\n\r\n")
        await read_until(stream, b'"echo"')


async def test_head_of_the_endpoint_is_refused_without_a_body() -> None:
    async with serving(SUITE) as server, await connect(server) as stream:
        await stream.send_all(b"HEAD /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        received = await read_all(stream)
        assert read_status(received) == 405
        assert received.endswith(b"\r\n\r\n")


async def test_a_client_that_sends_on_and_on_while_its_call_runs_is_read_no_further() -> None:
    app = Streaming()
    async with running(app) as server, await connect(server) as stream:
        await stream.send_all(GET)
        await app.started.wait()
        sent = 0
        with trio.move_on_after(1):
            while sent < 50_000_000:
                await stream.send_all(GET * 2000)
                sent += len(GET) * 2000
        assert sent < 50_000_000
        assert app.open == 1
