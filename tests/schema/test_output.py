"""What leaves a tool is what its output schema promises."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from genmcp.wire.output import OutputChecker, OutputMismatch
from genmcp.wire.schema import SchemaError
from genmcp.wire.typed import result_schema_of


@attrs.frozen
class Report:
    total: int
    note: str | None = None
    parts: list[float] = attrs.field(factory=list)


@pytest.mark.parametrize(
    ("schema", "fitting", "other"),
    [
        ({"type": "object", "required": ["a"]}, {"a": None}, {}),
        ({"type": "array", "items": {"type": "integer"}}, [], ["x"]),
        ({"type": "string"}, "", None),
        ({"type": "null"}, None, False),
        ({"type": "boolean"}, False, 0),
        ({"type": "number"}, 0, "0"),
        (True, [None], object()),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, []),
    ],
)
def test_schema_may_have_any_root(schema: Any, fitting: Any, other: Any) -> None:
    checker = OutputChecker.compile(schema)
    assert checker.schema == schema
    checker.check(fitting)
    with pytest.raises(OutputMismatch):
        checker.check(other)


def test_schema_of_a_class_takes_what_the_class_can_hold() -> None:
    checker = OutputChecker.compile(Report)
    assert checker.schema == result_schema_of(Report)
    checker.check(attrs.asdict(Report(1)))
    checker.check(attrs.asdict(Report(1, "x", [1.5])))
    checker.check({"total": 1})
    for value in ({}, {"total": None}, {"total": 1, "extra": 1}, {"total": "1"}):
        with pytest.raises(OutputMismatch):
            checker.check(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_in_json_is_none_here(value: float) -> None:
    with pytest.raises(OutputMismatch, match="/parts/0: expected number"):
        OutputChecker.compile(Report).check({"total": 1, "parts": [value]})
    with pytest.raises(OutputMismatch):
        OutputChecker.compile({"type": ["number", "integer"]}).check(value)


def test_mismatch_lists_places_and_reasons_without_values() -> None:
    secret = "s3cr3t"
    value = {"total": secret, "note": 5, "parts": [1, secret]}
    with pytest.raises(OutputMismatch) as caught:
        OutputChecker.compile(Report).check(value)
    assert str(caught.value) == (
        "the result does not fit the output schema: "
        "/total: expected integer, got string; "
        "/note: expected string, got integer; "
        "/parts/1: expected number, got string"
    )
    assert len(caught.value.violations) == 3


@pytest.mark.parametrize("value", [{1: 2}, {"total": b"1"}, {"total": {1}}, Report(1), object()])
def test_what_is_not_json_does_not_fit(value: Any) -> None:
    with pytest.raises(OutputMismatch):
        OutputChecker.compile(Report).check(value)


@pytest.mark.parametrize("depth", [300, 100_000])
def test_depth_of_a_result_is_survived(depth: int) -> None:
    value: Any = []
    for _ in range(depth):
        value = [value]
    with pytest.raises(OutputMismatch, match="deeper"):
        OutputChecker.compile({"type": "array", "items": {"$ref": "#"}}).check(value)


def test_schema_that_cannot_be_enforced_is_refused() -> None:
    with pytest.raises(SchemaError):
        OutputChecker.compile({"$ref": "https://example.com/a.json"})
    with pytest.raises(TypeError):
        OutputChecker.compile(int)
