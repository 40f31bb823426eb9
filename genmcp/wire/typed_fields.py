"""The fields of the classes authors declare arguments and results with.

Layer: wire, over `genmcp.wire.typed_hints`. attrs classes, dataclasses and
TypedDicts are read into one form here. `typed_annotations` makes shapes of the
annotations, `typed_schema` schemas of the shapes and `typed_cast` readers of JSON;
`genmcp.wire.typed` is the door to all of it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any, Final, cast, get_origin

import attrs

from genmcp.mcp.unset import UNSET
from genmcp.value import Value
from genmcp.wire.typed_hints import Hints, is_typed_dict, name_of

_FRESH: Final = (list, dict, tuple, set, frozenset)


@attrs.frozen(eq=False, repr=False)
class Field(Value):
    """One field of a typed class.

    Attributes:
        name: the name in JSON, and of the parameter of the constructor.
        annotation: the type, evaluated.
        optional: whether the constructor (or the TypedDict) does without it.
        default: what it is then, `UNSET` if there is none, or none that can be told.
        description: what the author says about it.
        keywords: schema keywords the author adds.
        validator: the attrs validator, where its rule can be read off.
    """

    name: str
    annotation: Any
    optional: bool
    default: Any = UNSET
    description: str | None = None
    keywords: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    validator: Any = None


def is_typed(cls: object) -> bool:
    """Tell whether `cls` is an attrs class, a dataclass or a TypedDict.

    Also with the type parameters given, such as `Page[Item]`.
    """
    origin: Any = get_origin(cls) or cls
    return isinstance(origin, type) and (
        attrs.has(cast("Any", origin))
        or dataclasses.is_dataclass(cast("Any", origin))
        or is_typed_dict(cast("Any", origin))
    )


def read_doc(cls: Any) -> str | None:
    """Return the docstring the author wrote for `cls`; a generated one does not count."""
    origin: Any = get_origin(cls) or cls
    doc: object = getattr(origin, "__dict__", {}).get("__doc__")
    if not isinstance(doc, str) or not doc.strip():
        return None
    if hasattr(origin, "__dataclass_fields__") and doc.startswith(f"{origin.__name__}("):
        return None
    return inspect.cleandoc(doc)


def read_fields(cls: Any) -> list[Field]:
    """Return the fields that JSON can fill, in the order they were declared.

    Raises:
        TypeError: an annotation cannot be evaluated, or a field cannot be given to
            the constructor. Names class, field and fix.
    """
    origin: Any = get_origin(cls) or cls
    hints = Hints(cls)
    if attrs.has(origin):
        return [_read_attribute(item, hints) for item in attrs.fields(origin) if item.init]
    if dataclasses.is_dataclass(origin):
        _refuse_init_vars(origin)
        return [_read_data_field(item, hints) for item in dataclasses.fields(origin) if item.init]
    return [_read_key(name, hints) for name in hints]


def _read_attribute(item: Any, hints: Hints) -> Field:
    name = item.alias or item.name
    return Field(
        name=name,
        # Of `attr.ib(type=int)` there is no annotation.
        annotation=hints.find(item.name, item.type),
        optional=item.default is not attrs.NOTHING,
        default=_read_attribute_default(item.default),
        description=_read_description(hints.cls, name, item.metadata),
        keywords=_read_keywords(hints.cls, name, item.metadata),
        # Behind a converter it judges something else than what JSON held.
        validator=item.validator if item.converter is None else None,
    )


def _read_attribute_default(default: Any) -> Any:
    # To type checkers `attrs.Factory` is a function.
    if not isinstance(default, cast("type", attrs.Factory)):
        return UNSET if default is attrs.NOTHING else default
    factory: Any = default
    return UNSET if factory.takes_self else _make_default(factory.factory)


def _read_data_field(item: dataclasses.Field[Any], hints: Hints) -> Field:
    default: Any = UNSET if item.default is dataclasses.MISSING else item.default
    made = item.default_factory is not dataclasses.MISSING
    return Field(
        name=item.name,
        annotation=hints.find(item.name),
        optional=made or default is not UNSET,
        default=_make_default(item.default_factory) if made else default,
        description=_read_description(hints.cls, item.name, item.metadata),
        keywords=_read_keywords(hints.cls, item.name, item.metadata),
    )


def _read_key(name: str, hints: Hints) -> Field:
    # With postponed annotations the class itself could not see `NotRequired`.
    said = hints.find_requirement(name)
    required = name in hints.cls.__required_keys__ if said is None else said
    return Field(name=name, annotation=hints.find(name), optional=not required)


def _make_default(factory: Any) -> Any:
    # Others may have effects, or give something else each time.
    fresh = (get_origin(factory) or factory) in _FRESH
    return factory() if fresh else UNSET


def _read_description(cls: type, name: str, metadata: Mapping[Any, Any]) -> str | None:
    description = metadata.get("description")
    if description is not None and not isinstance(description, str):
        raise TypeError(
            f"{name_of(cls)}.{name}: the metadata 'description' must be a str, got {description!r}"
        )
    return description


def _read_keywords(cls: type, name: str, metadata: Mapping[Any, Any]) -> Mapping[str, Any]:
    keywords = metadata.get("schema", {})
    if not isinstance(keywords, Mapping):
        raise TypeError(
            f"{name_of(cls)}.{name}: the metadata 'schema' must be a mapping of JSON Schema "
            f"keywords, got {keywords!r}"
        )
    return cast("Mapping[str, Any]", keywords)


def _refuse_init_vars(cls: Any) -> None:
    known = {item.name for item in dataclasses.fields(cls)}
    for name in inspect.signature(cls).parameters:
        if cls.__dataclass_params__.init and name not in known:
            raise TypeError(
                f"{name_of(cls)}.{name}: an InitVar cannot be filled from JSON; make it a field"
            )
