"""Version 2 of the official Python client, in each of its modes, step by step."""

from __future__ import annotations

from functools import cache

import pytest

from tests.clients.environments import find_python_2
from tests.clients.steps import Report, expect, run_client

TODAY = expect("2026-07-28", {})
EXPECTED = {
    # It sends nothing when it opens, and so nobody has told it whom it talks to.
    "pinned": {**TODAY, "opens": {"version": "2026-07-28", "server": None}},
    "auto": TODAY,
    "legacy": expect("2025-11-25", {"pings": True}),
}
RUNS = [(over, mode) for over in ("native", "hypercorn", "stdio") for mode in EXPECTED]
STEPS = [(over, mode, step) for over, mode in RUNS for step in EXPECTED[mode]]


@cache
def report(over: str, mode: str) -> Report:
    """Return what the client says, which takes its steps once."""
    return run_client([*find_python_2(), mode], over=over)


@pytest.mark.parametrize(("over", "mode", "step"), STEPS)
def test_python_2(over: str, mode: str, step: str) -> None:
    said = report(over, mode)
    assert said.read(step) == EXPECTED[mode][step], said.rest


@pytest.mark.parametrize(("over", "mode"), RUNS)
def test_python_2_takes_these_steps_and_no_others(over: str, mode: str) -> None:
    assert report(over, mode).steps == {*EXPECTED[mode]}, report(over, mode).rest
