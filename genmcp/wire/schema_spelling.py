"""Keywords that are almost right.

Layer: wire. JSON Schema takes an unknown keyword for an annotation and checks nothing,
so `requried` would silently mean that nothing is required. What is close to a keyword
that asserts something is refused; anything else unknown is left alone, `x-` members
and other vocabularies' included.

Spec: basic/index#schema-validation
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from genmcp.wire.schema_rules import SchemaError, join_pointer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Words read best as words, not as forty literals.
_ASSERTING: Final = """
    $ref $dynamicRef type enum const multipleOf maximum exclusiveMaximum minimum
    exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems maxContains
    minContains maxProperties minProperties required dependentRequired dependentSchemas
    allOf anyOf oneOf not if then else properties patternProperties additionalProperties
    propertyNames items prefixItems contains unevaluatedItems unevaluatedProperties
""".split()

_OTHERS: Final = frozenset(
    """
    $schema $id id $anchor $dynamicAnchor $recursiveAnchor $recursiveRef $vocabulary
    $comment $defs definitions title description default deprecated readOnly writeOnly
    examples example format contentEncoding contentMediaType contentSchema dependencies
    additionalItems
    """.split()
)

_BY_LOWER: Final = {keyword.lower(): keyword for keyword in _ASSERTING}
_CLOSENESS: Final = 0.82


def check_spelling(subschemas: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse members that are a keyword but for a slip.

    Args:
        subschemas: the schema's objects by their pointer.

    Raises:
        SchemaError: names the place and the keyword that was probably meant.
    """
    for pointer, schema in subschemas.items():
        for name in schema:
            meant = _find_meant(name)
            if meant is not None:
                raise SchemaError(
                    f"{name!r} is no keyword, and would not be checked; did you mean {meant!r}?",
                    join_pointer(pointer, name),
                )


def _find_meant(name: str) -> str | None:
    if name in _OTHERS or name in _ASSERTING or name.startswith("x-"):
        return None
    lower = name.lower()
    if lower in _BY_LOWER:
        return _BY_LOWER[lower]
    near = difflib.get_close_matches(lower, _BY_LOWER, 1, _CLOSENESS)
    return _BY_LOWER[near[0]] if near else None
