"""The official TypeScript client, in each of its modes: which version it asks for, and how."""

from __future__ import annotations

import pytest

from tests.clients.environments import find_typescript
from tests.clients.steps import Report, expect, run_client

TODAY = expect("2026-07-28", {})
EXPECTED = {
    "pinned": TODAY,
    "auto": TODAY,
    "legacy": expect("2025-11-25", {"pings": True, "ends its session": 404}),
}
STEPS = [(mode, step) for mode, expected in EXPECTED.items() for step in expected]


@pytest.fixture(scope="module", params=["native", "hypercorn"])
def reports(request: pytest.FixtureRequest) -> dict[str, Report]:
    return {mode: run_client([*find_typescript(), mode], http=request.param) for mode in EXPECTED}


@pytest.mark.parametrize(("mode", "step"), STEPS)
def test_typescript(reports: dict[str, Report], mode: str, step: str) -> None:
    report = reports[mode]
    assert report.read(step) == EXPECTED[mode][step], report.rest


@pytest.mark.parametrize("mode", EXPECTED)
def test_typescript_takes_these_steps_and_no_others(reports: dict[str, Report], mode: str) -> None:
    assert reports[mode].steps == {*EXPECTED[mode]}, reports[mode].rest
