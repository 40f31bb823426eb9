"""A soak in this process, where all that is left can be counted."""

from __future__ import annotations

import gc
import random
import tracemalloc

import attrs

from tests.fuzz.target import Front, Resources, is_within, under_attack
from tests.soak.load import Load

ROUNDS = 4
MAX_GROWTH_BYTES = 1024 * 1024
"""What a round may leave behind: caches that fill up, and free lists. A leak of a hundred
bytes for each of its many thousand requests is more."""


@attrs.frozen
class Level:
    """What there is when nobody does anything."""

    open: Resources
    traced_bytes: int
    objects: int


async def soak_inside(front: Front, seconds: float, seed: int, rounds: int = ROUNDS) -> list[str]:
    """Load a server in this process; return what was wrong at the end."""
    tracemalloc.start()
    wrong: list[str] = []
    levels: list[Level] = []
    async with under_attack(front) as target:
        load = Load(target.port, random.Random(seed), seed)  # noqa: S311 - repeatable
        bounds = target.count()
        for _ in range(rounds):
            await load.run(seconds / rounds)
            left = await target.settle(bounds)
            if not is_within(left, bounds):
                wrong.append(f"left behind: {left}, and at first there was {bounds}")
            levels.append(_measure(left))
            print(f"  {levels[-1]}")  # noqa: T201 - for whoever ran it
        print(f"  {dict(load.done)}")  # noqa: T201 - for whoever ran it
    tracemalloc.stop()
    # The first round fills what is kept for good.
    growth = levels[-1].traced_bytes - levels[0].traced_bytes
    if growth > MAX_GROWTH_BYTES * (rounds - 1):
        wrong.append(f"memory grew by {growth} bytes in {rounds - 1} rounds")
    return wrong + target.log.errors


def _measure(left: Resources) -> Level:
    gc.collect()
    return Level(left, tracemalloc.get_traced_memory()[0], len(gc.get_objects()))
