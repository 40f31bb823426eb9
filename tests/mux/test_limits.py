"""The mux and its limits: places and buckets of calls that run, end, crash and are cut off."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from genmcp.channel import Channel
from genmcp.errors import LimitExceeded, Overloaded
from genmcp.events import Answered, Failed
from genmcp.limits import Limits, RateLimit
from genmcp.mcp import v2607 as mcp
from genmcp.mux import Mux
from genmcp.outcome import Stream
from genmcp.testing.sink import RecordingSink
from tests.mux.servers import DONE, HandlerServer, caller, open_call, request

ADA = {"principal": "ada"}
BOB = {"principal": "bob"}


def listen_request() -> mcp.Request:
    meta = mcp.RequestMetaObject(
        protocol_version=mcp.PROTOCOL_VERSION, client_capabilities=mcp.ClientCapabilities()
    )
    params = mcp.SubscriptionsListenRequestParams(
        meta=meta, notifications=mcp.SubscriptionFilter(tools_list_changed=True)
    )
    return mcp.SubscriptionsListenRequest(params=params)


async def wait_for_ever(channel: Channel) -> Any:
    await trio.sleep_forever()


def make_mux(handle: Callable[[Channel], Awaitable[Any]], **limits: Any) -> Mux:
    return Mux(HandlerServer(handle), limits=Limits(**limits))


async def test_a_caller_at_its_limit_is_refused_and_another_is_not(nursery: trio.Nursery) -> None:
    mux = make_mux(wait_for_ever, max_calls_per_caller=2)
    for _ in range(2):
        call, _, _ = open_call(mux.server, mux=mux, **ADA)
        nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    with pytest.raises(LimitExceeded):
        open_call(mux.server, mux=mux, **ADA)
    assert mux.open_calls == 2
    other, _, _ = open_call(mux.server, mux=mux, **BOB)
    nursery.start_soon(other.run)
    await wait_all_tasks_blocked()
    assert mux.open_calls == 3
    nursery.cancel_scope.cancel()
    mux.abort()


async def test_listen_streams_have_a_limit_of_their_own() -> None:
    mux = make_mux(wait_for_ever, max_calls_per_caller=1, max_streams_per_caller=1)
    sink = RecordingSink()
    held = [
        mux.open(listen_request(), caller(**ADA), sink),
        mux.open(request(), caller(**ADA), sink),
    ]
    with pytest.raises(LimitExceeded, match="max_streams_per_caller"):
        mux.open(listen_request(), caller(**ADA), sink)
    with pytest.raises(LimitExceeded, match="max_calls_per_caller"):
        mux.open(request(), caller(**ADA), sink)
    held.append(mux.open(listen_request(), caller(**BOB), sink))
    assert mux.admission.taken == 3


async def test_a_full_server_is_overloaded_for_everybody() -> None:
    mux = make_mux(wait_for_ever, max_calls=1)
    call, _, _ = open_call(mux.server, mux=mux, **ADA)
    with pytest.raises(Overloaded, match="max_calls"):
        open_call(mux.server, mux=mux, **BOB)
    call.client_gone()
    await call.run()
    open_call(mux.server, mux=mux, **BOB)


async def finish(channel: Channel) -> Any:
    return DONE


async def test_a_request_of_several_calls_has_one_place_between_them_too() -> None:
    mux = make_mux(finish, max_calls=1)
    place = mux.enter(caller(**ADA))
    for _ in range(2):
        sink = RecordingSink()
        call = mux.open(request(), caller(**ADA), sink, place)
        assert mux.admission.taken == 1
        await call.run()
        assert sink.events == [Answered(DONE)]
        # Neither its end, nor that it is forgotten, lets anybody else in.
        del call
        gc.collect()
        with pytest.raises(Overloaded):
            mux.enter(caller(**BOB))
    place.leave()
    assert mux.admission.taken == 0
    mux.enter(caller(**BOB)).leave()


async def crash(channel: Channel) -> Any:
    raise RuntimeError("boom")


async def send_what_is_not_json(channel: Channel) -> Any:
    return mcp.CallToolResult(content=[], structured_content={"a": float("nan")})


async def close(channel: Channel) -> Any:
    channel.close()
    await trio.sleep_forever()


async def stream(channel: Channel) -> Any:
    channel.post("go on")
    return Stream(None)


async def ignore_every_cancellation(channel: Channel) -> Any:
    for _ in range(5):
        with trio.CancelScope(shield=True), trio.move_on_after(1):
            await trio.sleep_forever()


@pytest.mark.parametrize(
    "handle",
    [
        finish,
        crash,
        send_what_is_not_json,
        close,
        stream,
        wait_for_ever,
        ignore_every_cancellation,
    ],
)
@pytest.mark.parametrize("end", ["itself", "client_gone", "stop", "abort", "drain", "host"])
async def test_every_way_to_end_gives_the_place_back(
    handle: Callable[[Channel], Awaitable[Any]],
    end: str,
    autojump_clock: trio.testing.MockClock,
) -> None:
    mux = make_mux(handle, cleanup_seconds=1)
    call, sink, _ = open_call(mux.server, mux=mux, **ADA)
    assert mux.admission.count("ada") == (1, 0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(call.run)
        await wait_all_tasks_blocked()
        match end:
            case "client_gone":
                call.client_gone()
            case "stop":
                await call.stop(LimitExceeded("x", setting="x", retry_after_seconds=1))
            case "abort":
                call.abort()
            case "drain":
                await mux.drain(3)
            case "host":
                nursery.cancel_scope.cancel()
                call.client_gone()
            case _ if handle is wait_for_ever:
                sink.break_connection()
                await call.keep_alive()
            case _:
                pass
    assert mux.open_calls == 0
    assert mux.admission.taken == 0
    assert mux.admission.count("ada") == (0, 0)


async def test_a_place_is_held_until_clean_ups_are_over(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    async def handle(channel: Channel) -> Any:
        try:
            await trio.sleep_forever()
        finally:
            await trio.sleep(3)

    mux = make_mux(handle, max_calls_per_caller=1)
    call, _, _ = open_call(mux.server, mux=mux, **ADA)
    nursery.start_soon(call.run)
    await wait_all_tasks_blocked()
    call.client_gone()
    await trio.sleep(2)
    with pytest.raises(LimitExceeded):
        open_call(mux.server, mux=mux, **ADA)
    await trio.sleep(2)
    open_call(mux.server, mux=mux, **ADA)


async def test_calls_that_are_opened_and_never_run_leave_no_place_taken() -> None:
    mux = make_mux(finish, max_calls_per_caller=1)
    for _ in range(3):
        # Alive no longer than this line, but for the cycle it is part of.
        open_call(mux.server, mux=mux, **ADA)
        gc.collect()
    # Nor does one whose run is given up before it began: no `finally` has run there.
    unstarted = open_call(mux.server, mux=mux, **ADA)[0].run()
    unstarted.close()
    del unstarted
    gc.collect()
    assert mux.admission.taken == 0


async def test_a_mux_by_itself_limits_no_caller() -> None:
    mux = Mux(HandlerServer(finish))
    held = [open_call(mux.server, mux=mux, **ADA)[0] for _ in range(500)]
    assert mux.admission.count("ada") == (len(held), 0)


# -- rates -----------------------------------------------------------------------------


async def check(channel: Channel) -> Any:
    channel.check_rate("tools/call", "search")
    return DONE


async def run_one(mux: Mux, **facts: Any) -> Answered | Failed:
    call, sink, _ = open_call(mux.server, mux=mux, **facts)
    await call.run()
    [ending] = sink.endings
    return ending


async def test_calls_over_the_rate_fail_until_the_bucket_fills(
    autojump_clock: trio.testing.MockClock,
) -> None:
    mux = make_mux(check, rate_limit=RateLimit(calls=2, per_seconds=60))
    assert [type(await run_one(mux, **ADA)) for _ in range(3)] == [Answered, Answered, Failed]
    assert type(await run_one(mux, **BOB)) is Answered
    refused = await run_one(mux, **ADA)
    assert isinstance(refused, Failed)
    assert isinstance(refused.error, LimitExceeded)
    assert refused.error.retry_after_seconds == 30
    await trio.sleep(29)
    assert type(await run_one(mux, **ADA)) is Failed
    await trio.sleep(1)
    assert [type(await run_one(mux, **ADA)) for _ in range(2)] == [Answered, Failed]


async def test_addresses_are_callers_where_nobody_was_authenticated() -> None:
    mux = make_mux(check, rate_limit=RateLimit(calls=1, per_seconds=60))
    one, other = {"client_address": "192.0.2.1"}, {"client_address": "192.0.2.2"}
    seen = [type(await run_one(mux, **facts)) for facts in (one, other, one, {**one, **ADA})]
    assert seen == [Answered, Answered, Failed, Answered]


async def test_plain_handlers_can_count_too() -> None:
    async def handle(channel: Channel) -> Any:
        blocking = channel.blocking()
        own = RateLimit(calls=1, per_seconds=60)
        await channel.run_in_thread(blocking.check_rate, "resources/read", "report", own)
        return DONE

    mux = make_mux(handle)
    assert [type(await run_one(mux)) for _ in range(2)] == [Answered, Failed]


def test_buckets_of_one_run_of_trio_are_not_those_of_the_next() -> None:
    async def handle(channel: Channel) -> Any:
        channel.check_rate("tools/call", "any", RateLimit(calls=5, per_seconds=60))
        return DONE

    mux = make_mux(handle)

    async def ask() -> Any:
        call, sink, _ = open_call(mux.server, mux=mux, **ADA)
        await call.run()
        return sink.events[-1]

    ahead = MockClock()
    ahead.jump(1_000)
    # Clocks of trio begin anywhere: the first was ahead by what nobody knows.
    assert trio.run(ask, clock=ahead) == Answered(DONE)
    assert trio.run(ask, clock=MockClock()) == Answered(DONE)
