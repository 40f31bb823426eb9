"""Version 2 of the official Python client, in each of its modes, step by step."""

from __future__ import annotations

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
STEPS = [(mode, step) for mode, expected in EXPECTED.items() for step in expected]


@pytest.fixture(scope="module", params=["native", "hypercorn"])
def reports(request: pytest.FixtureRequest) -> dict[str, Report]:
    return {mode: run_client([*find_python_2(), mode], http=request.param) for mode in EXPECTED}


@pytest.mark.parametrize(("mode", "step"), STEPS)
def test_python_2(reports: dict[str, Report], mode: str, step: str) -> None:
    report = reports[mode]
    assert report.read(step) == EXPECTED[mode][step], report.rest


@pytest.mark.parametrize("mode", EXPECTED)
def test_python_2_takes_these_steps_and_no_others(reports: dict[str, Report], mode: str) -> None:
    assert reports[mode].steps == {*EXPECTED[mode]}, reports[mode].rest
