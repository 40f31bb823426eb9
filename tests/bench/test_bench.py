"""The bench runs, against what needs no installation, and says nothing about speed here."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from bench import environments, server_process
from bench.__main__ import main
from bench.comparison import compare
from bench.peers import PEERS, SOURCE
from bench.plan import PLAN
from bench.record import Run, read_record, render_record
from bench.report import render_report
from bench.rounds import Results, run_rounds
from bench.work import Effort

EFFORT = Effort(
    rounds=1,
    long_rounds=1,
    seconds=0.05,
    warm_up_seconds=0.01,
    settle_seconds=0.01,
    idle_seconds=0.01,
    starts=1,
    scale=0.005,
)
OWN = [PEERS[SOURCE], PEERS["bare"]]
# Thousands of streams take as many files, and more of the same shows nothing.
DONE = [work for name, work in PLAN.items() if not name.endswith("-5000")]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_process, "INSTALLED", tmp_path_factory.mktemp("bench"))
        results = run_rounds(DONE, OWN, EFFORT, print)
    return make_run(results)


def make_run(results: Results) -> Run:
    return Run(
        date="2026-07-28",
        machine={"cores": "2"},
        load_average="0.1 before, 0.2 after",
        versions={peer.name: environments.read_versions(peer) for peer in OWN},
        unavailable={"typescript": "there is no node"},
        command="python -m bench",
        effort=EFFORT,
        plan=DONE,
        peers=OWN,
        results=results,
    )


def test_all_work_is_done_by_genmcp_without_a_failure(run: Run) -> None:
    assert run.results.failures == {}
    done = {name: len(by[SOURCE]) for name, by in run.results.samples.items()}
    assert done == {work.name: 1 for work in DONE}


def test_every_figure_that_is_shown_is_a_finite_number(run: Run) -> None:
    for name, by_peer in run.results.samples.items():
        for samples in by_peer.values():
            for sample in samples:
                assert all(math.isfinite(value) for value in sample.values()), (name, sample)


def test_calls_are_compared_with_the_bare_limit(run: Run) -> None:
    for name in ("add-1", "add-32", "add-256"):
        rate = PLAN[name].figures[0]
        ratio = compare(run.results, PLAN[name], rate, "bare")
        assert ratio is not None
        assert 0 < ratio.low <= ratio.high < math.inf


def test_the_record_holds_all_that_the_page_says(run: Run) -> None:
    again = read_record(render_record(run))
    assert render_report(again).splitlines()[:20] == render_report(run).splitlines()[:20]
    assert render_record(again) == render_record(run)


def test_the_page_says_how_it_was_made_and_what_is_missing(run: Run) -> None:
    page = render_report(run)
    assert "| TypeScript SDK | not measured: there is no node |" in page
    assert "<!-- not run: " in page
    assert f"| {PLAN['progress'].title}: per second | 1/s | " in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--peers", "genmcp,nobody"], "no peer 'nobody'"), (["--work", "rest"], "no work 'rest'")],
)
def test_an_unknown_name_is_refused(arguments: list[str], said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        main(arguments)


def test_the_pins_do_not_say_where_packages_come_from() -> None:
    folder = Path(environments.__file__).parent
    for peer in PEERS.values():
        if peer.requirements:
            pins = (folder / peer.requirements).read_text(encoding="utf-8")
            assert "://" not in pins.replace('"url": "https://', "")
