"""The official TypeScript client, in each of its modes: which version it asks for, and how."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from tests.clients.environments import find_typescript
from tests.clients.steps import Report, expect, run_client

TODAY = expect("2026-07-28", {})
EXPECTED = {
    "pinned": TODAY,
    "auto": TODAY,
    "legacy": expect("2025-11-25", {"pings": True, "ends its session": 404}),
}
HTTP_ALONE = {"hears of progress", "ends its session"}


def expect_over(over: str, mode: str) -> Mapping[str, Any]:
    """Return what must be found; see the driver for what it does not look for over stdio."""
    found = EXPECTED[mode]
    return {step: found[step] for step in found if over != "stdio" or step not in HTTP_ALONE}


RUNS = [(over, mode) for over in ("native", "hypercorn", "stdio") for mode in EXPECTED]
STEPS = [(over, mode, step) for over, mode in RUNS for step in expect_over(over, mode)]


@cache
def report(over: str, mode: str) -> Report:
    """Return what the client says, which takes its steps once."""
    return run_client([*find_typescript(), mode], over=over)


@pytest.mark.parametrize(("over", "mode", "step"), STEPS)
def test_typescript(over: str, mode: str, step: str) -> None:
    said = report(over, mode)
    assert said.read(step) == expect_over(over, mode)[step], said.rest


@pytest.mark.parametrize(("over", "mode"), RUNS)
def test_typescript_takes_these_steps_and_no_others(over: str, mode: str) -> None:
    assert report(over, mode).steps == {*expect_over(over, mode)}, report(over, mode).rest
