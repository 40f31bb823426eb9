"""Ratios, spreads and targets, on figures that are made up."""

from __future__ import annotations

import pytest

from bench.comparison import Spread, compare, find_spread
from bench.peers import SOURCE
from bench.plan import PLAN
from bench.rounds import Results
from bench.targets import TARGETS
from bench.work import Sample


def found(work: str, key: str, **values: list[float]) -> Results:
    samples: dict[str, list[Sample]] = {
        peer.replace("_", "-"): [{key: value} for value in each] for peer, each in values.items()
    }
    return Results({work: samples})


@pytest.mark.parametrize(
    ("key", "own", "other", "ratio"),
    [
        ("rate", [30, 10, 20], [10, 5, 2], Spread(3.0, 2.0, 10.0)),
        ("p50_ms", [1, 2, 4], [4, 4, 4], Spread(2.0, 1.0, 4.0)),
    ],
)
def test_a_ratio_above_one_means_that_genmcp_is_better(
    key: str, own: list[float], other: list[float], ratio: Spread
) -> None:
    results = found("add-32", key, **{SOURCE: own, "sdk": other})
    [one] = [each for each in PLAN["add-32"].figures if each.key == key]
    assert compare(results, PLAN["add-32"], one, "sdk") == ratio


def test_what_was_not_measured_has_no_ratio() -> None:
    results = found("add-32", "rate", sdk=[1.0])
    rate = PLAN["add-32"].figures[0]
    assert compare(results, PLAN["add-32"], rate, "sdk") is None
    assert find_spread(results, "add-32", SOURCE, "rate") is None


def test_a_peer_that_costs_too_little_to_measure_is_not_divided_by() -> None:
    results = found("add-1", "cpu_us", genmcp=[0.0], sdk=[5.0])
    [cpu] = [each for each in PLAN["add-1"].figures if each.key == "cpu_us"]
    ratio = compare(results, PLAN["add-1"], cpu, "sdk")
    assert ratio is not None
    assert ratio.median == float("inf")


TITLES = {target.title: target for target in TARGETS}


@pytest.mark.parametrize(
    ("title", "work", "key", "values", "met"),
    [
        ("calls per second at 32, by the Python SDK's", "add-32", "rate", (30.0, 10.0), True),
        ("calls per second at 32, by the Python SDK's", "add-32", "rate", (29.0, 10.0), False),
        ("the Python SDK's p50 at 1, by ours", "add-1", "p50_ms", (1.0, 2.0), True),
        ("the Python SDK's p50 at 1, by ours", "add-1", "p50_ms", (1.1, 2.0), False),
        (
            "time to import `mcp.server`, by that for `genmcp`",
            "import",
            "wall_ms",
            (100.0, 301.0),
            True,
        ),
        ("memory of a parked call", "parked-wait-5000", "kib", (20.0, 0.0), True),
        ("memory of a parked call", "parked-wait-5000", "kib", (20.1, 0.0), False),
    ],
)
def test_a_target_is_met_at_its_bound(
    title: str, work: str, key: str, values: tuple[float, float], met: bool
) -> None:
    results = found(work, key, genmcp=[values[0]], sdk=[values[1]])
    target = TITLES[title]
    spread = target.find(results)
    assert spread is not None
    assert target.is_met(spread) is met


def test_two_workers_are_compared_with_one() -> None:
    results = found("add-256", "rate", command=[10.0, 20.0], workers=[20.0, 36.0])
    target = TITLES["calls per second at 256 with two workers, by those with one"]
    spread = target.find(results)
    assert spread is not None
    assert spread.low == pytest.approx(1.8)
    assert spread.high == pytest.approx(2.0)
    assert target.is_met(spread)


def test_the_tail_is_compared_with_the_median_of_the_sdk() -> None:
    results = Results({"add-32": {SOURCE: [{"p99_ms": 5.0}], "sdk": [{"p50_ms": 10.0}]}})
    target = TITLES["the Python SDK's p50 at 32, by our p99"]
    assert target.find(results) == Spread(2.0, 2.0, 2.0)


def test_without_measurements_no_target_is_found() -> None:
    assert [target.find(Results()) for target in TARGETS] == [None] * len(TARGETS)
