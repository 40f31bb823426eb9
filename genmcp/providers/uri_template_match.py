"""How the values of a template are found in a URI: a scan from both ends.

Layer: providers, pure; between `genmcp.providers.uri_template_layout`, which makes
these objects out of a template, and `genmcp.providers.uri_template`. Everything here
works on marked text (`genmcp.providers.uri_template_text`) and gives the texts of the
values back undecoded.

No regular expression and no backtracking. Slots and literals alternate. Those before
the greedy slot are looked for from the left, each literal where it first occurs; those
behind it from the right, each where it last occurs; what remains is the greedy one's.
Every search begins where the one before it ended, so that how often a character is
looked at depends on the template, never on the URI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeAlias

import attrs

from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from genmcp.providers.uri_template_parts import Variable

Found: TypeAlias = "dict[str, list[str]]"
"""The marked texts found for each name: one, unless the variable is exploded."""


@attrs.frozen(eq=False, repr=False)
class Slot(Value):
    """A place between two literals where values stand.

    Attributes:
        variables: whose values; one, but for `{+a,b}` and `{#a,b}`.
        separator: what separates values; empty where there is exactly one.
        excluded: the characters that never stand there unencoded.
        greedy: whether separators of other expressions may stand there too.
    """

    variables: tuple[Variable, ...]
    separator: str
    excluded: frozenset[str]
    greedy: bool

    def read(self, text: str) -> Found | None:
        """Return the values' texts, or `None` when `text` does not fit."""
        if not self.excluded.isdisjoint(text):
            return None
        items = text.split(self.separator) if self.separator else [text]
        spare = len(items) - len(self.variables)
        if spare < 0 or (spare and not any(variable.exploded for variable in self.variables)):
            return None
        found: Found = {}
        at = 0
        for variable in self.variables:
            end = at + 1 + (spare if variable.exploded else 0)
            found[variable.name] = items[at:end]
            at = end
        return found


@attrs.frozen(eq=False, repr=False)
class Pairs(Value):
    """The `name=value` pairs of `{;...}`, or of `{?...}` and the `{&...}` that follow.

    In any order; pairs of other names are ignored, missing ones leave no value.

    Attributes:
        variables: the variables by the key that stands in the URI.
        separator: `;` or `&`.
    """

    variables: Mapping[str, Variable]
    separator: str

    def read(self, text: str) -> Found | None:
        """Return the values' texts; `None` when a name that has one value comes twice."""
        found: Found = {}
        for pair in text.split(self.separator):
            key, _, value = pair.partition("=")
            variable = self.variables.get(key)
            if variable is None:
                continue
            if variable.name in found and not variable.exploded:
                return None
            found.setdefault(variable.name, []).append(value)
        return found


@attrs.frozen(eq=False, repr=False)
class ParameterSlot(Value):
    """The place of `{;...}`. It may be empty, so it also holds the slot right before it.

    Attributes:
        before: the slot that ends where the first `;` stands, if there is one.
        pairs: the parameters.
        excluded: the characters that never stand there unencoded.
    """

    before: Slot | None
    pairs: Pairs
    excluded: frozenset[str]
    greedy: ClassVar[bool] = True

    def read(self, text: str) -> Found | None:
        """Return the values' texts, or `None` when `text` does not fit."""
        first, _, parameters = text.partition(";")
        if not self.excluded.isdisjoint(parameters):
            return None
        found = self.pairs.read(parameters)
        if self.before is None or found is None:
            return None if first else found
        given = self.before.read(first)
        return None if given is None else given | found


@attrs.frozen(eq=False, repr=False)
class Region(Value):
    """Literals and the slots between them.

    Attributes:
        literals: one more than there are slots; the first and the last may be empty.
        slots: at most one of them greedy.
    """

    literals: tuple[str, ...]
    slots: tuple[Slot | ParameterSlot, ...]

    def find(self, text: str, *, shortest: int) -> Found | None:
        """Return the values' texts in all of `text`, or `None` when it does not fit.

        Args:
            text: marked text.
            shortest: how long a value is at least, 0 or 1, where the literal behind
                it could otherwise be found at once.
        """
        if not self.slots:
            return {} if text == self.literals[0] else None
        cut = self._cut(text, shortest)
        if cut is None:
            return None
        found: Found = {}
        for slot, piece in zip(self.slots, cut, strict=True):
            read = slot.read(piece)
            if read is None:
                return None
            found |= read
        return found

    def _cut(self, text: str, shortest: int) -> list[str] | None:
        start, end = len(self.literals[0]), len(text) - len(self.literals[-1])
        if start > end:
            return None
        if not (text.startswith(self.literals[0]) and text.endswith(self.literals[-1])):
            return None
        # Without a greedy slot the first takes what the others leave.
        middle = next((at for at, slot in enumerate(self.slots) if slot.greedy), 0)
        left: list[str] = []
        for literal in self.literals[1 : middle + 1]:
            at = text.find(literal, start + shortest, end)
            if at < 0:
                return None
            left.append(text[start:at])
            start = at + len(literal)
        right: list[str] = []
        for literal in self.literals[-2:middle:-1]:
            at = text.rfind(literal, start, max(start, end - shortest))
            if at < 0:
                return None
            right.append(text[at + len(literal) : end])
            end = at
        return [*left, text[start:end], *reversed(right)]


@attrs.frozen(eq=False, repr=False)
class Query(Value):
    """Where the query expressions stand.

    Attributes:
        opener: `?` or `&`, with which their text begins.
        skipped: how many of these stand in literals before it.
        pairs: the variables.
    """

    opener: str
    skipped: int
    pairs: Pairs

    def find(self, text: str) -> int:
        """Return where the text of the query begins, or -1 when there is none."""
        at = text.find(self.opener)
        for _ in range(self.skipped):
            if at < 0:
                break
            at = text.find(self.opener, at + 1)
        return at


@attrs.frozen(eq=False, repr=False)
class Layout(Value):
    """A whole template, ready to match.

    Attributes:
        head: all of it, or what stands before the query.
        query: the query expressions, if there are any.
        tail: the fragment behind them, if there is one.
    """

    head: Region
    query: Query | None
    tail: Region | None

    def find(self, text: str, *, shortest: int) -> Found | None:
        """Return the texts of the values in a marked URI, or `None`: it does not match."""
        if self.query is None:
            return self.head.find(text, shortest=shortest)
        text, hash_mark, fragment = text.partition("#")
        if bool(hash_mark) != (self.tail is not None):
            return None
        at = self.query.find(text)
        found = self.head.find(text if at < 0 else text[:at], shortest=shortest)
        if found is None:
            return None
        pairs = None if at < 0 else self.query.pairs.read(text[at + 1 :])
        if at >= 0 and pairs is None:
            return None
        behind = self.tail and self.tail.find(hash_mark + fragment, shortest=shortest)
        if self.tail is not None and behind is None:
            return None
        return found | (pairs or {}) | (behind or {})
