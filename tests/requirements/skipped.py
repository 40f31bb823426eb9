"""A test that a requirement rests on must run: `tests/conftest.py` asks here."""

from __future__ import annotations

from typing import Any

from tests.requirements.matrix import rows_proven_by


def refuse_skipped_proof(report: Any) -> None:
    """Turn a skip into a failure where a requirement rests on the test."""
    rows = rows_proven_by(report.nodeid) if report.skipped else ()
    if rows:
        report.outcome = "failed"
        report.longrepr = f"proves {', '.join(rows)} and must not be skipped: {report.longrepr}"
