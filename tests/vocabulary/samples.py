"""Every class of the vocabulary, and how to make objects of it from its field types.

`instances` is a hypothesis strategy; `sample` makes one object with every member set,
the same each time.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import attrs
from hypothesis import strategies as st

from genmcp.mcp import v2607 as mcp
from genmcp.mcp.unset import UNSET, Unset
from genmcp.mcp.v2607.checks import flatten_union
from genmcp.mcp.v2607.fields import PREDICATE, WIRE_TYPE
from genmcp.wire.members import EXTRA, constants_of, members_of

CLASSES: list[Any] = sorted(
    {
        value
        for name in mcp.__all__
        if isinstance(value := getattr(mcp, name), type) and attrs.has(value)
    },
    key=lambda cls: cls.__name__,
)

TEXT = st.text(max_size=8)
KEYS = st.from_regex(r"([a-z]{1,3}\.[a-z]{1,3}/)?[a-z]{1,5}", fullmatch=True)
INTEGERS = st.integers(-(2**63), 2**64 - 1)
NUMBERS = INTEGERS | st.floats(allow_nan=False, allow_infinity=False)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)

_BY_PREDICATE: dict[str, tuple[st.SearchStrategy[Any], Any]] = {
    "_icon_source_problem": (
        st.sampled_from(["https://a/b.png", "http://a", "DATA:image/png;base64,AA=="]),
        "https://a/b.png",
    ),
    "base64_problem": (st.sampled_from(["", "AA==", "AAA=", "+/+/"]), "AA=="),
    "unit_interval_problem": (st.sampled_from([0, 1]) | st.floats(0, 1), 0.5),
    "extensions_problem": (
        st.dictionaries(KEYS.filter(lambda key: "/" in key), OBJECTS, max_size=3),
        {"com.example/a": {"b": [1, None]}},
    ),
    "media_type_problem": (
        st.sampled_from(["image/png", "audio/wav", "image/svg+xml; charset=utf-8"]),
        "image/png",
    ),
    "messages_problem": (
        st.lists(
            st.builds(
                lambda role, texts: mcp.SamplingMessage(
                    role=role, content=[mcp.TextContent(text=text) for text in texts]
                ),
                st.sampled_from(["user", "assistant"]),
                st.lists(TEXT, max_size=2),
            ),
            max_size=3,
        ),
        [mcp.SamplingMessage(role="user", content=mcp.TextContent(text="text"))],
    ),
    "_root_uri_problem": (TEXT.map(lambda path: f"file://{path}"), "file:///a"),
    "_ttl_problem": (st.integers(0, 2**53), 60_000),
    "_input_schema_problem": (
        OBJECTS.map(lambda schema: {**schema, "type": "object"}),
        {"type": "object", "properties": {"a": {"type": "number"}}},
    ),
    "meta_problem": (st.dictionaries(KEYS, JSON, max_size=3), {"com.example/a": [1, None]}),
}
"""What passes each predicate: a strategy and a sample, by the predicate's name."""


def fields_of(cls: Any) -> tuple[attrs.Attribute[Any], ...]:
    found: tuple[attrs.Attribute[Any], ...] = attrs.fields(cls)
    return found


def wire_names(cls: Any) -> set[str]:
    return {*constants_of(cls), *(member.wire for member in members_of(cls).values())}


def default_of(variable: Any) -> Any:
    return variable.__default__


def type_of(field: attrs.Attribute[Any]) -> Any:
    return field.metadata.get(WIRE_TYPE, field.type)


# -- strategies ------------------------------------------------------------------


def instances(cls: Any) -> st.SearchStrategy[Any]:
    """Objects of `cls`, with any of their optional members left out."""
    needed: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for field in fields_of(cls):
        into = needed if field.default is attrs.NOTHING else optional
        into[field.name] = _field_strategy(cls, field)
    if cls is mcp.InputRequiredResult:
        needed["request_state"] = TEXT
        del optional["request_state"]
    if cls is mcp.LegacyTitledEnumSchema:
        # Without them the wire cannot tell it from an untitled choice.
        needed["enum_names"] = st.lists(TEXT, max_size=2)
        del optional["enum_names"]
    return st.fixed_dictionaries(needed, optional=optional).map(lambda given: cls(**given))


def _field_strategy(cls: Any, field: attrs.Attribute[Any]) -> st.SearchStrategy[Any]:
    if field.name == EXTRA:
        known = wire_names(cls)
        keys = (KEYS if PREDICATE in field.metadata else TEXT).filter(lambda key: key not in known)
        return st.dictionaries(keys, JSON, max_size=3)
    predicate = field.metadata.get(PREDICATE)
    if predicate is not None:
        found = _BY_PREDICATE[predicate.__name__][0]
        return st.none() | found if types.NoneType in flatten_union(field.type) else found
    return values(type_of(field))


def values(tp: Any) -> st.SearchStrategy[Any]:
    """Values of a type as the vocabulary's fields have it."""
    plain = {
        Any: JSON,
        str: TEXT,
        int: INTEGERS,
        float: NUMBERS,
        bool: st.booleans(),
        types.NoneType: st.none(),
    }
    if tp in plain:
        return plain[tp]
    if tp == Unset:
        return st.just(UNSET)
    if isinstance(tp, TypeVar):
        return values(default_of(tp))
    origin: Any = get_origin(tp) or tp
    if origin in (Union, types.UnionType):
        return st.one_of([values(member) for member in flatten_union(tp)])
    if origin is Literal:
        return st.sampled_from(get_args(tp))
    if origin in (Sequence, list):
        return st.lists(values(get_args(tp)[0]), max_size=3)
    if origin in (Mapping, dict):
        return st.dictionaries(TEXT, values(get_args(tp)[1]), max_size=3)
    return instances(origin)


# -- samples ---------------------------------------------------------------------


def sample(cls: Any) -> Any:
    """One object of `cls` with every member set."""
    given = {field.name: _sample_field(field) for field in fields_of(cls)}
    return cls(**given)


def _sample_field(field: attrs.Attribute[Any]) -> Any:
    if field.name == EXTRA:
        return {"com.example/unknown": {"kept": [True, None]}}
    predicate: Callable[[Any], str | None] | None = field.metadata.get(PREDICATE)
    if predicate is not None:
        return _BY_PREDICATE[predicate.__name__][1]
    return sample_value(type_of(field))


def sample_value(tp: Any) -> Any:
    """One value of a type; the first member of a union."""
    plain: dict[Any, Any] = {Any: {"a": [1, None]}, str: "text", int: 7, float: 1.5, bool: True}
    if tp in plain:
        return plain[tp]
    if isinstance(tp, TypeVar):
        return sample_value(default_of(tp))
    origin: Any = get_origin(tp) or tp
    if origin in (Union, types.UnionType):
        return sample_value(flatten_union(tp)[0])
    if origin is Literal:
        return get_args(tp)[0]
    if origin in (Sequence, list):
        return [sample_value(get_args(tp)[0])]
    if origin in (Mapping, dict):
        return {"key": sample_value(get_args(tp)[1])}
    return sample(origin)
