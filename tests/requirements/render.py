"""Writes docs/reference/conformance.md from the rows: `python -m tests.requirements.render`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from genmcp.mcp.v2607 import PROTOCOL_VERSION
from tests.requirements.matrix import LEVELS, REASONS, Area, Row, all_rows, read_areas

PAGE = Path(__file__).parents[2] / "docs/reference/conformance.md"

_SITE = "https://modelcontextprotocol.io/"

STATUSES = ("proven", *REASONS, "open")

HEAD = """\
# Conformance

Every requirement that revision `2026-07-28` of the Model Context Protocol makes of a server,
with the tests that prove it or the reason why there are none. The rows are numbered by area;
their sentences are ours, the links below them lead to the specification. Numbers are missing where
a sentence of the specification asks nothing of a server: it binds clients alone, or explains.

This page is generated: `make matrix` writes it from `tests/requirements/rows/`. A test of the
project's fails when it differs from what is generated, when a row is open, when a test named
here does not exist, and when one of them is skipped.

Under **proof** stand the tests, in files below `tests/`, with the cases of a table in brackets;
then what they leave open. Where there are none stands one of these reasons, and what it means
for the row:

| reason | means |
|---|---|
{reasons}

The **level** says how binding a row is:

| level | means |
|---|---|
{levels}

The [official conformance suite](https://github.com/modelcontextprotocol/conformance) is run as
well (`make conformance`), against a server of its own fixtures.

## Summary

Rows of the levels MUST and SHOULD are counted here, in all their forms; what is merely allowed
is in the tables below where it is served.

{summary}
"""


def render() -> str:
    """Return the whole page."""
    levels = _table_rows((_level(level), means) for level, means in LEVELS.items())
    reasons = _table_rows((f"**{name}**", means) for name, means in REASONS.items())
    head = HEAD.format(levels=levels, reasons=reasons, summary=_summary())
    return head + "".join(_area(area) for area in read_areas())


def _summary() -> str:
    head = ("area", "MUST", "SHOULD", *STATUSES)
    lines = [_count(area.title, area.rows) for area in read_areas()]
    total = _count("**all**", all_rows())
    return "\n".join([_line(head), "|---" * len(head) + "|", *map(_line, [*lines, total])])


def _count(title: str, rows: Iterable[Row]) -> list[str]:
    binding = [row for row in rows if row.binding]
    musts = sum(row.level.startswith("MUST") for row in binding)
    by_status = Counter(row.status for row in binding)
    counts = [musts, len(binding) - musts, *(by_status[status] for status in STATUSES)]
    return [title, *map(str, counts)]


def _area(area: Area) -> str:
    rows = _table_rows(
        (row.id, _level(row.level), f"{row.says}<br>{link(row.page)}", _proof(row))
        for row in area.rows
    )
    return f"\n## {area.title}\n\n| id | level | requirement | proof |\n|---|---|---|---|\n{rows}\n"


def link(page: str) -> str:
    """Return a page of the specification as a link to it."""
    path, mark, heading = page.partition("#")
    base = _SITE if path.startswith("docs/") else f"{_SITE}specification/{PROTOCOL_VERSION}/"
    return f"[`{page}`]({base}{path.removesuffix('/index')}{mark}{heading})"


def _level(level: str) -> str:
    return level.replace("*", r"\*")


def _proof(row: Row) -> str:
    parts = [f"**open**: {row.open or 'no test, and no reason'}"] if row.status == "open" else []
    if row.not_proven is not None:
        parts.append(f"**{row.not_proven}**: {row.because}")
    parts += _tests(row)
    if row.note is not None:
        parts.append(row.note)
    return "<br>".join(parts)


def _tests(row: Row) -> list[str]:
    """The tests, each function once, with its cases."""
    cases: dict[str, list[str]] = {}
    for test in row.tests:
        function, bracket, rest = test.partition("[")
        found = cases.setdefault(function, [])
        if bracket:
            found.append(f"`[{rest}`")
    return [" ".join([f"`{function}`", *found]) for function, found in cases.items()]


def _table_rows(rows: Iterable[Iterable[str]]) -> str:
    return "\n".join(map(_line, rows))


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
