"""The mux: many calls, one shutdown, nothing left behind."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from genmcp.channel import Channel
from genmcp.events import Answered, Event, Failed
from genmcp.limits import Limits
from genmcp.mcp import v2607 as mcp
from genmcp.mux import Call, Mux
from genmcp.outcome import Stream
from genmcp.testing.sink import RecordingSink
from tests.mux.servers import DONE, HandlerServer, caller, open_call, request


async def test_crash_of_one_call_touches_no_other(nursery: trio.Nursery) -> None:
    go = trio.Event()

    async def handle(channel: Channel) -> Any:
        if channel.request_id == "bad":
            raise RuntimeError("boom")
        await go.wait()
        return DONE

    server = HandlerServer(handle)
    mux = Mux(server)
    good, good_sink, _ = open_call(server, mux=mux, request_id="good")
    bad, bad_sink, _ = open_call(server, mux=mux, request_id="bad")
    nursery.start_soon(good.run)
    nursery.start_soon(bad.run)
    await wait_all_tasks_blocked()
    assert isinstance(bad_sink.endings[0], Failed)
    assert mux.open_calls == 1
    go.set()
    await wait_all_tasks_blocked()
    assert good_sink.events == [Answered(DONE)]


async def test_drain_lets_a_call_finish(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    async def handle(channel: Channel) -> Any:
        await trio.sleep(3)
        return DONE

    call, sink, mux = open_call(HandlerServer(handle))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    await mux.drain(10)
    assert sink.events == [Answered(DONE)]
    assert mux.draining


async def test_drain_tells_a_call_that_cannot_finish(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    cleaned: list[bool] = []

    async def handle(channel: Channel) -> Any:
        try:
            await trio.sleep_forever()
        finally:
            await trio.sleep(1)
            cleaned.append(True)

    call, sink, mux = open_call(HandlerServer(handle))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    started = trio.current_time()
    await mux.drain(10)
    assert trio.current_time() - started <= 10
    [event] = sink.events
    assert isinstance(event, Failed)
    assert "shutting down" in event.error.message
    assert cleaned == [True]
    assert mux.open_calls == 0


async def test_drain_cuts_off_what_does_not_end_in_time(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    async def handle(channel: Channel) -> Any:
        while True:
            try:
                await trio.sleep_forever()
            finally:
                await trio.sleep_forever()

    server = HandlerServer(handle)
    call, _, mux = open_call(server, mux=Mux(server, limits=Limits(cleanup_seconds=1_000)))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    started = trio.current_time()
    await mux.drain(4)
    await wait_all_tasks_blocked()
    assert mux.open_calls == 0
    assert trio.current_time() - started == pytest.approx(4)


@pytest.mark.parametrize(("seconds", "open_calls"), [(60, 1), (2, 0), (0, 0), (-1, 0)])
async def test_drain_that_is_cancelled_cuts_off_what_is_left_if_its_time_is_over(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery, seconds: float, open_calls: int
) -> None:
    async def handle(channel: Channel) -> Any:
        channel.start_soon(clean_up_for_ever)
        await trio.sleep_forever()

    async def clean_up_for_ever() -> None:
        try:
            await trio.sleep_forever()
        finally:
            await trio.sleep_forever()

    server = HandlerServer(handle)
    call, _, mux = open_call(server, mux=Mux(server, limits=Limits(cleanup_seconds=1_000)))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    try:
        # At the moment its own time is over at the latest, as on a machine that is busy.
        with trio.move_on_after(max(0, min(seconds, 2))) as scope:
            await mux.drain(seconds)
        assert scope.cancelled_caught
        await wait_all_tasks_blocked()
        assert mux.open_calls == open_calls
    finally:
        mux.abort()


async def test_drain_does_not_wait_for_a_client_that_does_not_read(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    async def handle(channel: Channel) -> Any:
        await channel.send_progress(1)

    call, sink, mux = open_call(HandlerServer(handle))
    sink.gate = trio.Event()
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    started = trio.current_time()
    await mux.drain(10)
    assert mux.open_calls == 0
    assert trio.current_time() - started <= 10
    assert sink.events == []


async def test_drain_loses_no_ending_where_a_round_of_the_loop_takes_longer_than_clients_get(
    mock_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """As when thousands of calls are ended at once, on a machine that has other work."""

    class Encrypting(RecordingSink):
        async def write(self, event: Event) -> None:
            await trio.lowlevel.checkpoint()
            await super().write(event)

    mux = Mux(Listening(answer_with_stream))
    sinks = [Encrypting() for _ in range(3)]
    for number, sink in enumerate(sinks):
        nursery.start_soon(mux.open(request(), caller(request_id=number), sink).run)
    await wait_all_tasks_blocked()

    async def hold_up() -> None:
        while True:
            mock_clock.jump(2)
            await trio.lowlevel.checkpoint()

    nursery.start_soon(hold_up)
    await mux.drain(60)
    nursery.cancel_scope.cancel()
    assert [sink.endings for sink in sinks] == [[Answered(mcp.EmptyResult())]] * 3


async def test_cancelling_the_host_lets_calls_clean_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """What a transport does: its watcher turns the host's cancellation into client_gone."""
    cleaned: list[bool] = []

    async def handle(channel: Channel) -> Any:
        try:
            await trio.sleep_forever()
        finally:
            await trio.sleep(1)
            cleaned.append(True)

    async def watch(call: Call) -> None:
        try:
            await trio.sleep_forever()
        finally:
            call.client_gone()

    call, _, mux = open_call(HandlerServer(handle))
    with trio.move_on_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch, call)
            await call.run()
    assert cleaned == [True]
    assert mux.open_calls == 0


