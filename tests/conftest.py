"""Settings for all tests. Fixtures for trio (`nursery`, `autojump_clock`) are pytest-trio's."""

from __future__ import annotations

from hypothesis import settings

# What hypothesis chose for where it runs (in CI: the same examples every time), but an
# example may take its time: on a shared machine a deadline fails tests, not code.
settings.register_profile("unhurried", settings(), deadline=None)
settings.load_profile("unhurried")
