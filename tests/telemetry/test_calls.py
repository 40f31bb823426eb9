"""What observers and the log are told of calls: each end once, whatever races."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from genmcp import CallInfo, Channel, Observer, Outcome, RefusalReason, mcp
from genmcp.access import Access
from genmcp.errors import (
    HeaderMismatch,
    InsufficientScope,
    InternalError,
    InvalidParams,
    InvalidRequest,
    LimitExceeded,
    McpError,
    Overloaded,
)
from genmcp.events import Answered, ClientGone, Event, Failed, Sink
from genmcp.limits import Limits
from genmcp.mux import Call, Mux
from genmcp.outcome import Error, Stream
from genmcp.testing.sink import RecordingSink
from tests.mux.servers import DONE, HandlerServer, caller, request
from tests.telemetry.recording import Recorder

Handle = Callable[[Channel], Awaitable[Any]]


@attrs.define
class Bench:
    """A call that is observed, not running yet."""

    call: Call
    sink: RecordingSink
    mux: Mux
    seen: Recorder

    @property
    def outcome(self) -> Outcome:
        return self.seen.end.outcome


def make_bench(
    handle: Handle, *, sink: Sink | None = None, facts: Any = None, **hooks: Any
) -> Bench:
    seen = Recorder()
    mux = Mux(HandlerServer(handle, **hooks), limits=Limits(cleanup_seconds=5), observers=[seen])
    recording = RecordingSink()
    call = mux.open(request(), caller(**(facts or {})), sink or recording)
    return Bench(call, recording, mux, seen)


def lines_of(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "genmcp.calls"]


# -- outcomes ----------------------------------------------------------------------


async def fail_to_ask(channel: Channel) -> Any:
    raise InvalidParams("no such city")


async def crash(channel: Channel) -> Any:
    raise KeyError("secret")


def answering(answer: Any) -> Handle:
    async def handle(channel: Channel) -> Any:
        return answer

    return handle


@pytest.mark.parametrize(
    ("handle", "outcome", "code", "level", "line"),
    [
        (answering(DONE), Outcome.OK, None, "INFO", ": ok (0.0 ms)"),
        (
            answering(mcp.call_tool_result(error="too far")),
            Outcome.TOOL_ERROR,
            None,
            "INFO",
            ": tool_error (0.0 ms)",
        ),
        (
            answering(mcp.InputRequiredResult(request_state="s")),
            Outcome.INPUT_REQUIRED,
            None,
            "INFO",
            ": input_required (0.0 ms)",
        ),
        (fail_to_ask, Outcome.ERROR, -32602, "INFO", ": error -32602: no such city (0.0 ms)"),
        (answering(Error("x")), Outcome.ERROR, -32603, "WARNING", ": error -32603: x (0.0 ms)"),
        (crash, Outcome.CRASH, -32603, "ERROR", " failed, error id "),
        (answering(7), Outcome.CRASH, -32603, "ERROR", " failed, error id "),
    ],
    ids=["result", "tool error", "question", "raised", "returned", "crash", "wrong return"],
)
async def test_each_ending_has_its_outcome_and_one_line(
    handle: Handle,
    outcome: Outcome,
    code: int | None,
    *,
    level: str,
    line: str,
    caplog: pytest.LogCaptureFixture,
    autojump_clock: trio.testing.MockClock,
) -> None:
    caplog.set_level("INFO")
    bench = make_bench(handle)
    await bench.call.run()
    assert bench.outcome is outcome
    assert bench.seen.end.code == code
    assert bench.seen.hooks == ["call_started", "call_ended"]
    [record] = lines_of(caplog)
    assert record.levelname == level
    assert record.getMessage().startswith(f"tools/call 'any' (request 1){line}")
    facts = vars(record)
    assert facts["genmcp_outcome"] == outcome.value
    assert facts["genmcp_code"] == code
    assert facts["genmcp_error_id"] == bench.seen.end.error_id
    assert (record.exc_info is not None) is (outcome is Outcome.CRASH)


async def test_error_id_is_the_clients(caplog: pytest.LogCaptureFixture) -> None:
    bench = make_bench(crash)
    await bench.call.run()
    [event] = bench.sink.events
    assert isinstance(event, Failed)
    assert event.error.data == {"errorId": bench.seen.end.error_id}
    assert f"error id {bench.seen.end.error_id}" in lines_of(caplog)[0].getMessage()


async def test_facts_of_a_call() -> None:
    meta = {"traceparent": "00-1", "tracestate": 7, "baggage": "a=b", "mine": "x"}
    info = mcp.Implementation(name="probe", version="2")
    access = Access(subject="ada", audiences=frozenset({"here"}), client_id="editor-7")
    facts = {
        "meta": meta,
        "client_info": info,
        "access": access,
        "principal": "ada",
        "client_address": "192.0.2.7",
    }
    bench = make_bench(answering(DONE), facts=facts)
    await bench.call.run()
    [call] = bench.seen.calls
    assert (call.method, call.target, call.request_id) == ("tools/call", "any", 1)
    assert call.protocol_version == mcp.PROTOCOL_VERSION
    assert call.client_info == info
    assert call.authenticated
    assert (call.principal, call.client_id, call.client_address) == (
        "ada",
        "editor-7",
        "192.0.2.7",
    )
    assert call.trace == {"traceparent": "00-1", "baggage": "a=b"}
    assert not any(who in repr(call) for who in ("ada", "editor-7", "192.0.2.7"))


async def test_who_calls_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    access = Access(subject="ada-1815", audiences=["here"], client_id="editor-7")
    facts = {"access": access, "principal": "ada-1815", "client_address": "192.0.2.7"}
    await make_bench(answering(DONE), facts=facts).call.run()
    [record] = lines_of(caplog)
    told = record.getMessage() + repr(vars(record))
    assert not any(who in told for who in ("ada-1815", "editor-7", "192.0.2.7"))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (LimitExceeded("x", setting="s", retry_after_seconds=1), RefusalReason.LIMIT),
        (Overloaded("x", setting="s", retry_after_seconds=1), RefusalReason.OVERLOADED),
        (InsufficientScope(["a"]), RefusalReason.FORBIDDEN),
        (HeaderMismatch("x"), RefusalReason.HEADER_MISMATCH),
        (InvalidRequest("x"), None),
        (InvalidParams("x"), None),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_refusal_inside_a_call_has_its_reason(
    error: McpError, reason: RefusalReason | None, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(channel: Channel) -> Any:
        raise error

    caplog.set_level("INFO")
    bench = make_bench(refuse)
    await bench.call.run()
    assert bench.outcome is Outcome.ERROR
    assert bench.seen.end.reason is reason
    [record] = lines_of(caplog)
    assert vars(record)["genmcp_reason"] == (None if reason is None else reason.value)


async def test_what_is_no_refusal_has_no_reason() -> None:
    for handle in (answering(DONE), crash):
        bench = make_bench(handle)
        await bench.call.run()
        assert bench.seen.end.reason is None


async def tidy() -> None:
    """Go on for 3 s after the answer."""
    try:
        await trio.sleep_forever()
    finally:
        await trio.sleep(3)


async def test_duration_is_that_of_the_answer_without_what_comes_after(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")

    async def handle(channel: Channel) -> Any:
        channel.start_soon(tidy)
        await trio.sleep(2)
        return DONE

    bench = make_bench(handle)
    await bench.call.run()
    assert trio.current_time() == pytest.approx(5, abs=0.1)
    assert bench.seen.end.duration_seconds == pytest.approx(2, abs=0.1)
    [record] = lines_of(caplog)
    assert vars(record)["genmcp_duration_ms"] == pytest.approx(2000, abs=100)


@pytest.mark.parametrize(
    ("answer", "problem"), [(Error("x"), None), (DONE, "invalid arguments: no city")]
)
async def test_duration_is_the_same_where_only_warnings_are_logged(
    answer: Any,
    problem: str | None,
    *,
    autojump_clock: trio.testing.MockClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("WARNING")

    async def handle(channel: Channel) -> Any:
        channel.start_soon(tidy)
        channel.notes.problem = problem
        await trio.sleep(2)
        return answer

    # Nobody observes it.
    await Mux(HandlerServer(handle)).open(request(), caller(), RecordingSink()).run()
    assert trio.current_time() == pytest.approx(5, abs=0.1)
    [record] = lines_of(caplog)
    assert record.levelname == "WARNING"
    assert vars(record)["genmcp_duration_ms"] == pytest.approx(2000, abs=100)


@pytest.mark.parametrize(("first", "then", "count"), [("WARNING", "INFO", 1), ("INFO", "ERROR", 0)])
async def test_the_level_of_the_log_counts_when_a_call_ends(
    first: str, then: str, *, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(first)

    async def handle(channel: Channel) -> Any:
        caplog.set_level(then)
        return DONE

    await Mux(HandlerServer(handle)).open(request(), caller(), RecordingSink()).run()
    assert len(lines_of(caplog)) == count


# -- streams -----------------------------------------------------------------------


async def test_stream_is_told_of_once_and_closed_before_the_end() -> None:
    async def handle(channel: Channel) -> Any:
        await channel.start_stream()
        await channel.send_progress(1)
        await channel.send_progress(2)
        return DONE

    bench = make_bench(handle)
    await bench.call.run()
    assert bench.seen.end.streamed
    assert bench.seen.hooks == ["call_started", "stream_opened", "stream_closed", "call_ended"]


# -- ends from outside -------------------------------------------------------------


async def wait_forever(channel: Channel) -> Any:
    await trio.sleep_forever()


async def wait_as_stream(channel: Channel) -> Any:
    return Stream(None)


@pytest.mark.parametrize("handle", [wait_forever, wait_as_stream], ids=["waits", "streams"])
@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (lambda bench: bench.call.client_gone(), Outcome.CANCELLED),
        (lambda bench: bench.mux.abort(), Outcome.SHUTDOWN),
        (lambda bench: bench.call.close(), Outcome.CLOSED),
        (lambda bench: (bench.call.client_gone(), bench.mux.abort()), Outcome.CANCELLED),
        (lambda bench: (bench.mux.abort(), bench.call.client_gone()), Outcome.SHUTDOWN),
        (lambda bench: (bench.call.close(), bench.call.client_gone()), Outcome.CANCELLED),
    ],
    ids=["gone", "abort", "close", "gone, abort", "abort, gone", "close, gone"],
)
async def test_end_from_outside_is_told_once(
    handle: Handle,
    end: Callable[[Bench], object],
    outcome: Outcome,
    nursery: trio.Nursery,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    bench = make_bench(handle)
    nursery.start_soon(bench.call.run)
    await wait_all_tasks_blocked()
    end(bench)
    await wait_all_tasks_blocked()
    assert bench.outcome is outcome
    assert bench.seen.end.code == (-32603 if bench.sink.events else None)
    assert [vars(record)["genmcp_outcome"] for record in lines_of(caplog)] == [outcome.value]


async def test_drain_ends_calls_by_shutdown(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    bench = make_bench(wait_forever)
    nursery.start_soon(bench.call.run)
    await wait_all_tasks_blocked()
    await bench.mux.drain(10)
    await wait_all_tasks_blocked()
    assert bench.outcome is Outcome.SHUTDOWN
    assert bench.seen.end.code == -32603


class StuckSink(Sink):
    """A client that reads nothing until it is told to, or leaves."""

    def __init__(self, *, shield: bool = False) -> None:
        self.go = trio.Event()
        self.gone = False
        self.shield = shield

    async def write(self, event: Event) -> None:
        with trio.CancelScope(shield=self.shield):
            await self.go.wait()
        if self.gone:
            raise ClientGone


@pytest.mark.parametrize(("shield", "outcome"), [(True, Outcome.OK), (False, Outcome.CANCELLED)])
async def test_client_that_leaves_while_the_answer_is_written(
    nursery: trio.Nursery, outcome: Outcome, *, shield: bool
) -> None:
    """What counts is whether all of it was written."""
    sink = StuckSink(shield=shield)
    bench = make_bench(answering(DONE), sink=sink)
    nursery.start_soon(bench.call.run)
    await wait_all_tasks_blocked()
    bench.call.client_gone()
    sink.go.set()
    await wait_all_tasks_blocked()
    assert bench.outcome is outcome


async def test_answer_nobody_takes_is_a_cancelled_call(nursery: trio.Nursery) -> None:
    sink = StuckSink()
    sink.gone = True
    bench = make_bench(answering(DONE), sink=sink)
    nursery.start_soon(bench.call.run)
    await wait_all_tasks_blocked()
    sink.go.set()
    await wait_all_tasks_blocked()
    assert bench.outcome is Outcome.CANCELLED


async def test_last_frame_nobody_takes_is_a_shutdown_still(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    bench = make_bench(wait_forever, sink=StuckSink())
    nursery.start_soon(bench.call.run)
    await wait_all_tasks_blocked()
    await bench.call.stop(InternalError("The server is shutting down"))
    await wait_all_tasks_blocked()
    assert bench.outcome is Outcome.SHUTDOWN
    assert bench.seen.end.code is None


async def test_host_that_is_cancelled_ends_its_call_once() -> None:
    bench = make_bench(wait_forever)
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bench.call.run)
            await wait_all_tasks_blocked()
            scope.cancel()
            bench.call.client_gone()
    assert bench.outcome is Outcome.CANCELLED


async def test_two_crashes_of_one_call_are_one_end(caplog: pytest.LogCaptureFixture) -> None:
    async def child() -> None:
        raise ValueError("the child")

    async def handle(channel: Channel) -> Any:
        channel.start_soon(child)
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("the handler")

    bench = make_bench(handle)
    await bench.call.run()
    assert bench.outcome is Outcome.CRASH
    [line] = lines_of(caplog)
    assert bench.seen.end.error_id is not None
    assert bench.seen.end.error_id in line.getMessage()
    assert "the child" in caplog.text
    assert "the handler" in caplog.text


async def test_crash_while_another_waits_to_be_written_has_an_id_in_the_log(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    """Both are masked before either is the ending; the client may get either id."""
    sink = StuckSink(shield=True)
    crash_now = trio.Event()

    async def child() -> None:
        await crash_now.wait()
        raise ValueError("the child")

    async def handle(channel: Channel) -> Any:
        channel.start_soon(channel.start_stream)
        channel.start_soon(child)
        await wait_all_tasks_blocked()
        raise ValueError("the handler")

    bench = make_bench(handle, sink=sink)
    nursery.start_soon(bench.call.run)
    await wait_all_tasks_blocked()
    crash_now.set()
    await wait_all_tasks_blocked()
    sink.go.set()
    await wait_all_tasks_blocked()
    assert bench.outcome is Outcome.CRASH
    [line] = lines_of(caplog)
    [other] = [one for one in caplog.records if one.name == "genmcp.mux"]
    assert {vars(line)["genmcp_error_id"], vars(other)["genmcp_error_id"]} >= {
        bench.seen.end.error_id
    }
    assert vars(line)["genmcp_error_id"] != vars(other)["genmcp_error_id"]


async def test_result_that_comes_after_close_is_too_late() -> None:
    async def handle(channel: Channel) -> Any:
        channel.close()
        return DONE

    bench = make_bench(handle)
    await bench.call.run()
    assert (bench.outcome, bench.seen.end.code) == (Outcome.CLOSED, -32603)


async def test_crash_after_the_client_has_gone_leaves_the_call_cancelled(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(channel: Channel) -> Any:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("too late")

    bench = make_bench(handle)
    nursery.start_soon(bench.call.run)
    await wait_all_tasks_blocked()
    bench.call.client_gone()
    await wait_all_tasks_blocked()
    assert bench.outcome is Outcome.CANCELLED
    assert "too late" in caplog.text


# -- observers that fail -----------------------------------------------------------


class Broken(Observer):
    """Raises wherever it is asked, or returns what is no context manager."""

    def __init__(self, where: str) -> None:
        self.where = where

    def _fail(self, hook: str) -> None:
        if self.where == hook:
            raise SystemExit(f"broken in {hook}")

    def call_started(self, call: CallInfo) -> Any:
        self._fail("call_started")
        if self.where == "nonsense":
            return 7
        return BrokenContext(self.where)

    def stream_opened(self, call: CallInfo) -> None:
        self._fail("stream_opened")

    def stream_closed(self, call: CallInfo) -> None:
        self._fail("stream_closed")

    def call_ended(self, call: CallInfo, ended: Any) -> None:
        self._fail("call_ended")


class BrokenContext:
    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        if self.where == "enter":
            raise ValueError("broken in enter")

    def __exit__(self, *_: object) -> None:
        if self.where == "exit":
            raise ValueError("broken in exit")


@pytest.mark.parametrize(
    "where",
    [
        "call_started",
        "stream_opened",
        "stream_closed",
        "call_ended",
        "enter",
        "exit",
        "nonsense",
    ],
)
async def test_observer_that_fails_harms_no_call_and_is_logged_once(
    where: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(channel: Channel) -> Any:
        await channel.start_stream()
        return DONE

    before, after = Recorder(), Recorder()
    mux = Mux(HandlerServer(handle), observers=[before, Broken(where), after])
    for _ in range(3):
        sink = RecordingSink()
        await mux.open(request(), caller(), sink).run()
        assert sink.events[-1] == Answered(DONE)
    for seen in (before, after):
        assert [ended.outcome for ended in seen.ends] == [Outcome.OK] * 3
        assert seen.inside == 0
    failures = [one for one in caplog.records if "this is logged once" in one.getMessage()]
    assert len(failures) == 1
    assert failures[0].exc_info is not None


@attrs.define
class Unhashable(Observer):
    """Cannot be hashed, as nothing can that attrs or dataclasses compare by value."""

    told: int = 0

    def call_started(self, call: CallInfo) -> None:
        self.told += 1
        raise ValueError("broken")


async def test_observer_that_cannot_be_hashed_may_fail_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    observers = [Unhashable(), Unhashable()]
    mux = Mux(HandlerServer(answering(DONE)), observers=observers)
    for _ in range(2):
        sink = RecordingSink()
        await mux.open(request(), caller(), sink).run()
        assert sink.events == [Answered(DONE)]
    assert [one.told for one in observers] == [2, 2]
    failures = [one for one in caplog.records if "this is logged once" in one.getMessage()]
    assert len(failures) == 2


class Awaited(Observer):
    async def call_ended(self, call: Any, ended: Any) -> None:  # type: ignore[override]
        pass


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Recorder, "observers must be Observer instances"),
        (object(), "observers must be Observer instances"),
        (Awaited(), r"Awaited\.call_ended must be a plain def"),
    ],
)
def test_what_is_no_observer_is_refused(wrong: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        Mux(HandlerServer(answering(DONE)), observers=[wrong])


def test_a_single_observer_is_no_list() -> None:
    with pytest.raises(TypeError, match="observers must be a list of Observer instances, got <"):
        Mux(HandlerServer(answering(DONE)), observers=Recorder())  # type: ignore[arg-type]


async def test_contexts_are_left_in_the_reverse_order() -> None:
    order: list[str] = []

    class Nested(Observer):
        def __init__(self, name: str) -> None:
            self.name = name

        def call_started(self, call: CallInfo) -> Any:
            order.append(f"start {self.name}")

        def call_ended(self, call: CallInfo, ended: Any) -> None:
            order.append(f"end {self.name}")

    mux = Mux(HandlerServer(answering(DONE)), observers=[Nested("a"), Nested("b")])
    await mux.open(request(), caller(), RecordingSink()).run()
    assert order == ["start a", "start b", "end b", "end a"]
