"""Which templates can be matched, and how each is laid out to be matched.

Layer: providers, pure; between `genmcp.providers.uri_template_match`, whose objects it
makes, and `genmcp.providers.uri_template`. Refused here is what parts show together:
values with nothing between them, two expressions that both take text of any length, a
query that is not the end.

Spec: server/resources#resource-templates; RFC 6570, section 1.4, on matching
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final

from genmcp.providers.uri_template_match import Layout, Pairs, ParameterSlot, Query, Region, Slot
from genmcp.providers.uri_template_parts import Expression, Literal, TemplateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SEPARATORS: Final = frozenset("/?#[],;&")
"""What never stands unencoded in a value: it separates, in a URI or in an expression.

The other reserved characters may, though RFC 6570 encodes them when it expands:
people and models write `user@host` and `12:30` as they are.
"""

_QUERY: Final = frozenset("?&")
_NAMED: Final = frozenset(";?&")
_SEPARATOR_OF: Final = {"": ",", ".": ".", "/": "/"}


def lay_out(template: str, parts: Sequence[Literal | Expression]) -> Layout:
    """Lay out the parts of `template` for matching.

    Raises:
        TemplateError: they could be matched in more than one way, or not at all.
    """
    _check_expressions(template, parts)
    head = list(takewhile(lambda part: not _is_query(part), parts))
    behind = parts[len(head) :]
    query = list(takewhile(_is_query, behind))
    tail = behind[len(query) :]
    return Layout(
        _RegionBuilder(template).build(head),
        _lay_out_query(template, head, query),
        _lay_out_tail(template, tail),
    )


def _check_expressions(template: str, parts: Sequence[Literal | Expression]) -> None:
    names: set[str] = set()
    greedy: Expression | None = None
    for part in parts:
        if isinstance(part, Literal):
            continue
        for variable in part.variables:
            if variable.key in names:
                raise TemplateError(
                    template,
                    part.offset,
                    f"{part.written}: {variable.name} is there twice; rename one of them",
                )
            names.add(variable.key)
        if part.operator not in _NAMED and sum(v.exploded for v in part.variables) > 1:
            raise TemplateError(
                template,
                part.offset,
                f"{part.written}: two lists in one; nothing tells where the first ends. "
                "Take the * from one of them",
            )
        if part.greedy and greedy:
            raise TemplateError(
                template,
                part.offset,
                f"{part.written}: takes text of any length, and so does {greedy.written}; "
                "only one expression may have +, #, ; or a list in the path. Make one of "
                "them a plain {name}",
            )
        greedy = part if part.greedy else greedy


def _is_query(part: Literal | Expression) -> bool:
    return isinstance(part, Expression) and part.operator in _QUERY


def _has(part: Literal | Expression, mark: str) -> bool:
    return mark in part.marked if isinstance(part, Literal) else part.operator == mark


def _lay_out_query(
    template: str,
    head: Sequence[Literal | Expression],
    query: Sequence[Literal | Expression],
) -> Query | None:
    expressions = [part for part in query if isinstance(part, Expression)]
    if not expressions:
        return None
    first = expressions[0]
    if any(_has(part, "#") for part in head):
        raise TemplateError(
            template,
            first.offset,
            f"{first.written}: stands in the fragment; put it before the #",
        )
    begun = any(_has(part, "?") for part in head)
    for expression in expressions:
        if expression.operator == "?" and begun:
            raise TemplateError(
                template,
                expression.offset,
                f"{expression.written}: the query has already begun; "
                f"write {{&{expression.written[2:]}",
            )
        begun = True
    literals = [part for part in head if isinstance(part, Literal)]
    skipped = sum(part.marked.count(first.operator) for part in literals)
    variables = [variable for part in expressions for variable in part.variables]
    pairs = Pairs({variable.key: variable for variable in variables}, "&")
    return Query(first.operator, skipped, pairs)


def _lay_out_tail(template: str, tail: Sequence[Literal | Expression]) -> Region | None:
    if not tail:
        return None
    first = tail[0]
    fits = first.marked.startswith("#") if isinstance(first, Literal) else first.operator == "#"
    if not fits:
        raise TemplateError(
            template,
            first.offset,
            f"{first.written}: only {{&...}} or a fragment may follow a query expression; "
            "write fixed parameters before it, as ?fixed=1{&name}",
        )
    for part in tail:
        if isinstance(part, Expression) and part.operator in _QUERY:
            raise TemplateError(
                template,
                part.offset,
                f"{part.written}: stands in the fragment; put it before the #",
            )
    return _RegionBuilder(template).build(tail)


class _RegionBuilder:
    """Turns parts into literals and slots that alternate."""

    def __init__(self, template: str) -> None:
        self._template = template
        self._literals = [""]
        self._slots: list[Slot | ParameterSlot] = []
        self._last: Expression | None = None

    def build(self, parts: Sequence[Literal | Expression]) -> Region:
        for part in parts:
            if isinstance(part, Literal):
                self._literals[-1] += part.marked
                continue
            for piece in _flatten(part):
                if isinstance(piece, str):
                    self._literals[-1] += piece
                else:
                    self._add(piece, part)
            self._last = part
        return Region(tuple(self._literals), tuple(self._slots))

    def _add(self, slot: Slot | ParameterSlot, expression: Expression) -> None:
        if self._slots and not self._literals[-1]:
            before = self._slots[-1]
            if not isinstance(slot, ParameterSlot) or not isinstance(before, Slot):
                last = self._last.written if self._last else ""
                raise TemplateError(
                    self._template,
                    expression.offset,
                    f"{last}{expression.written}: nothing tells where the first value ends; "
                    f"put text between them, such as a slash: {last}/{expression.written}",
                )
            self._slots[-1] = ParameterSlot(before, slot.pairs, slot.excluded)
            return
        self._slots.append(slot)
        self._literals.append("")


def _flatten(expression: Expression) -> Iterator[str | Slot | ParameterSlot]:
    operator, variables = expression.operator, expression.variables
    if operator in {"+", "#"}:
        if operator == "#":
            yield "#"
        several = len(variables) > 1 or any(variable.exploded for variable in variables)
        yield Slot(variables, "," if several else "", frozenset(), greedy=True)
    elif operator == ";":
        pairs = Pairs({variable.key: variable for variable in variables}, ";")
        yield ParameterSlot(None, pairs, _SEPARATORS - {",", ";"})
    else:
        separator = _SEPARATOR_OF[operator]
        for at, variable in enumerate(variables):
            yield separator if at else operator
            if variable.exploded:
                yield Slot((variable,), separator, _SEPARATORS - {separator}, greedy=True)
            else:
                yield Slot((variable,), "", _SEPARATORS, greedy=False)
