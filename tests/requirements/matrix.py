"""The requirements of the specification, each with what shows that it is met.

The rows are in `rows/`, a file to an area of the specification. A row says:

    level       the keyword of the sentence it comes from; see LEVELS
    page        where in the specification, as `page#heading`
    says        what is required, in our words
    tests       the tests that fail when it is not met: `folder/test_module.py::test_name`,
                below tests/, with `[case]` for one case of a table
    note        what the tests do not show, or whose part the rest is
    not_proven  why there are no tests; see REASONS
    because     that reason, in this row's case
    open        what is still to be proven

`test_matrix.py` keeps all of it true: that no row is open, that each test is there, and,
through `tests/conftest.py`, that none of them is skipped.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

ROWS: Final = Path(__file__).with_name("rows")

LEVELS: Final[Mapping[str, str]] = {
    "MUST": "the specification says so",
    "MUST NOT": "likewise",
    "MUST*": "the schema requires it, or the text does without the keyword",
    "MUST(c)": "it binds the client; the server relies on it, and refuses what breaks it",
    "SHOULD": "the specification recommends it",
    "SHOULD NOT": "likewise",
    "SHOULD*": "it is recommended without the keyword",
    "RECOMMENDED": "likewise",
    "MAY": "the specification allows it, and it is there",
    "INFO": "not required in so many words, but what the rows around it need",
}

REASONS: Final[Mapping[str, str]] = {
    "author": "only the author of a server can do it; the row says what the library gives",
    "deprecated": "the protocol advises against a feature, which is served on purpose",
    "not served": "it belongs to an extension that the library does not have",
}


@attrs.frozen(kw_only=True)
class Row:
    """One requirement. The attributes are the keys of its table."""

    id: str
    level: str
    page: str
    says: str
    tests: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    note: str | None = None
    not_proven: str | None = None
    because: str | None = None
    open: str | None = None

    @property
    def binding(self) -> bool:
        """Whether a server has to meet it, or at least should."""
        return self.level not in {"MAY", "INFO"}

    @property
    def status(self) -> str:
        """`proven`, `open`, or one of REASONS."""
        if self.open is not None:
            return "open"
        if self.not_proven is not None:
            return self.not_proven
        return "proven" if self.tests else "open"


@attrs.frozen
class Area:
    """The requirements of one part of the specification."""

    title: str
    rows: tuple[Row, ...]


@functools.cache
def read_areas() -> tuple[Area, ...]:
    """Return all areas, in the order of their files' names."""
    return tuple(_read_area(path) for path in sorted(ROWS.glob("*.toml")))


def all_rows() -> list[Row]:
    return [row for area in read_areas() for row in area.rows]


@functools.cache
def claims() -> Mapping[str, tuple[str, ...]]:
    """Return the rows that each named test proves, by the test."""
    found: dict[str, list[str]] = {}
    for row in all_rows():
        for test in row.tests:
            found.setdefault(test, []).append(row.id)
    return {test: tuple(ids) for test, ids in found.items()}


def rows_proven_by(node_id: str) -> tuple[str, ...]:
    """Return the rows that a collected test proves, as its table or as one case of it."""
    case = node_id.removeprefix("tests/")
    whole = case.partition("[")[0]
    named = claims()
    return tuple(dict.fromkeys([*named.get(whole, ()), *named.get(case, ())]))


def _read_area(path: Path) -> Area:
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    title = tables.pop("title")
    return Area(title, tuple(Row(id=key, **table) for key, table in tables.items()))
