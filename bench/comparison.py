"""Medians, ratios and their spread.

A ratio says how many times as good genmcp is as a peer: of a rate, its own by the peer's;
of a time or an amount, the peer's by its own. Above 1, genmcp is the better one.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import attrs

from bench.peers import SOURCE
from bench.rounds import Results
from bench.work import Figure, Work


@attrs.frozen
class Spread:
    """A median, and the lowest and the highest of what it is the median of."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of these; at least one."""
        return cls(statistics.median(values), min(values), max(values))


def find_values(results: Results, work: str, peer: str, key: str) -> list[float]:
    """Return the figure in each round that has it."""
    samples = results.samples.get(work, {}).get(peer, [])
    return [sample[key] for sample in samples if key in sample]


def find_spread(results: Results, work: str, peer: str, key: str) -> Spread | None:
    """Return the spread of a figure over the rounds, if it is known."""
    values = find_values(results, work, peer, key)
    return Spread.of(values) if values else None


def compare(
    results: Results, work: Work, figure: Figure, peer: str, *, who: str = SOURCE
) -> Spread | None:
    """Return how many times as good `who` is as `peer`, if both are known.

    The ratios are those of the rounds, in each of which the two were measured one after the
    other, so that what else the machine did, which may last for a round, is in both.
    """
    own = find_values(results, work.name, who, figure.key)
    other = find_values(results, work.name, peer, figure.key)
    if not own or not other:
        return None
    better, worse = (own, other) if figure.more_is_better else (other, own)
    return Spread.of([_divide(one, two) for one, two in zip(better, worse, strict=False)])


def _divide(one: float, two: float) -> float:
    # What is too little to be measured is no number of times as good.
    return one / two if two > 0 else float("inf")
