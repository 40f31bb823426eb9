"""Rates: token buckets, by a clock that the test sets."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.errors import LimitExceeded
from genmcp.limits import RateLimit
from genmcp.mux.rates import MAX_BUCKETS, RateLimiter, Rates


class Clock:
    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


FIVE_A_MINUTE = RateLimit(calls=5, per_seconds=60)


def test_a_bucket_gives_its_calls_at_once_and_then_one_by_one() -> None:
    clock = Clock(1_000_000.5)
    limiter = RateLimiter(clock)
    assert [limiter.take("key", FIVE_A_MINUTE) for _ in range(5)] == [0.0] * 5
    assert limiter.take("key", FIVE_A_MINUTE) == pytest.approx(12)
    clock.now += 11.9
    assert limiter.take("key", FIVE_A_MINUTE) == pytest.approx(0.1)
    clock.now += 0.1
    assert limiter.take("key", FIVE_A_MINUTE) == 0
    assert limiter.take("key", FIVE_A_MINUTE) == pytest.approx(12)


def test_a_bucket_holds_no_more_than_its_calls() -> None:
    clock = Clock()
    limiter = RateLimiter(clock)
    limiter.take("key", FIVE_A_MINUTE)
    clock.now += 1_000_000
    assert [limiter.take("key", FIVE_A_MINUTE) == 0 for _ in range(6)] == [True] * 5 + [False]


def test_keys_have_buckets_of_their_own() -> None:
    limiter = RateLimiter(Clock())
    for _ in range(6):
        limiter.take("ada", FIVE_A_MINUTE)
    assert limiter.take("ada", FIVE_A_MINUTE) > 0
    assert limiter.take("bob", FIVE_A_MINUTE) == 0


def test_a_stricter_limit_holds_from_now_on() -> None:
    clock = Clock()
    limiter = RateLimiter(clock)
    for _ in range(1_000):
        limiter.take("key", RateLimit(calls=1_000, per_seconds=100_000))
    strict = RateLimit(calls=1, per_seconds=10)
    assert limiter.take("key", strict) == pytest.approx(10)
    clock.now += 10
    assert limiter.take("key", strict) == 0


LIMITS = st.builds(
    RateLimit,
    calls=st.integers(1, 50),
    per_seconds=st.one_of(st.integers(1, 3_600), st.floats(0.01, 10_000)),
)
PAUSES = st.lists(
    st.one_of(st.just(0.0), st.floats(0, 5), st.floats(0, 10_000)), min_size=1, max_size=120
)


@given(LIMITS, PAUSES, st.floats(0, 10_000_000))
def test_no_window_has_more_calls_than_a_bucket_and_what_flows_in(
    limit: RateLimit, pauses: list[float], start: float
) -> None:
    clock = Clock(start)
    limiter = RateLimiter(clock)
    granted: list[Fraction] = []
    for pause in pauses:
        clock.now += pause
        if limiter.take("key", limit) == 0:
            granted.append(Fraction(clock.now))
    rate = Fraction(limit.calls) / Fraction(limit.per_seconds)
    # What the tolerance and floating point may add up to: far from one call.
    slack = rate * Fraction(1, 100_000)
    for first, since in enumerate(granted):
        for last in range(first, len(granted)):
            allowed = limit.calls + (granted[last] - since) * rate + slack
            assert last - first + 1 <= allowed


@given(LIMITS, PAUSES)
def test_whoever_waits_as_long_as_it_was_told_is_granted(
    limit: RateLimit, pauses: list[float]
) -> None:
    clock = Clock(12_345.678)
    limiter = RateLimiter(clock)
    for pause in pauses:
        clock.now += pause
        missing = limiter.take("key", limit)
        assert 0 <= missing <= limit.per_seconds + 1e-6
        if missing:
            clock.now += missing
            assert limiter.take("key", limit) == 0


@given(LIMITS, PAUSES)
def test_a_refused_call_costs_nothing(limit: RateLimit, pauses: list[float]) -> None:
    """Asking in between makes no difference to those who ask only when it is granted."""
    clock = Clock()
    eager, patient = RateLimiter(clock), RateLimiter(clock)
    for pause in pauses:
        clock.now += pause
        if eager.take("key", limit) == 0:
            assert patient.take("key", limit) == 0
            while (missing := eager.take("key", limit)) == 0:
                assert patient.take("key", limit) == 0
            for _ in range(3):
                assert eager.take("key", limit) == missing


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(0, 30)), max_size=150),
    st.integers(1, 6),
)
def test_a_bucket_that_is_forgotten_wins_its_calls_once_more_at_most(
    asked: list[tuple[str, float]], max_buckets: int
) -> None:
    clock = Clock()
    limiter = RateLimiter(clock, max_buckets)
    granted: Counter[str] = Counter()
    forgotten: Counter[str] = Counter()
    for key, pause in asked:
        clock.now += pause
        if key in granted and key not in limiter._full_at:
            forgotten[key] += 1
        granted[key] += limiter.take(key, FIVE_A_MINUTE) == 0
        assert len(limiter) <= max_buckets
        assert granted[key] <= 5 * (1 + forgotten[key]) + clock.now / 12 + 0.001
    if max_buckets == 6:
        assert not forgotten


def test_no_more_than_so_many_buckets_are_kept() -> None:
    limiter = RateLimiter(Clock())
    for number in range(MAX_BUCKETS + 1_000):
        limiter.take(number, FIVE_A_MINUTE)
    assert len(limiter) == MAX_BUCKETS


def test_a_flood_of_callers_wins_one_of_them_a_bucket_and_no_more() -> None:
    limiter = RateLimiter(Clock(), max_buckets=100)

    def exhaust() -> int:
        granted = 0
        while limiter.take("abuser", FIVE_A_MINUTE) == 0:
            granted += 1
        return granted

    assert exhaust() == 5
    for number in range(99):
        limiter.take(number, FIVE_A_MINUTE)
    assert exhaust() == 0, "99 others are not enough"
    for number in range(100, 200):
        limiter.take(number, FIVE_A_MINUTE)
    assert exhaust() == 5


def test_a_caller_who_keeps_asking_is_not_forgotten() -> None:
    limiter = RateLimiter(Clock(), max_buckets=10)
    for _ in range(5):
        limiter.take("abuser", FIVE_A_MINUTE)
    for number in range(1_000):
        assert limiter.take("abuser", FIVE_A_MINUTE) > 0
        limiter.take(number, FIVE_A_MINUTE)


# -- by method -------------------------------------------------------------------------


def make_rates(clock: Clock | None = None) -> Rates:
    return Rates(
        {
            "tools/call": ("rate_limit", RateLimit(calls=2, per_seconds=60)),
            "completion/complete": ("completion_rate_limit", None),
        },
        Clock() if clock is None else clock,
    )


def count_granted(rates: Rates, method: str, own: object = None, who: str = "ada") -> int:
    for granted in range(10):
        try:
            rates.check(who, method, "target", own)  # type: ignore[arg-type]
        except LimitExceeded:
            return granted
    return 10


@pytest.mark.parametrize(
    ("method", "own", "granted"),
    [
        ("tools/call", None, 2),
        ("tools/call", RateLimit(calls=3, per_seconds=60), 3),
        ("tools/call", "unlimited", 10),
        ("completion/complete", None, 10),
        ("completion/complete", RateLimit(calls=4, per_seconds=60), 4),
        ("prompts/get", None, 10),
        ("prompts/get", RateLimit(calls=1, per_seconds=60), 1),
    ],
)
def test_a_limit_of_its_own_stands_in_for_that_of_the_method(
    method: str, own: object, granted: int
) -> None:
    rates = make_rates()
    assert count_granted(rates, method, own) == granted
    assert count_granted(rates, method, own, "bob") == granted


def test_a_refusal_says_what_how_often_and_when_to_come_back() -> None:
    clock = Clock()
    rates = make_rates(clock)
    assert count_granted(rates, "tools/call") == 2
    clock.now += 3.5
    one = RateLimit(calls=1, per_seconds=60)
    rates.check("ada", "tools/call", "search", one)
    with pytest.raises(LimitExceeded) as refused:
        rates.check("ada", "tools/call", "search", one)
    message = "tools/call of search: one caller may make 1 call in 60 s (rate_limit)"
    assert refused.value.message == message
    # The tool's own: no flag would change it.
    assert refused.value.data == {
        "setting": "rate_limit",
        "limit": "1/60s",
        "retryAfterSeconds": 60,
    }
    with pytest.raises(LimitExceeded) as refused:
        rates.check("ada", "tools/call", "target", None)
    # 26.5 s until the next token, in whole seconds.
    assert refused.value.data == {
        "setting": "rate_limit",
        "flag": "--rate-limit",
        "variable": "GENMCP_RATE_LIMIT",
        "limit": "2/60s",
        "retryAfterSeconds": 27,
    }
    clock.now += 27
    rates.check("ada", "tools/call", "target", None)


def test_methods_targets_and_callers_are_counted_apart() -> None:
    rates = make_rates()
    one = RateLimit(calls=1, per_seconds=60)
    for who in ("ada", ("192.0.2.1",), (None,)):
        for method in ("tools/call", "completion/complete"):
            for target in ("a", "b"):
                rates.check(who, method, target, one)
    with pytest.raises(LimitExceeded):
        rates.check("ada", "tools/call", "a", one)


def test_time_without_end_refuses_nobody_for_ever() -> None:
    clock = Clock()
    limiter = RateLimiter(clock)
    slow = RateLimit(calls=1, per_seconds=1e300)
    assert limiter.take("key", slow) == 0
    assert math.isfinite(limiter.take("key", slow))
