"""Limits: how much one request, one caller, and all of them together may take.

Layer: contract, at the bottom. `genmcp.transport` holds the bodies of requests to
them, `genmcp.mux` the calls; each refusal names the limit that was reached.
"""

from __future__ import annotations

import math
from typing import Any, Final, TypedDict

import attrs

from genmcp.errors import show


class LimitOptions(TypedDict, total=False):
    """The limits as keywords of `StreamableHTTP` and `serve`; `Limits` says what they mean."""

    max_body_bytes: int
    body_timeout_seconds: float
    max_json_depth: int
    cleanup_seconds: float
    max_queued_messages: int
    max_threads: int


def _check_count(_: Any, field: attrs.Attribute[int], value: object) -> None:
    if type(value) is not int or value < 1:
        raise ValueError(f"{field.name} must be a positive whole number, got {show(value)}")


def _check_seconds(_: Any, field: attrs.Attribute[float], value: object) -> None:
    # Not infinity either: what never ends would keep the server from ending.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{field.name} must be a positive number of seconds, got {show(value)}")


@attrs.frozen(kw_only=True)
class Limits:
    """The limits of one endpoint.

    Attributes:
        max_body_bytes: the largest request body read.
        body_timeout_seconds: how long a request's body may take to arrive, and then
            whatever finds out who is calling.
        max_json_depth: how deep a body's arrays and objects may be nested.
        cleanup_seconds: how long `finally` blocks and `handle_close` of a call may take
            once its client has gone.
        max_queued_messages: how many posted messages may wait for one call.
        max_threads: how many plain `def` handlers may run at the same time.

    Raises:
        ValueError: a limit is not positive; the message names it.
    """

    max_body_bytes: int = attrs.field(default=4 * 1024 * 1024, validator=_check_count)
    body_timeout_seconds: float = attrs.field(default=30.0, validator=_check_seconds)
    max_json_depth: int = attrs.field(default=128, validator=_check_count)
    cleanup_seconds: float = attrs.field(default=5.0, validator=_check_seconds)
    max_queued_messages: int = attrs.field(default=1_000, validator=_check_count)
    max_threads: int = attrs.field(default=40, validator=_check_count)


DEFAULT_LIMITS: Final = Limits()
