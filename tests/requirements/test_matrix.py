"""The matrix of requirements is whole and true, and the page is what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.docs.pages import ROOT
from tests.requirements.matrix import LEVELS, REASONS, all_rows, claims, rows_proven_by
from tests.requirements.render import PAGE, link, render
from tests.requirements.skipped import refuse_skipped_proof


def test_pages_are_linked_where_they_are() -> None:
    site = "https://modelcontextprotocol.io/"
    assert link("basic/index#messages") == (
        f"[`basic/index#messages`]({site}specification/2026-07-28/basic#messages)"
    )
    assert link("schema") == f"[`schema`]({site}specification/2026-07-28/schema)"
    assert link("docs/extensions/a") == f"[`docs/extensions/a`]({site}docs/extensions/a)"


def test_every_row_is_well_formed() -> None:
    rows = all_rows()
    assert len({row.id for row in rows}) == len(rows)
    for row in rows:
        assert re.fullmatch(r"[A-Z]{1,4}-\d\d", row.id), row
        assert row.level in LEVELS, row
        assert re.fullmatch(r"[a-z0-9_/-]+(#[a-z0-9-]+)?", row.page), row
        assert row.says[0].isupper() or row.says[0] == "`", row
        for sentence in (row.says, row.note, row.because):
            assert sentence is None or sentence.endswith("."), row
        assert (row.not_proven is None) == (row.because is None), row
        assert row.not_proven is None or row.not_proven in REASONS, row
        assert row.not_proven is None or not row.tests, row
        assert len(set(row.tests)) == len(row.tests), row


def test_no_requirement_is_lost() -> None:
    """As many as the revision has: whoever takes one out has to say so here."""
    binding = [row for row in all_rows() if row.binding]
    musts = [row for row in binding if row.level.startswith("MUST")]
    assert (len(musts), len(binding) - len(musts)) == (238, 84)


def test_no_requirement_is_open() -> None:
    assert {row.id: row.open for row in all_rows() if row.status == "open"} == {}


def test_what_is_only_allowed_is_listed_where_it_is_proven() -> None:
    assert [row.id for row in all_rows() if not row.binding and row.status != "proven"] == []


def test_every_test_that_is_named_exists() -> None:
    named = claims()
    files = sorted({test.partition("::")[0] for test in named})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *(f"tests/{file}" for file in files)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    cases = {line.removeprefix("tests/") for line in done.stdout.splitlines() if "::" in line}
    functions = {case.partition("[")[0] for case in cases}
    assert sorted(set(named) - cases - functions) == []


def test_the_page_is_what_is_generated() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "make matrix writes it anew"


# -- a proof that is skipped -----------------------------------------------------------

PROOF = "transport/test_inbound.py::test_bad_input_is_refused"


def test_a_case_proves_what_its_table_and_itself_are_named_for() -> None:
    case = rows_proven_by(f"tests/{PROOF}[no version header]")
    assert "H-25" in case
    assert "J-09" in case
    assert "H-25" not in rows_proven_by(f"tests/{PROOF}[no method header]")
    assert rows_proven_by("tests/cli/test_target.py::test_a_server_is_found") == ()


@pytest.mark.parametrize(
    ("node_id", "skipped", "fails"),
    [
        (f"tests/{PROOF}[no version header]", True, True),
        (f"tests/{PROOF}[no version header]", False, False),
        ("tests/cli/test_target.py::test_a_server_is_found", True, False),
    ],
)
def test_proof_that_is_skipped_fails(node_id: str, skipped: bool, fails: bool) -> None:
    report = SimpleNamespace(
        nodeid=node_id, skipped=skipped, outcome="skipped" if skipped else "passed", longrepr="why"
    )
    refuse_skipped_proof(report)
    assert (report.outcome == "failed") is fails
    assert ("H-25" in report.longrepr) is fails
