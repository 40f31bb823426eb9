"""What a call holds is given back when it has ended, and not when the collector comes by.

A cycle would keep the request and its arguments, and a busy server would spend its time
in the collector.
"""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.lowlevel

from genmcp.mux.cleanup import HandlerScope
from genmcp.mux.stage import Stage
from genmcp.outcome import Stream
from tests.mux.servers import DONE, HandlerServer, open_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from genmcp.channel import Channel


class Held:
    """Something a handler has put where only its call leads."""


@pytest.fixture(autouse=True)
def _uncollected() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def answer(channel: Channel) -> Any:
    return DONE


async def report(channel: Channel) -> Any:
    await channel.send_progress(1)
    return DONE


async def stream(channel: Channel) -> Any:
    channel.post("go")
    return Stream(None)


async def start(channel: Channel) -> Any:
    async def child() -> None:
        await trio.lowlevel.checkpoint()

    channel.start_soon(child)
    return DONE


async def go_on(message: object, channel: Channel, state: Any) -> Any:
    return DONE


@pytest.mark.parametrize("handle", [answer, report, stream, start])
async def test_a_call_that_has_ended_is_in_no_cycle(handle: Any) -> None:
    held: list[weakref.ref[Held]] = []

    async def hold(channel: Channel) -> Any:
        assigned = channel.assigns
        assert isinstance(assigned, dict)
        held.append(weakref.ref(assigned["held"]))
        return await handle(channel)

    async def run() -> None:
        server = HandlerServer(hold, on_message=go_on)
        call, _, _ = open_call(server, assigns={"held": Held()})
        await call.run()

    await run()
    # Trio's own list of what ran last holds tasks that have ended.
    await trio.lowlevel.checkpoint()
    assert [one() for one in held] == [None]


async def test_a_stage_that_waits_for_its_next_call_does_not_hold_the_last() -> None:
    calls: list[weakref.ref[Any]] = []
    scope = HandlerScope(5)
    async with trio.open_nursery() as nursery:
        with scope.open():
            stage = Stage(scope, nursery)
            call, _, _ = open_call(HandlerServer(answer))
            calls.append(weakref.ref(call))
            await call.run_on(stage)
            del call
            assert [one() for one in calls] == [None]
