"""Version 1 of the official Python client, which most have: a client of 2025."""

from __future__ import annotations

import pytest

from tests.clients.environments import find_python_1
from tests.clients.steps import Report, expect, run_client

EXPECTED = expect("2025-11-25", {"pings": True, "ends its session": 404})


@pytest.fixture(scope="module", params=["native", "hypercorn"])
def report(request: pytest.FixtureRequest) -> Report:
    return run_client(find_python_1(), http=request.param)


@pytest.mark.parametrize("step", EXPECTED)
def test_python_1(report: Report, step: str) -> None:
    assert report.read(step) == EXPECTED[step], report.rest


def test_python_1_takes_these_steps_and_no_others(report: Report) -> None:
    assert report.steps == {*EXPECTED}, report.rest
