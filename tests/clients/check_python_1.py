"""Version 1 of the official Python client, which most have: a client of 2025."""

from __future__ import annotations

from functools import cache

import pytest

from tests.clients.environments import find_python_1
from tests.clients.steps import Report, expect, run_client

STDIO = expect("2025-11-25", {"pings": True})
EXPECTED = {
    "native": {**STDIO, "ends its session": 404},
    "hypercorn": {**STDIO, "ends its session": 404},
    "stdio": STDIO,
}
STEPS = [(over, step) for over, expected in EXPECTED.items() for step in expected]


@cache
def report(over: str) -> Report:
    """Return what the client says, which takes its steps once."""
    return run_client(find_python_1(), over=over)


@pytest.mark.parametrize(("over", "step"), STEPS)
def test_python_1(over: str, step: str) -> None:
    assert report(over).read(step) == EXPECTED[over][step], report(over).rest


@pytest.mark.parametrize("over", EXPECTED)
def test_python_1_takes_these_steps_and_no_others(over: str) -> None:
    assert report(over).steps == {*EXPECTED[over]}, report(over).rest
