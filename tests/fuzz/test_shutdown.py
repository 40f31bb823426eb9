"""A shutdown in the midst of an attack, at some moment or other."""

from __future__ import annotations

import itertools
import logging
import random
from functools import partial

import pytest
import trio

from genmcp import EventBus
from genmcp.transport.serve import serve
from tests.fuzz.attack import carry_out, plan
from tests.fuzz.corpus import make_corpus
from tests.fuzz.suite import make_suite
from tests.fuzz.target import ErrorLog, Front

SEED = 20260728
TIMES = 2
HANG_GUARD_SECONDS = 60
UNBEARABLE_SECONDS = 3600
"""A grace time that nothing may wait for: whoever does fails the test."""


@pytest.mark.parametrize("how", ["stopped", "cancelled", "stopped, then cancelled"])
@pytest.mark.parametrize("front", ["native", "hypercorn"])
async def test_an_attacked_server_ends_when_it_should(front: Front, how: str) -> None:
    log = ErrorLog()
    logging.getLogger("genmcp").addHandler(log)
    try:
        with trio.fail_after(HANG_GUARD_SECONDS):
            for number in range(TIMES):
                await _end_under_attack(front, how, number)
    finally:
        logging.getLogger("genmcp").removeHandler(log)
    assert log.errors == []


async def _end_under_attack(front: Front, how: str, number: int) -> None:
    dice = random.Random(f"{SEED}:{how}:{number}")  # noqa: S311 - repeatable
    stop, ended = trio.Event(), trio.Event()
    grace = UNBEARABLE_SECONDS if how == "cancelled" else 0.2
    run = partial(
        serve,
        make_suite(EventBus()),
        port=0,
        http=front,
        stop=stop,
        grace_seconds=grace,
        secret_key="k" * 32,
    )
    before = trio.lowlevel.current_statistics().tasks_living
    async with trio.open_nursery() as attackers:

        async def attack(port: int, first: int) -> None:
            corpus = make_corpus()
            for attack_number in itertools.count(first * 1000):
                try:
                    await carry_out(plan(SEED, attack_number, corpus), port)
                except OSError:
                    return  # the port is closed

        async with trio.open_nursery() as serving:
            (url,) = await serving.start(run)
            for first in range(12):
                attackers.start_soon(attack, int(url.split(":")[2].split("/")[0]), first)
            await trio.sleep(dice.uniform(0, 0.3))
            if how == "cancelled":
                serving.cancel_scope.cancel()
            else:
                stop.set()
            if how == "stopped, then cancelled":
                await trio.sleep(dice.uniform(0, 0.2))
                serving.cancel_scope.cancel()
        ended.set()
        attackers.cancel_scope.cancel()
    assert ended.is_set()
    assert trio.lowlevel.current_statistics().tasks_living == before
