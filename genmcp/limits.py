"""Limits: how much one request, one caller, and all of them together may take.

Layer: contract, at the bottom. `genmcp.transport` holds the bodies of requests to
them, `genmcp.mux` the calls; each refusal names the limit that was reached.

One caller is a principal, if the application says who was authenticated, and a network
address otherwise: see `genmcp.mux.caller_key`.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import Any, Final, Literal, TypeAlias, TypedDict

import attrs

from genmcp.errors import show
from genmcp.mcp.unset import UNSET, Unset
from genmcp.value import Value


def _check_count(_: Any, field: attrs.Attribute[int], value: object) -> None:
    if type(value) is not int or value < 1:
        raise ValueError(f"{field.name} must be a positive whole number, got {show(value)}")


def _check_seconds(_: Any, field: attrs.Attribute[float], value: object) -> None:
    # Not infinity either: what never ends would keep the server from ending.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{field.name} must be a positive number of seconds, got {show(value)}")


def _check_optional_count(instance: Any, field: attrs.Attribute[Any], value: object) -> None:
    if value is None or value is UNSET:
        return
    if type(value) is not int or value < 1:
        raise ValueError(
            f"{field.name} must be a positive whole number, or None for no limit, got {show(value)}"
        )


def _check_rate(_: Any, field: attrs.Attribute[Any], value: object) -> None:
    if not (value is None or value is UNSET or isinstance(value, RateLimit)):
        raise ValueError(
            f"{field.name} must be a RateLimit, such as RateLimit(calls=1000, per_seconds=60), "
            f"or None for no limit, got {show(value)}"
        )


# -- how often -----------------------------------------------------------------------

_RATE_TEXT: Final = re.compile(
    r"\s*(?P<calls>[0-9]+)\s*/\s*(?P<count>[0-9.]+(?:e[+-]?[0-9]+)?)?\s*(?P<unit>[a-z]+)\s*"
)

_UNIT_SECONDS: Final = {
    **dict.fromkeys(["s", "sec", "second", "seconds"], 1),
    **dict.fromkeys(["m", "min", "minute", "minutes"], 60),
    **dict.fromkeys(["h", "hour", "hours"], 3600),
    **dict.fromkeys(["d", "day", "days"], 86_400),
}


@attrs.frozen(eq=False, repr=False)
class RateLimit(Value):
    """How often something may be called: `calls` at once, and then as many in `per_seconds`.

    A bucket of `calls` tokens, which is full at first and fills again steadily, one token
    in `per_seconds / calls` seconds. A call takes one, and is refused where there is none.

        RateLimit(calls=5, per_seconds=60)  # five at once, then one every 12 s

    Attributes:
        calls: how many calls may come at once.
        per_seconds: in how many seconds an empty bucket is full again.

    Raises:
        ValueError: one of them is not positive, or `calls` is no whole number.
    """

    calls: int = attrs.field(validator=_check_count)
    per_seconds: float = attrs.field(validator=_check_seconds)

    @classmethod
    def read(cls, text: str) -> RateLimit:
        """Read a rate limit from text: `1000/60s`, `100/minute`, `5 / 2 h`.

        The units are seconds, minutes, hours and days, in full or by their first letter.
        `str()` of a rate limit is such a text.

        Raises:
            ValueError: it is none.
        """
        match = _RATE_TEXT.fullmatch(text)
        if match is not None and match["unit"] in _UNIT_SECONDS:
            # Numbers of that look may be none, or out of range; all are told the same.
            with suppress(ValueError):
                count = 1 if match["count"] is None else float(match["count"])
                return cls(int(match["calls"]), count * _UNIT_SECONDS[match["unit"]])
        raise ValueError(f'a rate limit, such as "1000/60s" or "100/minute", got {show(text)}')

    def __str__(self) -> str:
        return f"{self.calls}/{_show_number(self.per_seconds)}s"

    def describe(self) -> str:
        """Return it for a sentence: `5 calls in 60 s`."""
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        return f"{calls} in {_show_number(self.per_seconds)} s"


def _show_number(number: float) -> str:
    return repr(float(number)).removesuffix(".0")


OwnRateLimit: TypeAlias = RateLimit | Literal["unlimited"] | None
"""What a tool says of how often it may be called: its own limit, or none at all, or
`None` for that of the endpoint."""


def read_own_rate_limit(value: object) -> OwnRateLimit:
    """Check what an author wrote for a tool's `rate_limit`.

    Raises:
        TypeError: it is something else.
    """
    if value is None or isinstance(value, RateLimit):
        return value
    if value == "unlimited":
        return "unlimited"
    raise TypeError(
        'must be a RateLimit, such as RateLimit(calls=5, per_seconds=60), or "unlimited", '
        f"got {show(value)}"
    )


# -- all limits ----------------------------------------------------------------------


class LimitOptions(TypedDict, total=False):
    """The limits as keywords of `StreamableHTTP` and `serve`; `Limits` says what they mean."""

    max_body_bytes: int
    body_timeout_seconds: float
    max_json_depth: int
    cleanup_seconds: float
    max_queued_messages: int
    max_threads: int
    max_threads_per_caller: int | Unset | None
    max_calls: int
    max_calls_per_caller: int | Unset | None
    max_streams_per_caller: int | Unset | None
    rate_limit: RateLimit | Unset | None
    completion_rate_limit: RateLimit | Unset | None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Limits(Value):
    """The limits of one endpoint.

    Those on one caller are on by default where strangers may call, which is where
    `public_url`, `authorization` or `principal` is given, and off elsewhere: see `fill_in`.
    `None` switches one off.

    Attributes:
        max_body_bytes: the largest request body read.
        body_timeout_seconds: how long a request's body may take to arrive, and then
            whatever finds out who is calling.
        max_json_depth: how deep a body's arrays and objects may be nested.
        cleanup_seconds: how long `finally` blocks and `handle_close` of a call may take
            once its client has gone.
        max_queued_messages: how many posted messages may wait for one call.
        max_threads: how many plain `def` handlers may run at the same time.
        max_threads_per_caller: how many of them for one caller; its other handlers wait.
            By default half of `max_threads` where strangers may call.
        max_calls: how many calls may be open in all, listen streams included.
        max_calls_per_caller: how many calls of one caller may be open, listen streams
            not counted. By default 100 where strangers may call.
        max_streams_per_caller: how many listen streams of one caller may be open. By
            default 100 where strangers may call.
        rate_limit: how often one caller may call one tool that has no limit of its own,
            such as 1000/60s or 100/minute. By default 1000/60s where strangers may call.
        completion_rate_limit: how often one caller may ask one repository for
            suggestions. By default 1000/60s where strangers may call.

    Raises:
        ValueError: a limit is not positive, or no limit at all; the message names it.
    """

    max_body_bytes: int = attrs.field(default=4 * 1024 * 1024, validator=_check_count)
    body_timeout_seconds: float = attrs.field(default=30.0, validator=_check_seconds)
    max_json_depth: int = attrs.field(default=128, validator=_check_count)
    cleanup_seconds: float = attrs.field(default=5.0, validator=_check_seconds)
    max_queued_messages: int = attrs.field(default=1_000, validator=_check_count)
    max_threads: int = attrs.field(default=40, validator=_check_count)
    max_threads_per_caller: int | Unset | None = attrs.field(
        default=UNSET, validator=_check_optional_count
    )
    max_calls: int = attrs.field(default=10_000, validator=_check_count)
    max_calls_per_caller: int | Unset | None = attrs.field(
        default=UNSET, validator=_check_optional_count
    )
    max_streams_per_caller: int | Unset | None = attrs.field(
        default=UNSET, validator=_check_optional_count
    )
    rate_limit: RateLimit | Unset | None = attrs.field(default=UNSET, validator=_check_rate)
    completion_rate_limit: RateLimit | Unset | None = attrs.field(
        default=UNSET, validator=_check_rate
    )

    def fill_in(self, *, limited_by_default: bool) -> Limits:
        """Return these limits with a value for each that was left to the default.

        Args:
            limited_by_default: whether strangers may call. On a server that only loopback
                reaches, one address is one user, and many calls are that user's own affair.
        """
        missing: dict[str, Any] = {
            name: value if limited_by_default else None
            for name, value in (
                ("max_threads_per_caller", max(1, self.max_threads // 2)),
                *PER_CALLER.items(),
            )
            if getattr(self, name) is UNSET
        }
        return attrs.evolve(self, **missing)


PER_CALLER: Final[dict[str, Any]] = {
    "max_calls_per_caller": 100,
    "max_streams_per_caller": 100,
    "rate_limit": RateLimit(calls=1_000, per_seconds=60),
    "completion_rate_limit": RateLimit(calls=1_000, per_seconds=60),
}
"""The limits of each caller, and what they are where strangers may call."""

DEFAULT_LIMITS: Final = Limits()
