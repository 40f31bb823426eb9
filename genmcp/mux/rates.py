"""Rates: how often each caller calls, in token buckets.

Layer: mux, pure; the clock is given. `genmcp.suite` asks, through the channel of a call,
when it has found what is called: names that do not exist make no buckets.

Spec: server/tools#security-considerations, server/utilities/completion#security
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, TypeAlias

from genmcp.errors import LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from genmcp.limits import OwnRateLimit, RateLimit
    from genmcp.mux.caller_key import CallerKey

Clock: TypeAlias = "Callable[[], float]"
"""Gives the time in seconds, from any beginning; it never goes back."""

MAX_BUCKETS: Final = 65_536
"""How many buckets there are at most, some 15 MB."""

_TOLERANCE_SECONDS: Final = 1e-6

_NO_LIMIT: Final = ("rate_limit", None)


class RateLimiter:
    """Token buckets, one for each key that is in use.

    A bucket is one number, the time when it will be full again: each call that is granted
    puts that off by the time one token takes, and a call is refused that would put it off
    further than a bucket takes to fill. A bucket that is full is as good as none.

    There are `max_buckets` at most. The one that was asked longest ago makes room for a
    new one, and is full the next time it is asked. So a flood of callers can win one of
    them `calls` calls at most, and each time that takes calls with `max_buckets` other
    keys, every one of them held to a limit of its own.

    Args:
        clock: tells the time.
        max_buckets: how many keys are remembered.
    """

    def __init__(self, clock: Clock, max_buckets: int = MAX_BUCKETS) -> None:
        self._clock = clock
        self._max_buckets = max_buckets
        self._full_at: OrderedDict[Hashable, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full_at)

    def take(self, key: Hashable, limit: RateLimit) -> float:
        """Take one token; return 0, or in how many seconds there will be one.

        A call that is refused takes nothing: asking again and again holds up nobody, not
        even who asks.
        """
        now = self._clock()
        buckets = self._full_at
        full_at = buckets.get(key)
        if full_at is None or full_at < now:
            full_at = now
        # A limit that became stricter holds from now on, not for what was right before.
        full_at = min(full_at, now + limit.per_seconds)
        with_this = full_at + limit.per_seconds / limit.calls
        missing = with_this - now - limit.per_seconds
        # Whoever waited exactly as long as it was told has waited long enough, whatever
        # floating point makes of it. Nothing is won: it stays in the number.
        if missing <= _TOLERANCE_SECONDS:
            full_at, missing = with_this, 0.0
        buckets[key] = full_at
        # Refused or not: who keeps asking must not be forgotten.
        buckets.move_to_end(key)
        if len(buckets) > self._max_buckets:
            buckets.popitem(last=False)
        return missing


class Rates:
    """The rate limits of an endpoint, by method, and what was called so far.

    Args:
        limits: the setting and the limit of each method that has one: what holds for a
            target that has none of its own.
        clock: tells the time.
    """

    def __init__(self, limits: Mapping[str, tuple[str, RateLimit | None]], clock: Clock) -> None:
        self._limits = limits
        self._limiter = RateLimiter(clock)

    def check(self, caller: CallerKey, method: str, target: str, own: OwnRateLimit) -> None:
        """Count a call. See `Channel.check_rate`.

        Raises:
            LimitExceeded: it is one too many.
        """
        setting, limit = self._limits.get(method, _NO_LIMIT)
        if own is not None:
            limit = None if own == "unlimited" else own
        if limit is None:
            return
        missing = self._limiter.take((caller, method, target), limit)
        if missing:
            raise LimitExceeded(
                f"{method} of {target}: one caller may make {limit.describe()} ({setting})",
                setting=setting,
                retry_after_seconds=missing,
                limit=str(limit),
                is_option=own is None,
            )
