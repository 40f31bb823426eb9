"""A short soak of either server; `make soak` runs longer ones, and says what it counts."""

from __future__ import annotations

import pytest

from tests.fuzz.target import Front
from tests.soak.inside import soak_inside
from tests.soak.process import soak_process

SEED = 20260728
SECONDS = 2.0
ROUNDS = 2
MAX_GROWTH_KIB = 64 * 1024
"""In so short a time what is kept for good is not complete yet: this is for what runs away."""


@pytest.mark.parametrize("front", ["native", "hypercorn"])
async def test_a_server_in_this_process_is_level_at_the_end(front: Front) -> None:
    assert await soak_inside(front, SECONDS, SEED, ROUNDS) == []


@pytest.mark.parametrize("front", ["native", "hypercorn"])
async def test_a_process_is_level_and_ends_in_good_order(front: Front) -> None:
    assert await soak_process(front, SECONDS, SEED, ROUNDS, MAX_GROWTH_KIB) == []
