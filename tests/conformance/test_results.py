"""What counts as passed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance.results import Check, find_expected, judge, judge_all, read_reports

GOOD = Check("tools-list", "SUCCESS")
WIRE = Check("wire-schema-valid", "SUCCESS")
INFO = Check("no-streams", "INFO", "JSON")


@pytest.mark.parametrize("checks", [[GOOD], [WIRE, GOOD], [GOOD, INFO]])
def test_scenario_passes_when_a_check_of_its_own_succeeded(checks: list[Check]) -> None:
    assert not judge("tools-list", checks).problems


@pytest.mark.parametrize("status", ["FAILURE", "WARNING", "SKIPPED", "SOMETHING NEW"])
def test_scenario_fails_with_any_check_that_did_not_succeed(status: str) -> None:
    verdict = judge("tools-list", [GOOD, Check("order", status, "it changed")])
    assert verdict.problems == [f"{status} order: it changed"]
    assert str(verdict).splitlines() == [
        "FAIL tools-list (1 checks succeeded)",
        f"       {status} order: it changed",
    ]


@pytest.mark.parametrize("checks", [[], [WIRE], [INFO], [WIRE, INFO]])
def test_scenario_in_which_nothing_was_checked_fails(checks: list[Check]) -> None:
    assert judge("tools-list", checks).problems == ["no check of its own succeeded"]


def test_scenario_that_did_not_run_fails() -> None:
    verdicts = judge_all(["a", "b"], {"b": [GOOD], "c": None})
    assert [(verdict.scenario, bool(verdict.problems)) for verdict in verdicts] == [
        ("a", True),
        ("b", False),
        ("c", True),
    ]


def write_report(folder: Path, name: str, checks: object) -> None:
    (folder / name).mkdir()
    if checks is not None:
        (folder / name / "checks.json").write_text(json.dumps(checks), encoding="utf-8")


def test_reports_are_read_by_scenario(tmp_path: Path) -> None:
    check = {"id": "x", "status": "WARNING", "errorMessage": "no order", "timestamp": "now"}
    write_report(tmp_path, "server-tools-list-2026-11-30T16-31-13-836Z", [check])
    write_report(tmp_path, "server-sep-2164-gone-2026-11-30T16-31-13-836Z", None)
    write_report(tmp_path, "something-else", [])
    assert read_reports(tmp_path) == {
        "tools-list": [Check("x", "WARNING", "no order")],
        "sep-2164-gone": None,
    }


def test_reports_of_two_runs_are_not_mixed(tmp_path: Path) -> None:
    write_report(tmp_path, "server-ping-2026-11-30T16-31-13-836Z", [])
    write_report(tmp_path, "server-ping-2026-11-30T16-31-14-001Z", [])
    with pytest.raises(ValueError, match="two reports of ping"):
        read_reports(tmp_path)


def test_extensions_and_clients_are_not_expected_of_a_server() -> None:
    requirements = {
        "server": ["tools-list"],
        "client": ["auth"],
        "not_scored": [
            {"scenario": "headers", "leg": "server", "reason": "pending"},
            {"scenario": "tasks", "leg": "server", "reason": "extension"},
            {"scenario": "other-auth", "leg": "client", "reason": "pending"},
        ],
    }
    assert find_expected(requirements) == (["tools-list"], ["headers"])
