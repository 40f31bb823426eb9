"""The parts of a URI template as RFC 6570 writes them: literals and expressions.

Layer: providers, pure; between `genmcp.providers.uri_template_text` and
`genmcp.providers.uri_template_match`, which decides whether the parts can be matched.
Refused here is what a part alone shows: bad syntax, and what no value could be read
back from.

Spec: server/resources#resource-templates; RFC 6570, section 2
"""

from __future__ import annotations

import re
from typing import Final

import attrs

from genmcp.providers.uri_template_text import find_foreign, mark, render
from genmcp.value import Value

_OPERATORS: Final = "+#./;?&"
_NAMED: Final = frozenset(";?&")
_RESERVED_OPERATORS: Final = "=,!@|"
_NAME: Final = re.compile(
    r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*"
)


class TemplateError(ValueError):
    """A URI template is malformed, or could be matched in more than one way.

    Raised when the template is parsed, so that it stops a server that starts, never
    one that serves. The message names the place, the reason and the fix.

    Attributes:
        template: the whole template.
        offset: where in it, in characters from 0, the trouble begins.
    """

    def __init__(self, template: str, offset: int, problem: str) -> None:
        super().__init__(f"URI template {template!r}, offset {offset}: {problem}")
        self.template = template
        self.offset = offset


@attrs.frozen(eq=False, repr=False)
class Literal(Value):
    """Text that stands for itself.

    Attributes:
        written: as it goes into a URI.
        marked: as it is compared, see `mark`.
        offset: where in the template it begins.
    """

    written: str
    marked: str
    offset: int


@attrs.frozen(eq=False, repr=False)
class Variable(Value):
    """One name in an expression.

    Attributes:
        name: as written; what authors know the value by.
        key: the name as it is compared with one in a URI, see `mark`.
        operator: the operator of the expression, empty if it has none.
        exploded: whether `*` follows the name: the value is a list.
    """

    name: str
    key: str
    operator: str
    exploded: bool

    @property
    def named(self) -> bool:
        """Whether the name stands in the URI, so that the value may be missing or empty."""
        return self.operator in _NAMED


@attrs.frozen(eq=False, repr=False)
class Expression(Value):
    """A `{...}`: an operator, maybe none, and one or more variables.

    Attributes:
        written: the whole of it, braces included.
        operator: one of `+ # . / ; ? &`, or empty.
        variables: in the order they are written.
        offset: where in the template it begins.
    """

    written: str
    operator: str
    variables: tuple[Variable, ...]
    offset: int

    @property
    def greedy(self) -> bool:
        """Whether it takes text of any length, separators included."""
        if self.operator in {"?", "&"}:
            return False
        return self.operator in {"+", "#", ";"} or any(v.exploded for v in self.variables)


def read_parts(template: str) -> list[Literal | Expression]:
    """Take a template apart.

    Raises:
        TemplateError: a part is malformed or cannot be matched.
    """
    parts: list[Literal | Expression] = []
    at = 0
    while at < len(template):
        if template[at] == "{":
            end = template.find("}", at) + 1
            if not end:
                raise TemplateError(
                    template, at, f"{template[at:]} is not closed; end the expression with }}"
                )
            parts.append(_read_expression(template, at, end))
        else:
            end = template.find("{", at)
            end = len(template) if end < 0 else end
            parts.append(_read_literal(template, at, end))
        at = end
    return parts


def _read_literal(template: str, start: int, end: int) -> Literal:
    text = template[start:end]
    foreign = find_foreign(text)
    if foreign is not None:
        found = text[foreign]
        if found == "}":
            fix = "} closes no expression; put { before the name, or write a literal one as %7D"
        elif found == "%":
            fix = "% must begin a triplet such as %20; write a literal one as %25"
        else:
            encoded = "".join(f"%{octet:02X}" for octet in found.encode("utf-8", "replace"))
            fix = f"{found!r} may not stand in a URI; write it percent-encoded, as {encoded}"
        raise TemplateError(template, start + foreign, fix)
    # RFC 6570 copies triplets and encodes what lies beyond ASCII.
    written = "".join(c if c.isascii() else render(mark(c)) for c in text)
    return Literal(written, mark(text), start)


def _read_expression(template: str, start: int, end: int) -> Expression:
    written, body = template[start:end], template[start + 1 : end - 1]
    first = body[:1]
    if not first:
        raise TemplateError(template, start, "{} names no variable; write one, as {name}")
    if first in _RESERVED_OPERATORS:
        raise TemplateError(
            template,
            start + 1,
            f"{written}: the operator {first} is reserved; the operators are "
            + " ".join(_OPERATORS),
        )
    operator = first if first in _OPERATORS else ""
    at = start + 1 + len(operator)
    variables: list[Variable] = []
    for spec in body[len(operator) :].split(","):
        variables.append(_read_variable(template, at, spec, written, operator))
        at += len(spec) + 1
    return Expression(written, operator, tuple(variables), start)


def _read_variable(template: str, at: int, spec: str, written: str, operator: str) -> Variable:
    name, colon, _ = spec.partition(":")
    if colon and _NAME.fullmatch(name):
        raise TemplateError(
            template,
            at,
            f"{written}: a prefix of a value, {spec}, does not give the value back; "
            f"take all of it, as {name}",
        )
    name = spec.removesuffix("*")
    if not _NAME.fullmatch(name):
        raise TemplateError(
            template,
            at,
            f"{written}: {spec!r} is no variable name; one consists of A-Z a-z 0-9 _ and "
            "%XX, with single dots in between, and may be followed by *",
        )
    return Variable(name, mark(name), operator, exploded=name != spec)
