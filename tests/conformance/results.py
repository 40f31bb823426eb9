"""What the suite found, judged strictly.

The suite itself is content with a scenario in which nothing failed: warnings, which stand
for every SHOULD, and skipped checks do not count, and a scenario in which nothing was
checked at all has passed. Here a scenario passes if some check of its own succeeded and
every check either succeeded or only informs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

PASSING: Final = {"SUCCESS", "INFO"}
"""The suite has FAILURE, WARNING and SKIPPED besides."""

ON_EVERY_MESSAGE: Final = "wire-schema-valid"
"""A check that nearly all scenarios have; it says nothing of what a scenario is about."""

_FOLDER: Final = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


@attrs.frozen
class Check:
    """One check of a scenario, as the suite reports it."""

    id: str
    status: str
    message: str = ""


@attrs.frozen
class Verdict:
    """Whether a scenario passed: it has no problems then."""

    scenario: str
    succeeded: int
    problems: Sequence[str]

    def __str__(self) -> str:
        word = "FAIL" if self.problems else "ok  "
        lines = [f"{word} {self.scenario} ({self.succeeded} checks succeeded)"]
        return "\n".join([*lines, *(f"       {problem}" for problem in self.problems)])


def judge(scenario: str, checks: Sequence[Check] | None) -> Verdict:
    """Judge one scenario; without `checks` it left no report."""
    if checks is None:
        return Verdict(scenario, 0, ["no report: it did not run, crashed, or took too long"])
    problems = [
        f"{check.status} {check.id}: {check.message or 'no message'}"
        for check in checks
        if check.status not in PASSING
    ]
    succeeded = [check for check in checks if check.status == "SUCCESS"]
    if all(check.id == ON_EVERY_MESSAGE for check in succeeded):
        problems.append("no check of its own succeeded")
    return Verdict(scenario, len(succeeded), problems)


def judge_all(
    expected: Iterable[str], found: Mapping[str, Sequence[Check] | None]
) -> list[Verdict]:
    """Judge what had to run, in that order, and then whatever else did."""
    names = dict.fromkeys([*expected, *found])
    return [judge(name, found.get(name)) for name in names]


def read_reports(folder: Path) -> dict[str, list[Check] | None]:
    """Read the folder that the suite wrote, which must hold one run only."""
    reports: dict[str, list[Check] | None] = {}
    for entry in sorted(folder.iterdir()):
        named = _FOLDER.fullmatch(entry.name)
        if named is None:
            continue
        if named["scenario"] in reports:
            raise ValueError(f"{folder} has two reports of {named['scenario']}")
        report = entry / "checks.json"
        # A scenario that was given up leaves a folder without a report.
        reports[named["scenario"]] = _read_checks(report) if report.exists() else None
    return reports


def _read_checks(report: Path) -> list[Check]:
    checks: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))
    return [Check(one["id"], one["status"], one.get("errorMessage") or "") for one in checks]


def find_expected(requirements: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the server scenarios of a protocol version: those scored, and the others.

    Those of extensions are neither.

    Args:
        requirements: what the suite says of that version, in `requirements/`.
    """
    others = [
        entry["scenario"]
        for entry in requirements["not_scored"]
        if entry["leg"] == "server" and entry["reason"] != "extension"
    ]
    return list(requirements["server"]), others
