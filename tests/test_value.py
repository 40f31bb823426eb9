"""Values compare, hash and show as attrs would have them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import attrs
import pytest

from genmcp.value import Value


@attrs.frozen(eq=False, repr=False)
class Point(Value):
    x: int
    y: Any = 0
    label: str = attrs.field(default="", eq=False)
    secret: str = attrs.field(default="", repr=False)


@attrs.frozen(eq=False, repr=False)
class Place(Value):
    x: int
    y: Any = 0
    label: str = attrs.field(default="", eq=False)
    secret: str = attrs.field(default="", repr=False)


@attrs.frozen(eq=False, repr=False)
class Nothing(Value):
    pass


@attrs.frozen(eq=False, repr=False)
class Solid(Point):
    z: int = 0


@attrs.frozen
class Reference:
    x: int
    y: Any = 0
    label: str = attrs.field(default="", eq=False)
    secret: str = attrs.field(default="", repr=False)


GIVEN: list[dict[str, Any]] = [
    {"x": 1},
    {"x": 1, "y": 0, "label": "a"},
    {"x": 2},
    {"x": 1, "y": "0"},
    {"x": 1, "secret": "s"},
    {"x": 1, "y": (1, 2), "label": "a", "secret": "s"},
]


@pytest.mark.parametrize("one", GIVEN)
@pytest.mark.parametrize("other", GIVEN)
def test_equal_is_what_attrs_calls_equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    equal = Reference(**one) == Reference(**other)
    assert (Point(**one) == Point(**other)) is equal
    assert (Point(**one) != Point(**other)) is not equal
    assert (hash(Point(**one)) == hash(Point(**other))) is equal


@pytest.mark.parametrize("given", GIVEN)
def test_the_text_is_that_of_attrs(given: dict[str, Any]) -> None:
    assert repr(Point(**given)) == repr(Reference(**given)).replace("Reference", "Point")


def test_values_of_two_classes_are_never_equal() -> None:
    assert Point(1) != Place(1)
    assert Solid(1) != Point(1)
    assert Solid(1, z=2) != Solid(1, z=3)
    assert hash(Point(1)) != hash(Place(1))
    assert Point(1) != (1, 0, "")


def test_those_without_fields_are_all_equal() -> None:
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing()}) == 1
    assert repr(Nothing()) == "Nothing()"


def test_a_class_in_a_function_is_shown_by_its_own_name() -> None:
    @attrs.frozen(eq=False, repr=False)
    class Inner(Value):
        x: int

    assert repr(Inner(1)) == "Inner(x=1)"


def test_what_holds_something_unhashable_is_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1, []))


def test_values_are_frozen_slotted_and_copied_like_others() -> None:
    value = Point(1, [2], "a")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        value.x = 2  # type: ignore[misc]
    assert not hasattr(value, "__dict__")
    assert copy.deepcopy(value) == value == attrs.evolve(value, label="b")
    assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301 - one's own
