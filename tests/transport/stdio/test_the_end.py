"""Every way a connection ends, and what becomes of its calls."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import memory_stream_one_way_pair, wait_all_tasks_blocked

from genmcp import serve_stdio
from genmcp.transport.stdio.line_inbound import LineInbound
from tests.transport.stdio.peer import connected, request
from tests.transport.stdio.served import Journal, make_suite


def call(request_id: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    return request(request_id, name=tool, arguments=arguments, meta={"progressToken": "p"})


async def test_end_of_input_cancels_everything_without_a_word(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal)) as peer:
        listen = request(3, "subscriptions/listen", notifications={"toolsListChanged": True})
        await peer.send(call(1, "wait", name="a"), call(2, "wait", name="b"), listen)
        await peer.receive()
        before = trio.current_time()
        assert await peer.end() == []
        assert trio.current_time() - before < 1
    assert sorted(journal.cleaned) == ["a", "b"]


async def test_end_of_input_right_after_requests_leaves_time_for_quick_answers(
    autojump_clock: Any,
) -> None:
    async with connected(make_suite()) as peer:
        await peer.send(*(call(n, "echo", text="x") for n in range(20)))
        assert sorted(m["id"] for m in await peer.end()) == list(range(20))


async def test_last_line_without_an_end_is_no_message(autojump_clock: Any) -> None:
    async with connected(make_suite()) as peer:
        await peer.send(b'{"jsonrpc":"2.0","id":1,"method":"server/discover"')
        assert await peer.end() == []


async def test_clean_ups_have_the_grace_time_and_no_more(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal), grace_seconds=2, cleanup_seconds=60) as peer:
        await peer.send(call(1, "stubborn"))
        await wait_all_tasks_blocked()
        before = trio.current_time()
        assert await peer.end() == []
        assert 1 < trio.current_time() - before < 4
    assert journal.cleaned == ["stubborn"]


async def test_output_that_nobody_reads_any_more_ends_it(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal)) as peer:
        await peer.send(call(1, "wait"))
        await wait_all_tasks_blocked()
        await peer.stdout.aclose()
        await peer.send(call(2, "echo", text="x"))
        await peer.ended.wait()
    assert journal.cleaned == ["wait"]


async def test_input_that_breaks_ends_it(autojump_clock: Any) -> None:
    class Broken(trio.abc.ReceiveStream):
        async def receive_some(self, max_bytes: int | None = None) -> bytes:
            await trio.sleep(1)
            raise trio.BrokenResourceError("torn")

        async def aclose(self) -> None:
            raise AssertionError("not its stream to close")

    stdout, _ = memory_stream_one_way_pair()
    await serve_stdio(make_suite(), stdin=Broken(), stdout=stdout)


async def test_calls_clean_up_when_a_stream_has_a_fault(autojump_clock: Any) -> None:
    class Faulty(trio.abc.ReceiveStream):
        def __init__(self) -> None:
            self.lines = [json.dumps(call(1, "wait")).encode() + b"\n"]

        async def receive_some(self, max_bytes: int | None = None) -> bytes:
            await trio.sleep(1)
            return self.lines.pop()  # fails the second time

        async def aclose(self) -> None:
            raise AssertionError("not its stream to close")

    journal = Journal()
    stdout, _ = memory_stream_one_way_pair()
    with pytest.raises(ExceptionGroup) as failed:
        await serve_stdio(make_suite(journal), stdin=Faulty(), stdout=stdout)
    assert failed.group_contains(IndexError)
    assert journal.cleaned == ["wait"]


async def test_cancelled_host_cancels_the_calls_and_waits_for_them(autojump_clock: Any) -> None:
    journal = Journal()
    to_server, stdin = memory_stream_one_way_pair()
    stdout, _ = memory_stream_one_way_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(serve_stdio, make_suite(journal), stdin=stdin, stdout=stdout))
        await to_server.send_all(json.dumps(call(1, "wait")).encode() + b"\n")
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert journal.cleaned == ["wait"]


# -- told to stop ------------------------------------------------------------------


async def test_stopped_it_lets_calls_finish(autojump_clock: Any) -> None:
    journal, stop = Journal(), trio.Event()
    async with connected(make_suite(journal), stop=stop, grace_seconds=60) as peer:
        await peer.send(call(1, "wait"))
        await wait_all_tasks_blocked()
        stop.set()
        await trio.sleep(5)
        journal.release.set()
        progress, answer = await peer.receive_rest()
    assert progress["method"] == "notifications/progress"
    assert answer["result"]["content"][0]["text"] == "wait"


async def test_stopped_it_tells_the_calls_that_do_not_finish(autojump_clock: Any) -> None:
    journal, stop = Journal(), trio.Event()
    async with connected(make_suite(journal), stop=stop) as peer:
        await peer.send(call(1, "wait"))
        await wait_all_tasks_blocked()
        before = trio.current_time()
        stop.set()
        [answer] = await peer.receive_rest()
        assert trio.current_time() - before < 5
    assert answer["error"] == {"code": -32603, "message": "The server is shutting down"}
    assert journal.cleaned == ["wait"]


@pytest.mark.parametrize("reads", [True, False])
async def test_host_that_is_cancelled_while_it_stops_does_not_wait(
    autojump_clock: Any, *, reads: bool
) -> None:
    journal, stop = Journal(), trio.Event()
    with trio.CancelScope() as host:
        async with connected(
            make_suite(journal), stop=stop, grace_seconds=3600, lockstep=not reads
        ) as peer:
            await peer.send(call(1, "wait"))
            await wait_all_tasks_blocked()
            before = trio.current_time()
            stop.set()
            await trio.sleep(5)
            host.cancel()
    assert trio.current_time() - before < 60
    assert journal.cleaned == ["wait"]


async def test_stopped_it_does_not_wait_for_a_client_that_does_not_read(
    autojump_clock: Any,
) -> None:
    journal, stop = Journal(), trio.Event()
    async with connected(make_suite(journal), stop=stop, lockstep=True) as peer:
        await peer.send(call(1, "chatter"), call(2, "echo", text="x"), call(3, "wait"))
        await wait_all_tasks_blocked()
        before = trio.current_time()
        stop.set()
        await peer.ended.wait()
        assert trio.current_time() - before < 10


# -- faults of our own -------------------------------------------------------------


async def test_fault_of_the_server_is_answered_and_survived(
    autojump_clock: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    read = LineInbound.read_line

    def fail_once(self: LineInbound, line: Any) -> Any:
        monkeypatch.setattr(LineInbound, "read_line", read)
        raise RuntimeError("a bug")

    async with connected(make_suite()) as peer:
        monkeypatch.setattr(LineInbound, "read_line", fail_once)
        await peer.send(call(1, "echo", text="x"), call(2, "echo", text="x"))
        messages = [await peer.receive(), await peer.receive()]
    [crashed] = [m for m in messages if "error" in m]
    assert crashed["error"]["code"] == -32603
    assert [m["id"] for m in messages if "result" in m] == [2]
    assert crashed["error"]["data"]["errorId"] in caplog.text