async def test_ten_thousand_calls_leave_nothing_behind() -> None:
    async def handle(channel: Channel) -> Any:
        match int(channel.request_id) % 4:
            case 0:
                return DONE
            case 1:
                await channel.send_progress(1)
                return DONE
            case 2:
                raise LookupError("crash")
            case _:
                channel.post("go")
                return Stream(None)

    async def on_message(message: object, channel: Channel, state: Any) -> Any:
        return DONE

    server = HandlerServer(handle, on_message=on_message)
    mux = Mux(server)
    tasks_before = trio.lowlevel.current_statistics().tasks_living
    calls: list[weakref.ref[Call]] = []
    for number in range(10_000):
        call, sink, _ = open_call(server, mux=mux, request_id=number)
        if number % 100 == 0:
            calls.append(weakref.ref(call))
        await call.run()
        assert len(sink.endings) == 1
        del call, sink
    gc.collect()
    assert mux.open_calls == 0
    assert trio.lowlevel.current_statistics().tasks_living == tasks_before
    assert [ref for ref in calls if ref() is not None] == []


async def test_faults_of_notification_handlers_stay_inside(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Faulty(HandlerServer):
        async def handle_notification(self, notification: mcp.ClientNotification) -> None:
            raise KeyError("boom")

    async def handle(channel: Channel) -> Any:
        return DONE

    await Mux(Faulty(handle)).notify(mcp.UnknownNotification(method="notifications/x", params={}))
    assert "notifications/x" in caplog.text


@pytest.mark.parametrize("limit", ["cleanup_seconds", "max_queued_messages", "max_threads"])
def test_limits_must_be_positive(limit: str) -> None:
    limits: dict[str, Any] = {limit: 0}
    with pytest.raises(ValueError, match=limit):
        Limits(**limits)


async def answer_with_stream(channel: Channel) -> Any:
    return Stream(None)


class Listening(HandlerServer):
    """Has a result for the calls it ends itself."""

    def closing_result(self, request: mcp.Request, channel: Channel) -> mcp.Result | None:
        return mcp.EmptyResult()


async def test_drain_ends_calls_with_a_closing_result_at_once(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    async def handle(channel: Channel) -> Any:
        return Stream(None)

    call, sink, mux = open_call(Listening(handle))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    started = trio.current_time()
    await mux.drain(30)
    assert sink.events == [Answered(mcp.EmptyResult())]
    assert trio.current_time() == started


async def test_closing_the_channel_gives_the_closing_result() -> None:
    async def handle(channel: Channel) -> Any:
        channel.close()
        await trio.sleep_forever()

    call, sink, _ = open_call(Listening(handle))
    await call.run()
    assert sink.events == [Answered(mcp.EmptyResult())]


async def test_post_soon_works_from_any_thread_and_never_raises(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    channels: list[Channel] = []
    seen: list[object] = []
    go = trio.Event()

    async def handle(channel: Channel) -> Any:
        channels.append(channel)
        await go.wait()
        return Stream(None)

    async def on_message(message: object, channel: Channel, state: Any) -> Any:
        seen.append(message)
        return DONE if message == "b" else Stream(None)

    server = HandlerServer(handle, on_message=on_message)
    call, _, _ = open_call(server, mux=Mux(server, limits=Limits(max_queued_messages=2)))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    await trio.to_thread.run_sync(channels[0].post_soon, "a")
    channels[0].post_soon("b")
    channels[0].post_soon("too many")
    await wait_all_tasks_blocked()
    go.set()
    await wait_all_tasks_blocked()
    assert seen == ["a", "b"]
    assert "a message is dropped" in caplog.text
    channels[0].post_soon("late")


class Faulty(HandlerServer):
    """Has a closing result that fails."""

    def closing_result(self, request: mcp.Request, channel: Channel) -> mcp.Result | None:
        raise LookupError("broken")


async def test_closing_result_that_fails_holds_nothing_up(
    autojump_clock: trio.testing.MockClock,
    nursery: trio.Nursery,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handle(channel: Channel) -> Any:
        return Stream(None)

    call, sink, mux = open_call(Faulty(handle))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    await mux.drain(10)
    [event] = sink.events
    assert isinstance(event, Failed)
    assert "shutting down" in event.error.message
    assert mux.open_calls == 0
    assert "broken" in caplog.text


async def test_drain_cuts_an_endless_handle_close_off(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    async def handle(channel: Channel) -> Any:
        return Stream(None)

    async def on_close(channel: Channel, state: Any) -> None:
        await trio.sleep_forever()

    server = HandlerServer(handle, on_close=on_close)
    call, _, mux = open_call(server, mux=Mux(server, limits=Limits(cleanup_seconds=1_000)))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    assert mux.describe_open_calls() == ["tools/call 'any' (request 1)"]
    started = trio.current_time()
    await mux.drain(4)
    await wait_all_tasks_blocked()
    assert mux.open_calls == 0
    assert mux.describe_open_calls() == []
    assert trio.current_time() - started == pytest.approx(4)
