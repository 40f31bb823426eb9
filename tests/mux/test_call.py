"""One call: scope, ending, clean-up. The races are forced, not hoped for."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from genmcp.channel import Channel
from genmcp.errors import InvalidParams, MailboxFull
from genmcp.events import Answered, EncodeError, Event, Failed, KeptAlive, Notified, Opened, Sink
from genmcp.limits import Limits
from genmcp.mcp import v2607 as mcp
from genmcp.mux import Mux
from genmcp.outcome import Error, Stream
from genmcp.wire.messages import write_notification
from tests.mux.servers import DONE, HandlerServer, caller, open_call, request

# -- endings ------------------------------------------------------------------------


async def test_result_is_the_only_event_of_a_call_that_just_returns() -> None:
    async def handle(channel: Channel) -> Any:
        return DONE

    call, sink, mux = open_call(HandlerServer(handle))
    await call.run()
    assert sink.events == [Answered(DONE)]
    assert mux.open_calls == 0


async def test_raised_mcp_error_goes_out_as_it_is() -> None:
    error = InvalidParams("no such thing", data={"uri": "x:y"})

    async def handle(channel: Channel) -> Any:
        raise error

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    assert sink.events == [Failed(error)]


async def test_mcp_error_out_of_the_authors_nursery_is_unwrapped() -> None:
    error = InvalidParams("inner")

    async def fail() -> None:
        raise error

    async def handle(channel: Channel) -> Any:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    assert sink.events == [Failed(error)]


@pytest.mark.parametrize(
    "crash", [KeyError("secret"), SystemExit(3), ExceptionGroup("g", [ValueError("secret")])]
)
async def test_crash_is_masked_under_an_error_id_that_the_log_has(
    crash: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(channel: Channel) -> Any:
        raise crash

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    [event] = sink.events
    assert isinstance(event, Failed)
    assert event.error.code == mcp.INTERNAL_ERROR
    assert "secret" not in str(event.error) + repr(event.error.data)
    assert event.error.data["errorId"] in caplog.text
    assert caplog.records[-1].exc_info is not None


async def test_error_outcome_is_a_failure() -> None:
    async def handle(channel: Channel) -> Any:
        return Error("out of paper")

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    [event] = sink.events
    assert isinstance(event, Failed)
    assert (event.error.code, event.error.message) == (mcp.INTERNAL_ERROR, "out of paper")


@pytest.mark.parametrize("value", [None, 5, {"content": []}, ("result", DONE)])
async def test_wrong_return_is_named_in_the_log_and_masked(
    value: object, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(channel: Channel) -> Any:
        return value

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    [event] = sink.events
    assert isinstance(event, Failed)
    assert event.error.message == "Internal server error"
    assert f"HandlerServer.handle_request returned {value!r}" in caplog.text


async def test_result_that_is_not_json_is_the_servers_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handle(channel: Channel) -> Any:
        return mcp.CallToolResult(content=[], structured_content={"n": float("nan")})

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    [event] = sink.events
    assert isinstance(event, Failed)
    assert event.error.message == "Internal server error"
    assert "'any'" in caplog.text


# -- sending ------------------------------------------------------------------------


async def test_progress_arrives_before_the_result() -> None:
    async def handle(channel: Channel) -> Any:
        assert await channel.send_progress(1, total=2, message="half")
        return DONE

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    note, ending = sink.events
    assert isinstance(note, Notified)
    assert note.notification == mcp.ProgressNotification(
        params=mcp.ProgressNotificationParams(
            progress_token="token", progress=1, total=2, message="half"
        )
    )
    assert ending == Answered(DONE)


async def test_progress_in_a_subclass_of_float_is_its_plain_value() -> None:
    class Half(float):
        pass

    async def handle(channel: Channel) -> Any:
        assert await channel.send_progress(Half(0.5), total=Half(1))
        return DONE

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    (note,) = sink.notifications
    assert [type(note.params.progress), type(note.params.total)] == [float, float]
    # Whatever else the vocabulary lets through, the writer takes only what JSON has.
    assert b'"progress":0.5,"total":1.0' in write_notification(note)


async def test_progress_that_does_not_increase_is_dropped() -> None:
    async def handle(channel: Channel) -> Any:
        sent = [await channel.send_progress(p) for p in (0, 0, 2, 1.5, 2, 2.5)]
        assert sent == [True, False, True, False, False, True]
        return DONE

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    assert sink.endings == [Answered(DONE)]
    assert [n.params.progress for n in sink.notifications] == [0, 2, 2.5]


@pytest.mark.parametrize("token", [0, "", 7, "x"])
async def test_every_token_is_a_token(token: int | str) -> None:
    async def handle(channel: Channel) -> Any:
        assert await channel.send_progress(1)
        return DONE

    call, sink, _ = open_call(HandlerServer(handle), progress_token=token)
    await call.run()
    [note] = sink.notifications
    assert isinstance(note, mcp.ProgressNotification)
    assert note.params.progress_token == token
    assert type(note.params.progress_token) is type(token)


async def test_without_a_token_there_is_no_progress() -> None:
    async def handle(channel: Channel) -> Any:
        assert not await channel.send_progress(1)
        return DONE

    call, sink, _ = open_call(HandlerServer(handle), progress_token=None)
    await call.run()
    assert sink.events == [Answered(DONE)]


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        (None, []),
        ("debug", ["debug", "notice", "error", "emergency"]),
        ("notice", ["notice", "error", "emergency"]),
        ("critical", ["emergency"]),
    ],
)
async def test_logs_go_out_from_the_level_asked_for(
    wanted: mcp.LoggingLevel | None, sent: list[str]
) -> None:
    levels: list[mcp.LoggingLevel] = ["debug", "notice", "error", "emergency"]

    async def handle(channel: Channel) -> Any:
        for level in levels:
            assert await channel.send_log(level, None) == (level in sent)
        return DONE

    call, sink, _ = open_call(HandlerServer(handle), log_level=wanted)
    await call.run()
    assert sink.endings == [Answered(DONE)]
    assert [n.params.level for n in sink.notifications] == sent


async def test_raw_notifications_obey_the_same_rules() -> None:
    async def handle(channel: Channel) -> Any:
        log = mcp.LoggingMessageNotification(
            params=mcp.LoggingMessageNotificationParams(level="info", data="x")
        )
        assert not await channel.send_notification(log)
        with pytest.raises(TypeError, match="may be sent"):
            await channel.send_notification(mcp.ToolListChangedNotification())
        foreign = mcp.ProgressNotification(
            params=mcp.ProgressNotificationParams(progress_token="other", progress=1)
        )
        assert await channel.send_notification(foreign)
        return DONE

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    [note] = sink.notifications
    assert isinstance(note, mcp.ProgressNotification)
    assert note.params.progress_token == "token"


async def test_bad_values_to_send_are_the_authors_error() -> None:
    async def handle(channel: Channel) -> Any:
        with pytest.raises(ValueError, match="finite"):
            await channel.send_progress(float("nan"))
        with pytest.raises(TypeError, match="progress must be"):
            await channel.send_progress(True)
        with pytest.raises(ValueError, match="level must be one of"):
            await channel.send_log("loud", 1)  # type: ignore[arg-type]
        with pytest.raises(EncodeError):
            await channel.send_log("error", object())
        return DONE

    call, sink, _ = open_call(HandlerServer(handle), log_level="debug")
    await call.run()
    assert sink.events == [Answered(DONE)]


async def test_start_stream_opens_before_anything_is_said() -> None:
    async def handle(channel: Channel) -> Any:
        assert await channel.start_stream()
        return DONE

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    assert sink.events == [Opened(), Answered(DONE)]


async def test_sends_wait_for_a_client_that_does_not_read(nursery: trio.Nursery) -> None:
    sent: list[int] = []

    async def handle(channel: Channel) -> Any:
        for step in range(3):
            await channel.send_progress(step)
            sent.append(step)
        return DONE

    call, sink, _ = open_call(HandlerServer(handle))
    sink.gate = trio.Event()
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    assert sent == []
    sink.gate.set()
    await wait_all_tasks_blocked()
    assert sent == [0, 1, 2]
    assert sink.endings == [Answered(DONE)]


# -- the client goes away -----------------------------------------------------------


async def test_client_gone_cancels_and_cleanup_may_await(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    cleaned: list[str] = []

    async def handle(channel: Channel) -> Any:
        try:
            await trio.sleep_forever()
        finally:
            await trio.sleep(2)
            assert channel.closed
            assert not await channel.send_progress(1)
            cleaned.append("done")

    call, sink, mux = open_call(HandlerServer(handle))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    call.client_gone()
    call.client_gone()
    assert mux.open_calls == 1
    await mux.drain(10)
    assert cleaned == ["done"]
    assert sink.events == []
    assert mux.open_calls == 0


async def test_cleanup_is_limited_in_time(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    reached: list[float] = []

    async def handle(channel: Channel) -> Any:
        try:
            await trio.sleep_forever()
        finally:
            reached.append(trio.current_time())
            await trio.sleep(1_000)
            reached.append(-1)

    call, _, mux = open_call(HandlerServer(handle))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    gone_at = trio.current_time()
    call.client_gone()
    with trio.fail_after(60):
        await mux.drain(60)
    assert reached == [gone_at]
    assert trio.current_time() - gone_at == pytest.approx(mux.limits.cleanup_seconds)


async def test_swallowing_the_cancellation_only_gains_the_cleanup_time(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    async def handle(channel: Channel) -> Any:
        for _ in range(3):
            with contextlib.suppress(trio.Cancelled):
                await trio.sleep_forever()
        return DONE

    call, sink, mux = open_call(HandlerServer(handle))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    gone_at = trio.current_time()
    call.client_gone()
    with trio.fail_after(60):
        await mux.drain(60)
    assert sink.events == []
    assert trio.current_time() - gone_at == pytest.approx(mux.limits.cleanup_seconds)


async def test_authors_own_timeouts_work_inside_a_call(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def handle(channel: Channel) -> Any:
        with trio.move_on_after(1) as scope:
            await trio.sleep(5)
        assert scope.cancelled_caught
        with pytest.raises(trio.TooSlowError), trio.fail_after(1):
            await trio.sleep(5)
        return DONE

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    assert sink.events == [Answered(DONE)]


async def test_gone_before_it_runs_means_the_handler_stops_at_once() -> None:
    steps: list[int] = []

    async def handle(channel: Channel) -> Any:
        steps.append(1)
        await trio.lowlevel.checkpoint()
        steps.append(2)
        return DONE

    call, sink, _ = open_call(HandlerServer(handle))
    call.client_gone()
    await call.run()
    assert steps == [1]
    assert sink.events == []


async def test_broken_connection_ends_the_call(nursery: trio.Nursery) -> None:
    answers: list[bool] = []

    async def handle(channel: Channel) -> Any:
        try:
            answers.append(await channel.send_progress(1))
            await trio.sleep_forever()
        finally:
            answers.append(channel.closed)

    call, sink, _ = open_call(HandlerServer(handle))
    sink.break_connection()
    await call.run()
    assert answers == [False, True]
    assert sink.events == []


async def test_stalled_write_does_not_outlive_the_client(nursery: trio.Nursery) -> None:
    async def handle(channel: Channel) -> Any:
        await channel.send_progress(1)
        return DONE

    call, sink, mux = open_call(HandlerServer(handle))
    sink.gate = trio.Event()
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    call.client_gone()
    await wait_all_tasks_blocked()
    assert mux.open_calls == 0
    assert sink.events == []


async def test_crash_while_cleaning_up_is_logged_and_not_sent(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(channel: Channel) -> Any:
        try:
            await trio.sleep_forever()
        finally:
            raise RuntimeError("cleanup broke")

    call, sink, mux = open_call(HandlerServer(handle))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    call.client_gone()
    await wait_all_tasks_blocked()
    assert sink.events == []
    assert mux.open_calls == 0
    assert "cleanup broke" in caplog.text


# -- exactly one ending -------------------------------------------------------------


@pytest.mark.parametrize("first", ["gone", "stop", "close"])
async def test_one_ending_when_the_result_races(first: str, nursery: trio.Nursery) -> None:
    """The result is ready while a write is stalled; then something else ends the call."""
    channels: list[Channel] = []

    async def child(channel: Channel) -> None:
        await channel.send_progress(1)

    async def handle(channel: Channel) -> Any:
        channels.append(channel)
        channel.start_soon(child, channel)
        await wait_all_tasks_blocked()
        return DONE

    call, sink, mux = open_call(HandlerServer(handle))
    sink.gate = trio.Event()
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    match first:
        case "gone":
            call.client_gone()
        case "stop":
            nursery.start_soon(call.stop, InvalidParams("stopped"))
        case _:
            channels[0].close()
    sink.gate.set()
    await mux.drain(5)
    assert len(sink.endings) <= 1
    assert (first == "gone") == (sink.endings == [])
    assert mux.open_calls == 0


async def test_ending_waits_for_a_write_under_way_and_is_last(nursery: trio.Nursery) -> None:
    async def child(channel: Channel) -> None:
        for step in range(100):
            await channel.send_progress(step)

    async def handle(channel: Channel) -> Any:
        channel.start_soon(child, channel)
        await wait_all_tasks_blocked()
        return DONE

    call, sink, _ = open_call(HandlerServer(handle))
    sink.gate = gate = trio.Event()
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    gate.set()
    await wait_all_tasks_blocked()
    assert sink.events[-1] == Answered(DONE)
    assert len(sink.endings) == 1


async def test_close_gives_the_client_an_error_and_runs_cleanups() -> None:
    cleaned: list[bool] = []

    async def handle(channel: Channel) -> Any:
        channel.close()
        channel.close()
        try:
            await trio.sleep_forever()
        finally:
            await trio.lowlevel.checkpoint()
            cleaned.append(True)

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    [event] = sink.events
    assert isinstance(event, Failed)
    assert "closed this call" in event.error.message
    assert cleaned == [True]


async def test_keep_alive_after_the_ending_writes_nothing() -> None:
    async def handle(channel: Channel) -> Any:
        return DONE

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    await call.keep_alive()
    assert sink.events == [Answered(DONE)]


async def test_keep_alive_is_written_while_the_call_runs(nursery: trio.Nursery) -> None:
    go = trio.Event()

    async def handle(channel: Channel) -> Any:
        await go.wait()
        return DONE

    call, sink, _ = open_call(HandlerServer(handle))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    await call.keep_alive()
    go.set()
    await wait_all_tasks_blocked()
    assert sink.events == [KeptAlive(), Answered(DONE)]


# -- children -----------------------------------------------------------------------


async def test_children_are_cancelled_when_the_call_ends() -> None:
    ended: list[str] = []

    async def child() -> None:
        try:
            await trio.sleep_forever()
        finally:
            await trio.lowlevel.checkpoint()
            ended.append("child")

    async def handle(channel: Channel) -> Any:
        channel.start_soon(child)
        await wait_all_tasks_blocked()
        return DONE

    call, sink, mux = open_call(HandlerServer(handle))
    await call.run()
    assert ended == ["child"]
    assert sink.events == [Answered(DONE)]
    assert mux.open_calls == 0


async def test_crash_of_a_child_fails_the_call_and_cancels_the_handler(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ended: list[str] = []

    async def child() -> None:
        raise KeyError("secret")

    async def handle(channel: Channel) -> Any:
        channel.start_soon(child)
        try:
            await trio.sleep_forever()
        finally:
            ended.append("handler")

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    [event] = sink.events
    assert isinstance(event, Failed)
    assert event.error.message == "Internal server error"
    assert event.error.data["errorId"] in caplog.text
    assert ended == ["handler"]


async def test_start_soon_after_the_end_is_refused() -> None:
    kept: list[Channel] = []

    async def handle(channel: Channel) -> Any:
        kept.append(channel)
        return DONE

    call, _, _ = open_call(HandlerServer(handle))
    await call.run()
    with pytest.raises(RuntimeError, match="this call is over"):
        kept[0].start_soon(trio.sleep, 1)
    assert kept[0].closed
    assert not kept[0].post("late")
    assert not await kept[0].send_progress(1)


# -- streaming calls ----------------------------------------------------------------


def streaming_server(log: list[Any]) -> HandlerServer:
    """Opens a stream; a message is answered by state + message; "stop" ends it."""

    async def handle(channel: Channel) -> Any:
        log.append(channel)
        return Stream(("state", 0))

    async def on_message(message: object, channel: Channel, state: Any) -> Any:
        if message == "stop":
            return DONE
        if message == "crash":
            raise KeyError("secret")
        log.append((message, state))
        return Stream((state[0], state[1] + 1))

    async def on_close(channel: Channel, state: Any) -> None:
        await trio.lowlevel.checkpoint()
        log.append(("closed", state, channel.closed))

    return HandlerServer(handle, on_message=on_message, on_close=on_close)


async def test_messages_are_handled_in_order_with_the_new_state(nursery: trio.Nursery) -> None:
    log: list[Any] = []
    call, sink, _ = open_call(streaming_server(log))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    channel: Channel = log[0]
    for message in ("a", "b", "stop", "late"):
        channel.post(message)
    await wait_all_tasks_blocked()
    assert log[1:] == [("a", ("state", 0)), ("b", ("state", 1))]
    assert sink.events == [Answered(DONE)]


async def test_messages_posted_before_stream_is_returned_wait_for_it() -> None:
    seen: list[object] = []

    async def handle(channel: Channel) -> Any:
        channel.post("early")
        await trio.lowlevel.checkpoint()
        return Stream(None)

    async def on_message(message: object, channel: Channel, state: Any) -> Any:
        seen.append(message)
        return DONE

    call, sink, _ = open_call(HandlerServer(handle, on_message=on_message))
    await call.run()
    assert seen == ["early"]
    assert sink.events == [Answered(DONE)]


async def test_posting_from_a_thread_reaches_the_call(nursery: trio.Nursery) -> None:
    log: list[Any] = []
    call, sink, _ = open_call(streaming_server(log))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    channel: Channel = log[0]
    delivered: list[bool] = []
    done = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def poster() -> None:
        delivered.append(channel.post_from_thread("stop"))
        token.run_sync_soon(done.set)

    thread = threading.Thread(target=poster)
    thread.start()
    await done.wait()
    thread.join()
    await wait_all_tasks_blocked()
    assert delivered == [True]
    assert sink.events == [Answered(DONE)]
    assert not await trio.to_thread.run_sync(channel.post_from_thread, "late")


async def test_mailbox_is_bounded(nursery: trio.Nursery) -> None:
    log: list[Any] = []
    server = streaming_server(log)
    call, _, _ = open_call(server, mux=Mux(server, limits=Limits(max_queued_messages=2)))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    channel: Channel = log[0]
    channel.post("a")
    channel.post("b")
    with pytest.raises(MailboxFull, match="max_queued_messages"):
        channel.post("c")
    call.client_gone()


@pytest.mark.parametrize("how", ["gone", "close", "crash", "stop"])
async def test_handle_close_runs_once_however_a_stream_is_cut(
    how: str, nursery: trio.Nursery
) -> None:
    log: list[Any] = []
    call, sink, mux = open_call(streaming_server(log))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    channel: Channel = log[0]
    match how:
        case "gone":
            call.client_gone()
        case "close":
            channel.close()
        case "crash":
            channel.post("crash")
        case _:
            await call.stop(InvalidParams("stopped"))
    await wait_all_tasks_blocked()
    closings = [entry for entry in log[1:] if entry[0] == "closed"]
    assert [entry[1] for entry in closings] == [("state", 0)]
    assert len(sink.endings) == (0 if how == "gone" else 1)
    assert mux.open_calls == 0


async def test_handle_close_does_not_run_for_a_stream_that_ended_itself(
    nursery: trio.Nursery,
) -> None:
    log: list[Any] = []
    call, _, _ = open_call(streaming_server(log))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    log[0].post("stop")
    await wait_all_tasks_blocked()
    assert len(log) == 1


async def test_handle_close_is_limited_in_time_and_logged(
    autojump_clock: trio.testing.MockClock,
    nursery: trio.Nursery,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handle(channel: Channel) -> Any:
        return Stream(None)

    async def on_close(channel: Channel, state: Any) -> None:
        await trio.sleep_forever()

    call, _, mux = open_call(HandlerServer(handle, on_close=on_close))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    call.client_gone()
    with trio.fail_after(30):
        await mux.drain(30)
    assert mux.open_calls == 0
    assert "handle_close" in caplog.text


# -- plain handlers -----------------------------------------------------------------


async def test_plain_function_runs_in_a_thread_and_talks_back() -> None:
    def work(channel: Any) -> str:
        assert channel.send_progress(1, message="from a thread")
        assert channel.send_log("info", {"a": 1})
        channel.post("note to self")
        return threading.current_thread().name

    async def handle(channel: Channel) -> Any:
        name = await channel.run_in_thread(work, channel.blocking())
        assert name != threading.main_thread().name
        return DONE

    call, sink, _ = open_call(HandlerServer(handle), log_level="info")
    await call.run()
    assert sink.endings == [Answered(DONE)]
    assert len(sink.notifications) == 2


async def test_plain_function_that_blocks_does_not_delay_others() -> None:
    release = threading.Event()

    async def blocked(channel: Channel) -> Any:
        await channel.run_in_thread(release.wait)
        return DONE

    async def quick(channel: Channel) -> Any:
        return DONE

    slow, slow_sink, _ = open_call(HandlerServer(blocked))
    fast, fast_sink, _ = open_call(HandlerServer(quick))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(slow.run)
        await wait_all_tasks_blocked()
        await fast.run()
        assert fast_sink.events == [Answered(DONE)]
        assert slow_sink.events == []
        release.set()
    assert slow_sink.events == [Answered(DONE)]


async def test_blocking_send_unwinds_a_thread_whose_client_has_gone(
    nursery: trio.Nursery,
) -> None:
    unwound = threading.Event()
    started = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def work(channel: Any) -> None:
        token.run_sync_soon(started.set)
        try:
            step = 0
            while True:
                step += 1
                channel.send_progress(step)
                time.sleep(0)
        finally:
            unwound.set()

    async def handle(channel: Channel) -> Any:
        await channel.run_in_thread(work, channel.blocking())

    call, sink, mux = open_call(HandlerServer(handle))
    nursery.start_soon(call.run)
    await started.wait()
    call.client_gone()
    with trio.fail_after(30):
        while mux.open_calls:
            await trio.lowlevel.checkpoint()
    assert unwound.is_set()
    assert sink.endings == []


async def test_close_after_ends_a_call_that_is_still_open(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def handle(channel: Channel) -> Any:
        channel.close_after(10)
        await trio.sleep_forever()

    call, sink, mux = open_call(HandlerServer(handle))
    started = trio.current_time()
    await call.run()
    assert trio.current_time() - started == pytest.approx(10)
    [event] = sink.events
    assert isinstance(event, Failed)
    assert mux.open_calls == 0


async def test_close_after_does_nothing_to_a_call_that_has_ended() -> None:
    kept: list[Channel] = []

    async def handle(channel: Channel) -> Any:
        kept.append(channel)
        channel.close_after(10)
        return DONE

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    kept[0].close_after(1)
    assert sink.events == [Answered(DONE)]


async def test_result_after_close_comes_too_late() -> None:
    async def handle(channel: Channel) -> Any:
        channel.close()
        return DONE

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    [event] = sink.events
    assert isinstance(event, Failed)
    assert "closed this call" in event.error.message


class Panic(BaseException):
    """What native code raises."""


CRASHES: list[BaseException] = [
    Panic("secret"),
    GeneratorExit("secret"),
    BaseExceptionGroup("secret", [Panic("a"), ValueError("b")]),
    ExceptionGroup("secret", [ValueError("a"), ValueError("b")]),
]


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: type(crash).__name__)
@pytest.mark.parametrize("where", ["handler", "child", "message", "close", "cleanup"])
async def test_whatever_a_hook_raises_stays_in_its_call(
    crash: BaseException, where: str, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> None:
        await trio.lowlevel.checkpoint()
        raise crash

    async def handle(channel: Channel) -> Any:
        match where:
            case "handler":
                await fail()
            case "child":
                channel.start_soon(fail)
                await trio.sleep_forever()
            case "message":
                channel.post("fail")
            case "cleanup":
                try:
                    await trio.sleep_forever()
                finally:
                    await fail()
            case _:
                pass
        return Stream(None)

    async def on_message(message: object, channel: Channel, state: Any) -> Any:
        await fail()

    async def on_close(channel: Channel, state: Any) -> None:
        await fail()

    call, sink, mux = open_call(HandlerServer(handle, on_message=on_message, on_close=on_close))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    call.client_gone()
    await wait_all_tasks_blocked()
    assert mux.open_calls == 0
    assert len(sink.endings) == (1 if where in {"handler", "child", "message"} else 0)
    for ending in sink.endings:
        assert isinstance(ending, Failed)
        assert ending.error.message == "Internal server error"
    assert "secret" in caplog.text


async def test_stray_cancellation_is_a_crash(caplog: pytest.LogCaptureFixture) -> None:
    async def handle(channel: Channel) -> Any:
        kept: list[BaseException] = []
        with trio.move_on_after(0):
            try:
                await trio.sleep_forever()
            except trio.Cancelled as error:
                kept.append(error)
                raise
        raise kept[0]

    call, sink, _ = open_call(HandlerServer(handle))
    await call.run()
    [event] = sink.events
    assert isinstance(event, Failed)
    assert event.error.data["errorId"] in caplog.text


@pytest.mark.parametrize("verb", ["post", "start_soon", "close", "close_after"])
async def test_verbs_of_the_loop_refuse_another_thread_and_change_nothing(
    verb: str, nursery: trio.Nursery
) -> None:
    log: list[Any] = []
    call, sink, mux = open_call(streaming_server(log))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    channel: Channel = log[0]
    arguments: dict[str, tuple[Any, ...]] = {
        "post": ("stop",),
        "start_soon": (trio.sleep, 0),
        "close": (),
        "close_after": (1,),
    }
    refused: list[Exception] = []

    def work() -> None:
        try:
            getattr(channel, verb)(*arguments[verb])
        except RuntimeError as error:
            refused.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [str(error).split(":")[0] for error in refused] == [verb]
    await wait_all_tasks_blocked()
    assert sink.events == []
    assert mux.open_calls == 1
    channel.post("stop")
    await wait_all_tasks_blocked()
    assert sink.events == [Answered(DONE)]


async def test_call_that_outlives_its_cleanup_time_is_logged_once(
    autojump_clock: trio.testing.MockClock,
    nursery: trio.Nursery,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handle(channel: Channel) -> Any:
        until = trio.current_time() + 60
        while trio.current_time() < until:
            with contextlib.suppress(trio.Cancelled), trio.CancelScope(shield=True):
                await trio.sleep(3)

    call, _, mux = open_call(HandlerServer(handle))
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    call.client_gone()
    await mux.drain(200)
    assert caplog.text.count("still runs 5 s after its client has gone") == 1


@pytest.mark.parametrize(
    ("error", "logged"),
    [
        (InvalidParams("no such city"), "error -32602: no such city"),
        (Error("x"), "error -32603: x"),
    ],
)
async def test_errors_meant_for_the_client_are_in_the_log(
    error: Any, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")

    async def handle(channel: Channel) -> Any:
        if isinstance(error, Exception):
            raise error
        return error

    call, _, _ = open_call(HandlerServer(handle))
    await call.run()
    assert f"tools/call 'any' (request 1): {logged}" in caplog.text


class Unshowable:
    """Cannot be shown."""

    def __repr__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize("value", [list(range(100_000)), "x" * 100_000, Unshowable()])
async def test_wrong_return_is_shown_short_whatever_it_is(
    value: object, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(channel: Channel) -> Any:
        return value

    call, _, _ = open_call(HandlerServer(handle))
    await call.run()
    assert "handle_request returned" in caplog.text
    assert type(value).__name__ in caplog.text
    message = str(caplog.records[-1].exc_info[1])  # type: ignore[index]
    assert len(message) < 400


async def test_child_started_last_does_not_outlive_the_call() -> None:
    """The handler ends before the child has had a turn, on a sink that never yields."""
    started: list[bool] = []

    async def child() -> None:
        started.append(True)
        await trio.sleep_forever()

    async def handle(channel: Channel) -> Any:
        channel.start_soon(child)
        return DONE

    server = HandlerServer(handle)
    for _ in range(50):
        mux = Mux(server)
        call = mux.open(request(), caller(), InstantSink())
        with trio.fail_after(30):
            await call.run()
        assert mux.open_calls == 0


class InstantSink(Sink):
    """Takes everything without letting others run."""

    async def write(self, event: Event) -> None:
        pass


async def leaky() -> AsyncGenerator[int]:
    async with trio.open_nursery():
        yield 1


@pytest.mark.filterwarnings(
    "ignore:Async generator:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)
async def test_generator_left_open_with_a_nursery_costs_its_call_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handle(channel: Channel) -> Any:
        kept = leaky()
        async for _ in kept:
            break
        return DONE

    call, sink, mux = open_call(HandlerServer(handle))
    await call.run()
    assert mux.open_calls == 0
    # Its own ending may be torn too; that is the price of the bug, and the whole price.
    assert len(sink.endings) <= 1
    other, other_sink, _ = open_call(HandlerServer(only_done))
    await other.run()
    assert other_sink.events == [Answered(DONE)]


async def only_done(channel: Channel) -> Any:
    return DONE


async def test_handler_that_only_sends_stops_when_its_client_has_gone(
    nursery: trio.Nursery,
) -> None:
    async def handle(channel: Channel) -> Any:
        step = 0
        while True:
            step += 1
            await channel.send_progress(step)

    call, _, mux = open_call(HandlerServer(handle))
    nursery.start_soon(call.run)
    for _ in range(20):
        await trio.lowlevel.checkpoint()
    call.client_gone()
    with trio.fail_after(30):
        while mux.open_calls:
            await trio.lowlevel.checkpoint()


async def test_call_that_always_posts_to_itself_starves_nobody(nursery: trio.Nursery) -> None:
    async def handle(channel: Channel) -> Any:
        channel.post("again")
        return Stream(None)

    async def on_message(message: object, channel: Channel, state: Any) -> Any:
        channel.post("again")
        return Stream(None)

    call, _, mux = open_call(HandlerServer(handle, on_message=on_message))
    nursery.start_soon(call.run)
    for _ in range(20):
        await trio.lowlevel.checkpoint()
    call.client_gone()
    with trio.fail_after(30):
        while mux.open_calls:
            await trio.lowlevel.checkpoint()
