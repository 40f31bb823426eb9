"""Short time limits on a server that is busy."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from genmcp.mux.patience import sleep_patiently, try_for


async def hold_up(clock: trio.testing.MockClock) -> None:
    """Let every round of the loop take ten seconds."""
    while True:
        clock.jump(10)
        await trio.lowlevel.checkpoint()


async def test_sleeping_takes_no_longer_than_it_is_said_to(
    autojump_clock: trio.testing.MockClock,
) -> None:
    await sleep_patiently(2)
    assert trio.current_time() == pytest.approx(2)


async def test_what_has_its_turns_is_done_though_each_takes_longer_than_the_limit(
    mock_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    done: list[int] = []

    async def take_turns() -> None:
        for turn in range(3):
            await trio.lowlevel.checkpoint()
            done.append(turn)

    nursery.start_soon(hold_up, mock_clock)
    await try_for(1, take_turns)
    assert done == [0, 1, 2]
    nursery.cancel_scope.cancel()


async def test_what_waits_for_somebody_is_given_up_in_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    await try_for(3, trio.sleep_forever)
    assert trio.current_time() == pytest.approx(3)


async def test_what_is_raised_comes_out_as_it_is() -> None:
    async def fail() -> None:
        raise KeyError("found")

    with pytest.raises(KeyError, match="found"):
        await try_for(1, fail)


async def test_whoever_waits_for_it_can_be_cancelled(
    autojump_clock: trio.testing.MockClock,
) -> None:
    with trio.move_on_after(1) as scope:
        await try_for(5, trio.sleep_forever)
    assert scope.cancelled_caught
    assert trio.current_time() == pytest.approx(1)
