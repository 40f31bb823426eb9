"""The tables of docs/telemetry.md name what there is, and nothing else."""

from __future__ import annotations

import re

import attrs
import pytest

from genmcp import CallEnded, CallInfo, Observer, Outcome, RefusalReason, RequestRefused
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "telemetry.md").read_text(encoding="utf-8")


def read_table(first: str) -> list[str]:
    """Return the names in the first column of the table whose head begins so."""
    head = re.search(rf"^\| {re.escape(first)} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert head is not None, f"there is no table of {first}"
    cells = [line.split("|")[1] for line in head[1].splitlines()]
    return [name for cell in cells for name in re.findall(r"`(\w+)", cell)]


@pytest.mark.parametrize("kind", [CallInfo, CallEnded, RequestRefused])
def test_every_field_is_in_the_page(kind: type[attrs.AttrsInstance]) -> None:
    fields = {field.name for field in attrs.fields(kind)}
    assert sorted(read_table(f"of a `{kind.__name__}`")) == sorted(fields)


@pytest.mark.parametrize("kind", [Outcome, RefusalReason])
def test_every_value_is_in_the_page(kind: type[Outcome | RefusalReason]) -> None:
    assert read_table(f"`{kind.__name__}`") == [one.value for one in kind]


def test_every_hook_is_in_the_page() -> None:
    hooks = [name for name in vars(Observer) if not name.startswith("_")]
    assert read_table("hook") == hooks
