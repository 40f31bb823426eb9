"""Fields that JSON cannot carry are refused with class, field and fix."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import pathlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypedDict

import attrs
import pytest

from genmcp.wire.typed import schema_of

if TYPE_CHECKING:
    from fractions import Fraction


class Bits(enum.Flag):
    ONE = 1


class Objects(enum.Enum):
    THING = (1, 2)


class Pair(NamedTuple):
    left: int
    right: int


class Text(str):
    __slots__ = ()


@attrs.define
class Mutable:
    value: int


@attrs.frozen
class A:
    x: int


@attrs.frozen
class B:
    x: int
    y: int = 1


@attrs.frozen
class DefaultTagA:
    x: int
    kind: Literal["a"] = "a"


@attrs.frozen
class DefaultTagB:
    x: int
    kind: Literal["b"] = "b"


def declare(annotation: Any) -> type:
    return attrs.define(type("Args", (), {"__annotations__": {"value": annotation}}))


@pytest.mark.parametrize(
    ("annotation", "fix"),
    [
        (bytes, "contentEncoding"),
        (list[bytes], "contentEncoding"),
        (complex, r"tuple\[float, float\]"),
        (pathlib.Path, "JSON Schema"),
        (Callable[[], int], "JSON Schema"),
        (type[int], "JSON Schema"),
        (Iterator[int], "JSON Schema"),
        (Pair, "JSON Schema"),
        (Text, "JSON Schema"),
        (range, "JSON Schema"),
        ([int], "JSON Schema"),
        (Bits, "Enum with at least one member"),
        (enum.Enum("Empty", []), "Enum with at least one member"),
        (Objects, "text, numbers or booleans"),
        (Literal[b"x"], "text, integers and booleans"),
        (dict[int, str], r"dict\[str, \.\.\.\]"),
        (dict[Literal["a"], str], r"dict\[str, \.\.\.\]"),
        (set[list[int]], "hashable"),
        (frozenset[Mutable], "hashable"),
        (A | B, "cannot tell"),
        (A | dict[str, int], "cannot tell"),
        (list[A | B], "cannot tell"),
        (dict[str, A | B | None], "cannot tell"),
        (list[int] | tuple[int, int], "cannot tell"),
        (str | pathlib.Path, "JSON Schema"),
        (DefaultTagA | DefaultTagB, "without a default"),
    ],
    ids=repr,
)
def test_field_that_json_cannot_carry_is_refused(annotation: Any, fix: str) -> None:
    with pytest.raises(TypeError, match=rf"^Args\.value: .*{fix}"):
        schema_of(declare(annotation))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the statement is new in 3.12")
def test_alias_that_refers_to_itself_is_refused() -> None:
    namespace: dict[str, Any] = {}
    exec("type Json = int | list[Json]", namespace)  # noqa: S102 - no syntax of 3.11
    with pytest.raises(TypeError, match=r"^Args\.value: the alias Json refers to itself"):
        schema_of(declare(namespace["Json"]))


def test_refusal_names_the_class_the_field_is_in() -> None:
    @attrs.frozen
    class Inner:
        data: bytes

    @attrs.frozen
    class Outer:
        inner: list[Inner]

    with pytest.raises(TypeError, match=r"^Inner\.data: bytes has no JSON form"):
        schema_of(Outer)


def test_name_that_only_type_checkers_know_is_refused() -> None:
    @attrs.frozen
    class Args:
        ratio: Fraction

    with pytest.raises(TypeError, match=r"^Args\.ratio: the name 'Fraction'.*TYPE_CHECKING"):
        schema_of(Args)


def test_name_that_no_field_needs_need_not_be_known() -> None:
    @attrs.frozen
    class Args:
        value: int
        shared: ClassVar[Fraction | None] = None
        made: Fraction | None = attrs.field(init=False, default=None)

    @dataclasses.dataclass
    class Data:
        value: int
        shared: ClassVar[Fraction | None] = None
        made: Fraction | None = dataclasses.field(init=False, default=None)

    assert schema_of(Args)["properties"] == {"value": {"type": "integer"}}
    assert schema_of(Data)["properties"] == {"value": {"type": "integer"}}


def test_name_from_a_function_that_has_returned_is_refused() -> None:
    def make() -> Any:
        @attrs.frozen
        class Inner:
            value: int

        @attrs.frozen
        class Outer:
            inner: Inner

        return Outer

    with pytest.raises(TypeError, match=r"^Outer\.inner: the name 'Inner'.*top of the module"):
        schema_of(make())


@pytest.mark.parametrize("kind", ["attrs", "dataclass", "typed dict"])
def test_annotation_that_fails_is_refused(kind: str) -> None:
    namespace = {"__annotations__": {"fine": "int", "value": "str + 1"}, "__module__": __name__}
    cls: Any
    if kind == "attrs":
        cls = attrs.define(type("Args", (), namespace))
    elif kind == "dataclass":
        cls = dataclasses.dataclass(type("Args", (), namespace))
    else:
        cls = types.new_class("Args", (TypedDict,), {}, lambda body: body.update(namespace))
    with pytest.raises(TypeError, match=r"^Args\.value: "):
        schema_of(cls)


def test_annotated_dict_inside_a_union_is_told_to_stand_outside() -> None:
    @attrs.frozen
    class Args:
        value: Annotated[int, {"minimum": 1}] | None = None

    try:
        schema = schema_of(Args)
    except TypeError as error:
        # Before Python 3.12.4 such a union cannot be made at all.
        assert "Annotated[int | None, {...}]" in str(error)  # noqa: PT017
    else:
        assert schema["properties"]["value"] == {"type": "integer", "minimum": 1}


def test_field_without_annotation_is_refused() -> None:
    cls = attrs.make_class("Args", ["value"])
    with pytest.raises(TypeError, match=r"^Args\.value has no type annotation"):
        schema_of(cls)


def test_type_of_an_attribute_without_annotation_counts() -> None:
    cls = attrs.make_class("Args", {"value": attrs.field(type=int)})
    assert schema_of(cls)["properties"] == {"value": {"type": "integer"}}


def test_init_var_is_refused() -> None:
    @dataclasses.dataclass
    class Args:
        value: int
        seed: dataclasses.InitVar[int]

    with pytest.raises(TypeError, match=r"^Args\.seed: an InitVar.*make it a field"):
        schema_of(Args)


@pytest.mark.parametrize(
    ("metadata", "words"),
    [({"description": 1}, "'description' must be a str"), ({"schema": "x"}, "'schema' must be a")],
)
def test_metadata_of_the_wrong_type_is_refused(metadata: Any, words: str) -> None:
    cls = attrs.make_class("Args", {"value": attrs.field(type=int, metadata=metadata)})
    with pytest.raises(TypeError, match=rf"^Args\.value: the metadata {words}"):
        schema_of(cls)


def test_class_that_grows_too_large_when_written_out_is_refused() -> None:
    cls: Any = A
    for _ in range(20):
        fields = {name: attrs.field(type=cls) for name in "ab"}
        cls = attrs.make_class("Args", fields)
    with pytest.raises(TypeError, match=r"^Args: its schema has more than 10000 parts"):
        schema_of(cls)


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (Annotated[int, {"type": "string"}], "type"),
        (Annotated[int, {"type": ["string", "null"]}], "type"),
        (Annotated[str, {"enum": [1, 2]}], "enum"),
        (Annotated[list[int], {"const": 1}], "const"),
        (Annotated[str | None, {"type": "integer"}], "type"),
        (list[Annotated[int, {"type": "string"}]], "type"),
        (Annotated[datetime.date, {"type": "integer"}], "type"),
    ],
    ids=str,
)
def test_keywords_that_leave_nothing_of_the_type_are_refused(annotation: Any, said: str) -> None:
    cls = attrs.define(type("Args", (), {"__annotations__": {"value": annotation}}))
    with pytest.raises(TypeError, match=rf"^Args\.value: no .* fits .* \({said}\); leave them"):
        schema_of(cls)


def test_keywords_of_metadata_that_leave_nothing_of_the_type_are_refused() -> None:
    @attrs.frozen
    class Args:
        value: int = attrs.field(metadata={"schema": {"type": "string"}})

    with pytest.raises(TypeError, match=r"Args\.value: no int fits"):
        schema_of(Args)


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[float, {"type": "integer"}],
        Annotated[int, {"type": "number"}],
        Annotated[Any, {"type": "string"}],
        Annotated[str | None, {"type": ["string", "null"]}],
        Annotated[int, {"enum": [1, "a"]}],
        Annotated[int | str, {"type": "string"}],
    ],
    ids=str,
)
def test_keywords_that_leave_something_of_the_type_stay(annotation: Any) -> None:
    cls = attrs.define(type("Args", (), {"__annotations__": {"value": annotation}}))
    keywords = annotation.__metadata__[0]
    assert schema_of(cls)["properties"]["value"].items() >= keywords.items()
