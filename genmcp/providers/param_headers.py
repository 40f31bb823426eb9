"""Arguments that a client repeats in headers: which ones, and what the headers say.

Layer: providers, pure. A property of a tool's input schema that carries
`"x-mcp-header": "Region"` is repeated by clients as `Mcp-Param-Region`, so that a proxy
can route a call without reading its body. `Tool` checks the annotations when a class is
defined, `genmcp.suite.param_headers` compares the headers of each call, and
`genmcp.testing.Client` sends them.

Clients drop a tool with a wrong annotation and say nothing, which is why one is an
error here.

Spec: server/tools#x-mcp-header, basic/transports/streamable-http#schema-extension
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import attrs

from genmcp.value import Value
from genmcp.wire.json_kinds import is_object
from genmcp.wire.schema_rules import SchemaError, find_children

if TYPE_CHECKING:
    from collections.abc import Mapping

ANNOTATION: Final = "x-mcp-header"

_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_KINDS: Final = ("string", "integer", "boolean")


@attrs.frozen(eq=False, repr=False)
class ParamHeader(Value):
    """A header that repeats one argument.

    Attributes:
        name: what follows `Mcp-Param-`, as the annotation spells it.
        path: the names of the properties that lead to the argument.
    """

    name: str
    path: tuple[str, ...]

    @property
    def key(self) -> str:
        """The name as headers are compared: in lower case."""
        return self.name.lower()

    def find_value(self, arguments: Mapping[str, Any]) -> Any:
        """Return the argument, `None` if it is absent or null."""
        value: Any = arguments
        for name in self.path:
            if not is_object(value):
                return None
            value = value.get(name)
        return value


def read_param_headers(schema: Mapping[str, Any]) -> tuple[ParamHeader, ...]:
    """Return the headers that the annotations in an input schema ask for.

    Raises:
        SchemaError: an annotation that no client takes. Names its place and the fix.

    Spec: basic/transports/streamable-http#schema-extension
    """
    found: dict[str, ParamHeader] = {}
    places: dict[str, str] = {}
    # The path is None below any keyword but `properties`.
    waiting: deque[tuple[str, Mapping[str, Any], tuple[str, ...] | None]] = deque(
        [("", schema, ())]
    )
    while waiting:
        pointer, node, path = waiting.popleft()
        if ANNOTATION in node:
            header = _read_annotation(node, pointer, path)
            if header.key in places:
                raise SchemaError(
                    f'{ANNOTATION} "{header.name}" is taken by {places[header.key]}; give each '
                    "property a name of its own (case does not count)",
                    pointer,
                )
            places[header.key] = pointer
            found[header.key] = header
        for keyword, place, child in find_children(node, pointer):
            if not is_object(child):
                continue
            inner = None
            if path is not None and keyword == "properties":
                inner = (*path, _last_name(place))
            waiting.append((place, child, inner))
    return tuple(found.values())


def _last_name(pointer: str) -> str:
    return pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")


def _read_annotation(
    node: Mapping[str, Any], pointer: str, path: tuple[str, ...] | None
) -> ParamHeader:
    if not path:
        raise SchemaError(
            f"{ANNOTATION} may stand only on a property that is reached from the root through "
            "`properties` alone (not items, anyOf, $defs or the like); take it away, or move "
            "the property",
            pointer,
        )
    name = node[ANNOTATION]
    if not isinstance(name, str) or _TOKEN.fullmatch(name) is None:
        raise SchemaError(
            f"{ANNOTATION} must be the end of a header's name, letters, digits and "
            f'!#$%&\'*+-.^_`|~ only, such as "Region", got {name!r:.80}',
            pointer,
        )
    kind = node.get("type")
    if kind not in _KINDS:
        # Of number, clients in different languages write the same value differently.
        raise SchemaError(
            f'{ANNOTATION} needs "type": "string", "integer" or "boolean" beside it, '
            + ("and there is no type" if kind is None else f"got {kind!r:.80}"),
            pointer,
        )
    return ParamHeader(name, path)


def render_param(value: object) -> str | None:
    """Return an argument as a header says it; `None` if no header can say it.

    Before the encoding that keeps it within visible ASCII.

    Spec: basic/transports/streamable-http#value-encoding
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return str(int(value)) if value.is_integer() else repr(value)
        case _:
            return None
