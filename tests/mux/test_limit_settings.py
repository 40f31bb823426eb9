"""`Limits` and `RateLimit`: what may be set, and what holds when nothing is."""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.limits import Limits, RateLimit, read_own_rate_limit
from genmcp.mcp.unset import UNSET

PER_CALLER = [
    "max_calls_per_caller",
    "max_streams_per_caller",
    "rate_limit",
    "completion_rate_limit",
]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("1000/60s", RateLimit(1000, 60)),
        ("100/minute", RateLimit(100, 60)),
        ("5/s", RateLimit(5, 1)),
        (" 5 / 2 h ", RateLimit(5, 7200)),
        ("10/hour", RateLimit(10, 3600)),
        ("1/day", RateLimit(1, 86_400)),
        ("3/1.5min", RateLimit(3, 90)),
        ("3/90 seconds", RateLimit(3, 90)),
        ("3/1e-3s", RateLimit(3, 0.001)),
    ],
)
def test_rate_limits_are_read_from_text(text: str, limit: RateLimit) -> None:
    assert RateLimit.read(text) == limit


@pytest.mark.parametrize(
    "text",
    [
        *["", "1000", "1000/", "/60s", "1000/60", "1000/60x", "1.5/60s", "-1/60s", "1/-60s"],
        *["0/60s", "1/0s", "1/60s/2", "1000 per minute", "1/1.2.3s", "1/1e999s", "\u0661/s"],
        *["1/.s", "9" * 5000 + "/s"],
    ],
)
def test_text_that_is_no_rate_limit_is_refused(text: str) -> None:
    # As the command line ends "--rate-limit must be".
    with pytest.raises(ValueError, match=r'^a rate limit, such as "1000/60s" or "100/minute"'):
        RateLimit.read(text)


@given(st.integers(1, 10**12), st.floats(1e-9, 1e12))
def test_text_of_a_rate_limit_is_read_as_the_same(calls: int, per_seconds: float) -> None:
    limit = RateLimit(calls, per_seconds)
    assert RateLimit.read(str(limit)) == limit


def test_a_rate_limit_says_what_it_is() -> None:
    assert str(RateLimit(1000, 60)) == "1000/60s"
    assert RateLimit(5, 1.5).describe() == "5 calls in 1.5 s"
    assert RateLimit(1, 60).describe() == "1 call in 60 s"


@pytest.mark.parametrize(
    ("calls", "per_seconds", "names"),
    [
        (0, 60, "calls"),
        (-1, 60, "calls"),
        (1.5, 60, "calls"),
        (True, 60, "calls"),
        (1, 0, "per_seconds"),
        (1, -1, "per_seconds"),
        (1, math.inf, "per_seconds"),
        (1, math.nan, "per_seconds"),
        (1, "60", "per_seconds"),
    ],
)
def test_rate_limits_that_make_no_sense_are_named(calls: Any, per_seconds: Any, names: str) -> None:
    with pytest.raises(ValueError, match=names):
        RateLimit(calls, per_seconds)


@pytest.mark.parametrize("name", ["max_calls", *PER_CALLER])
@pytest.mark.parametrize("value", [0, -1, True, 1.5, "100/minute", (5, 60)])
def test_limits_that_make_no_sense_are_named(name: str, value: Any) -> None:
    limits: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=rf"^{name} must be "):
        Limits(**limits)


def test_all_calls_together_always_have_a_limit() -> None:
    none: Any = None
    with pytest.raises(ValueError, match="max_calls"):
        Limits(max_calls=none)
    assert Limits().max_calls == 10_000


def test_limits_on_one_caller_are_on_by_default_only_where_others_call() -> None:
    assert [getattr(Limits(), name) for name in PER_CALLER] == [UNSET] * 4
    among_others = Limits().fill_in(limited_by_default=True)
    thousand = RateLimit(calls=1000, per_seconds=60)
    assert [getattr(among_others, name) for name in PER_CALLER] == [100, 100, thousand, thousand]
    alone = Limits().fill_in(limited_by_default=False)
    assert [getattr(alone, name) for name in PER_CALLER] == [None] * 4


@pytest.mark.parametrize("limited_by_default", [True, False])
@pytest.mark.parametrize("name", PER_CALLER)
def test_what_is_given_holds_everywhere(name: str, *, limited_by_default: bool) -> None:
    for value in (None, RateLimit(7, 70) if name.endswith("rate_limit") else 7):
        given: dict[str, Any] = {name: value}
        filled = Limits(**given).fill_in(limited_by_default=limited_by_default)
        assert getattr(filled, name) == value
        assert UNSET not in attrs.astuple(filled, recurse=False)


@pytest.mark.parametrize("value", [None, "unlimited", RateLimit(5, 60)])
def test_a_tool_says_a_limit_or_that_it_has_none(value: Any) -> None:
    assert read_own_rate_limit(value) is value


@pytest.mark.parametrize("value", [5, "5/minute", (5, 60), False, 0, UNSET])
def test_a_tool_says_nothing_else_of_its_limit(value: Any) -> None:
    with pytest.raises(TypeError, match=r'RateLimit.*"unlimited"'):
        read_own_rate_limit(value)
