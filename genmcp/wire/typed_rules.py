"""Schema keywords for the validators that attrs comes with.

Layer: wire, beside `genmcp.wire.typed_schema`. A model that is told the rule keeps
it; one that is not finds out by being refused. Only rules that mean exactly the
same in JSON Schema are told; the validator itself runs in any case.
"""

from __future__ import annotations

import math
import operator
import re
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_BOUNDS: Final[Mapping[Callable[[Any, Any], bool], str]] = {
    operator.ge: "minimum",
    operator.gt: "exclusiveMinimum",
    operator.le: "maximum",
    operator.lt: "exclusiveMaximum",
}
_SIZES: Final[Mapping[str, tuple[str, str]]] = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_CLASSES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
}

_PORTABLE: Final = re.compile(
    r"""(?:
        (?: [A-Za-z0-9\ _,:;@%&=!~'"<>/-]                      # a plain character
          | \\[.+*?()\[\]{}|^$/\\]                           # an escaped one
          | \[\^?(?:[A-Za-z0-9\ _.,:;@%&=!~'"<>/+*-]|\\[\-\]\[\\^])+\]
          | \)
        ) (?:[*+?]\??|\{[0-9]+(?:,[0-9]*)?\}\??)?             # once repeated
      | \((?:\?:|(?!\?))
      | \|
    )*""",
    re.VERBOSE,
)
"""The regular expressions that Python and JSON Schema read alike, cautiously."""


def read_rules(validator: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords that say what `validator` checks, as far as they can.

    Args:
        validator: what an attrs field has as its validator.
        schema: the schema of the field's type, which tells what a length counts.
    """
    read = _READERS.get(_find_class(validator))
    kind = schema.get("type")
    return read(validator, kind) if read is not None and isinstance(kind, str) else {}


def _read_all(validator: Any, kind: str) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    for part in validator._validators:
        for keyword, value in read_rules(part, {"type": kind}).items():
            # Of two bounds one way the first stands; the validator checks both.
            rules.setdefault(keyword, value)
    return rules


def _read_optional(validator: Any, kind: str) -> dict[str, Any]:
    # Null, where it may stand, is beside the rules.
    return read_rules(validator.validator, {"type": kind})


def _read_bound(validator: Any, kind: str) -> dict[str, Any]:
    keyword = _BOUNDS.get(validator.compare_func)
    if keyword is None or kind not in ("integer", "number"):
        return {}
    bound = validator.bound
    return {keyword: bound} if type(bound) in (int, float) and math.isfinite(bound) else {}


def _read_min_length(validator: Any, kind: str) -> dict[str, Any]:
    return {_SIZES[kind][0]: validator.min_length} if kind in _SIZES else {}


def _read_max_length(validator: Any, kind: str) -> dict[str, Any]:
    return {_SIZES[kind][1]: validator.max_length} if kind in _SIZES else {}


def _read_options(validator: Any, kind: str) -> dict[str, Any]:
    options = validator.options
    if not isinstance(options, list | tuple | set | frozenset) or kind not in _CLASSES:
        return {}
    values = list(cast("Iterable[Any]", options))
    if not values or any(type(value) not in _CLASSES[kind] for value in values):
        return {}
    # The order of a set differs from run to run; a listing must not.
    return {"enum": values if isinstance(options, list | tuple) else sorted(values)}


def _read_pattern(validator: Any, kind: str) -> dict[str, Any]:
    pattern = validator.pattern
    if kind != "string" or pattern.flags != re.UNICODE or not _PORTABLE.fullmatch(pattern.pattern):
        return {}
    if validator.match_func == pattern.fullmatch:
        return {"pattern": f"^(?:{pattern.pattern})$"}
    if validator.match_func == pattern.match:
        return {"pattern": f"^(?:{pattern.pattern})"}
    return {"pattern": pattern.pattern}


def _find_class(validator: object) -> type:
    # The classes of these validators are private; the functions that make them are not.
    return type(validator)


_READERS: Final[Mapping[type, Callable[[Any, str], dict[str, Any]]]] = {
    _find_class(cast("Any", attrs.validators.and_)()): _read_all,
    _find_class(attrs.validators.optional(attrs.validators.ge(0))): _read_optional,
    _find_class(attrs.validators.ge(0)): _read_bound,
    _find_class(attrs.validators.min_len(0)): _read_min_length,
    _find_class(attrs.validators.max_len(0)): _read_max_length,
    _find_class(attrs.validators.in_(())): _read_options,
    _find_class(attrs.validators.matches_re("")): _read_pattern,
}
