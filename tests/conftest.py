"""Settings for all tests. Fixtures for trio (`nursery`, `autojump_clock`) are pytest-trio's."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from hypothesis import settings

from tests.requirements.skipped import refuse_skipped_proof

# What hypothesis chose for where it runs (in CI: the same examples every time), but an
# example may take its time: on a shared machine a deadline fails tests, not code.
settings.register_profile("unhurried", settings(), deadline=None)
settings.load_profile("unhurried")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    refuse_skipped_proof(report)
    return report
