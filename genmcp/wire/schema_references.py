"""The `$ref`s of one schema: what they name, and how much it is.

Layer: wire, between `genmcp.wire.schema_rules` and `genmcp.wire.schema`. Only
references into the same document are followed here. The compiler resolves the
others, and refuses what leads out: it is never given a way to fetch anything.

Spec: basic/index#ref-resolution
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from genmcp.wire.json_kinds import is_array, is_object
from genmcp.wire.schema_rules import SchemaError, Subschema, find_children, join_pointer

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_EXPANDED: Final = 50_000
"""How many subschemas there may be once every `$ref` counts as what it names."""

MAX_EXPANDED_DEPTH: Final = 256
"""How deep subschemas may nest once every `$ref` counts as what it names."""

_HOLDERS: Final = frozenset({"$defs", "definitions"})
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_IN_PLACE: Final = frozenset(
    {"allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then"}
)


class References:
    """The references of one schema.

    Attributes:
        recursive: whether the schema refers to itself, so that values of any depth
            may fit. Known after `check_size`.
        alternatives: in how many ways at most one value is looked at, at one place,
            that may each lead deeper.
    """

    def __init__(
        self, schema: dict[str, Any] | bool, subschemas: Mapping[str, dict[str, Any]]
    ) -> None:
        self._root = schema
        self._subschemas = subschemas
        self._uri = str(subschemas.get("", {}).get("$id", ""))
        self._anchors = {
            anchor: Subschema(pointer, subschema)
            for pointer, subschema in subschemas.items()
            for keyword in ("$anchor", "$dynamicAnchor", "$id", "id")
            if isinstance(anchor := subschema.get(keyword), str)
        }
        # Then "#" means the nearest `$id`, which only the compiler keeps track of.
        self._has_documents = any(
            isinstance(identifier := subschema.get(keyword), str) and not identifier.startswith("#")
            for pointer, subschema in subschemas.items()
            for keyword in ("$id", "id")
            if pointer
        )
        self._sizes: dict[int, tuple[int, int]] = {}
        self._entered: set[int] = set()
        self.recursive = False
        self.alternatives = max(map(_count_alternatives, subschemas.values()), default=0)

    def find_target(self, reference: object) -> Subschema | None:
        """Return the schema `reference` names, or None when that cannot be told here."""
        fragment = self._find_fragment(reference)
        if fragment is None:
            return None
        if fragment and not fragment.startswith("/"):
            # Before 2019-09 an anchor was an `$id` that is only a fragment.
            return self._anchors.get(fragment, self._anchors.get(f"#{fragment}"))
        node: Any = self._root
        for step in fragment.split("/")[1:]:
            node = _take_step(node, step.replace("~1", "/").replace("~0", "~"))
        known = is_object(node) or isinstance(node, bool)
        return Subschema(fragment, node) if known else None

    def _find_fragment(self, reference: object) -> str | None:
        """Return the fragment of a reference into this very document."""
        if self._has_documents or not isinstance(reference, str):
            return None
        document, _, fragment = reference.partition("#")
        return unquote(fragment) if document in ("", self._uri) and reference else None

    def check_targets(self) -> None:
        """Refuse references to nothing, also where the compiler never looks.

        Raises:
            SchemaError: a `$ref` that names no schema of the document.
        """
        for pointer, subschema in self._subschemas.items():
            for keyword in ("$ref", "$dynamicRef"):
                reference = subschema.get(keyword)
                if self._find_fragment(reference) is None:
                    continue
                if self.find_target(reference) is None:
                    raise SchemaError(
                        f"{keyword} {reference!r:.200} names nothing in this schema; "
                        "define it under $defs",
                        join_pointer(pointer, keyword),
                    )

    def find_outward(self, reference_uri: str) -> str:
        """Return where the schema has a reference to `reference_uri`; the root if unknown."""
        for pointer, subschema in self._subschemas.items():
            for keyword in _REFERENCES:
                reference = subschema.get(keyword)
                if isinstance(reference, str) and reference.split("#")[0] in (
                    reference_uri,
                    reference_uri.rpartition("/")[2],
                ):
                    return join_pointer(pointer, keyword)
        return ""

    def check_size(self) -> None:
        """Refuse schemas that stay small only because references repeat them.

        Raises:
            SchemaError: more than `MAX_EXPANDED` subschemas, or a nesting of more
                than `MAX_EXPANDED_DEPTH`, once references are followed.

        Spec: basic/index#composition-keyword-resource-use
        """
        self._measure(self._root, 1)

    def _measure(self, node: dict[str, Any] | bool, depth: int) -> tuple[int, int]:
        """Return how many subschemas `node` stands for, and how deep they nest."""
        if isinstance(node, bool):
            return 1, 1
        if id(node) in self._entered:
            self.recursive = True
            return 1, 1
        known = self._sizes.get(id(node))
        if known is None:
            if depth > MAX_EXPANDED_DEPTH:
                raise SchemaError(f"nests deeper than {MAX_EXPANDED_DEPTH} levels with its $refs")
            self._entered.add(id(node))
            sizes = [self._measure(part, depth + 1) for part in self._find_parts(node)]
            self._entered.remove(id(node))
            known = 1 + sum(size for size, _ in sizes), 1 + max((d for _, d in sizes), default=0)
            self._sizes[id(node)] = known
        if known[0] > MAX_EXPANDED:
            raise SchemaError(f"stands for more than {MAX_EXPANDED} subschemas with its $refs")
        if depth + known[1] > MAX_EXPANDED_DEPTH:
            raise SchemaError(f"nests deeper than {MAX_EXPANDED_DEPTH} levels with its $refs")
        return known

    def _find_parts(self, node: dict[str, Any]) -> list[dict[str, Any] | bool]:
        parts: list[dict[str, Any] | bool] = [
            child
            for keyword, _, child in find_children(node)
            if keyword not in _HOLDERS and (is_object(child) or isinstance(child, bool))
        ]
        for keyword in _REFERENCES:
            target = self.find_target(node.get(keyword))
            if keyword == "$ref" and target is not None:
                parts.append(target.schema)
            elif keyword in node:
                # What it names shows only while a value is checked: assume the worst.
                self.recursive = True
        return parts


def _count_alternatives(schema: dict[str, Any]) -> int:
    ways = [child for keyword, _, child in find_children(schema) if keyword in _IN_PLACE]
    deep = sum(is_object(way) and _leads_deeper(way) for way in ways)
    return deep + sum(keyword in schema for keyword in _REFERENCES)


def _leads_deeper(schema: dict[str, Any]) -> bool:
    return any(True for _ in find_children(schema)) or any(
        keyword in schema for keyword in _REFERENCES
    )


def _take_step(node: Any, step: str) -> Any:
    if is_object(node):
        return node.get(step)
    if is_array(node) and step.isascii() and step.isdigit():
        return node[int(step)] if int(step) < len(node) else None
    return None
