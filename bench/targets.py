"""What is wanted of the figures, and whether it was reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import attrs

from bench.comparison import Spread, compare, find_spread
from bench.peers import PEERS, SOURCE
from bench.plan import PLAN
from bench.rounds import Results

PLAIN_RATE: Final = 3.0
FASTMCP_RATE: Final = 6.0
LATENCY: Final = 2.0
PROGRESS_RATE: Final = 3.0
PARKED_KIB: Final = 20.0
IMPORT_TIME: Final = 3.0
WORKERS_RATE: Final = 1.7
BARE_SHARE: Final = 0.35


@attrs.frozen
class Target:
    """One wish.

    Attributes:
        title: what is wanted, in words.
        find: returns what was found, if everything it takes was measured.
        wanted: what it has to reach.
        at_most: whether it must not exceed `wanted`, rather than reach it.
        unit: what it is counted in.
    """

    title: str
    find: Callable[[Results], Spread | None]
    wanted: float
    at_most: bool = False
    unit: str = "x"

    def is_met(self, found: Spread) -> bool:
        """Say whether the median is as wanted."""
        return found.median <= self.wanted if self.at_most else found.median >= self.wanted


def _ratio(
    work: str, key: str, peer: str, *, who: str = SOURCE
) -> Callable[[Results], Spread | None]:
    def find(results: Results) -> Spread | None:
        [figure] = [figure for figure in PLAN[work].figures if figure.key == key]
        return compare(results, PLAN[work], figure, peer, who=who)

    return find


def _own(work: str, key: str) -> Callable[[Results], Spread | None]:
    return lambda results: find_spread(results, work, SOURCE, key)


def _tail_by_median(results: Results) -> Spread | None:
    """Return the SDK's p50 by our p99, at 32 connections."""
    own = find_spread(results, "add-32", SOURCE, "p99_ms")
    other = find_spread(results, "add-32", "sdk", "p50_ms")
    if own is None or other is None:
        return None
    return Spread(other.median / own.median, other.low / own.high, other.high / own.low)


_SDK: Final = PEERS["sdk"].title

TARGETS: Final[Sequence[Target]] = (
    Target(f"calls per second at 32, by the {_SDK}'s", _ratio("add-32", "rate", "sdk"), PLAIN_RATE),
    Target(
        "calls per second at 32, by FastMCP's", _ratio("add-32", "rate", "fastmcp"), FASTMCP_RATE
    ),
    Target(f"the {_SDK}'s p50 at 1, by ours", _ratio("add-1", "p50_ms", "sdk"), LATENCY),
    Target(f"the {_SDK}'s p50 at 32, by our p99", _tail_by_median, 1.0),
    Target(
        f"progress notifications per second, by the {_SDK}'s",
        _ratio("progress", "rate", "sdk"),
        PROGRESS_RATE,
    ),
    Target(
        "memory of a parked listen stream",
        _own("parked-listen-5000", "kib"),
        PARKED_KIB,
        at_most=True,
        unit="KiB",
    ),
    Target(
        "memory of a parked call",
        _own("parked-wait-5000", "kib"),
        PARKED_KIB,
        at_most=True,
        unit="KiB",
    ),
    Target(
        "time to import `mcp.server`, by that for `genmcp`",
        _ratio("import", "wall_ms", "sdk"),
        IMPORT_TIME,
    ),
    Target(
        f"the same, with a server of one tool, by the {_SDK}'s",
        _ratio("define", "wall_ms", "sdk"),
        IMPORT_TIME,
    ),
    Target(
        "calls per second at 256 with two workers, by those with one",
        _ratio("add-256", "rate", "command", who="workers"),
        WORKERS_RATE,
    ),
    Target("calls per second at 1, by the bare limit", _ratio("add-1", "rate", "bare"), BARE_SHARE),
    Target(
        "calls per second at 32, by the bare limit", _ratio("add-32", "rate", "bare"), BARE_SHARE
    ),
)
