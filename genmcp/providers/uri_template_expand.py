"""The forward direction of a URI template: values in, text out.

Layer: providers, pure; between `genmcp.providers.uri_template_parts` and
`genmcp.providers.uri_template`, which checks the values first and reads the URI back
afterwards.

Spec: RFC 6570, section 3.2, and the table in appendix A
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from genmcp.providers.uri_template_parts import Expression, Literal
from genmcp.providers.uri_template_text import encode_reserved, encode_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from genmcp.providers.uri_template_parts import Variable

_FIRST_AND_SEPARATOR: Final = {
    "": ("", ","),
    "+": ("", ","),
    "#": ("#", ","),
    ".": (".", "."),
    "/": ("/", "/"),
    ";": (";", ";"),
    "?": ("?", "&"),
    "&": ("&", "&"),
}


def expand_parts(parts: Iterable[Literal | Expression], values: Mapping[str, list[str]]) -> str:
    """Return the parts with the values in place: one for each name, or a list's items.

    Raises:
        ValueError: a value holds a lone surrogate.
    """
    return "".join(
        part.written if isinstance(part, Literal) else _expand(part, values) for part in parts
    )


def _expand(expression: Expression, values: Mapping[str, list[str]]) -> str:
    first, separator = _FIRST_AND_SEPARATOR[expression.operator]
    pieces = [
        _expand_item(variable, item)
        for variable in expression.variables
        for item in values.get(variable.name, ())
    ]
    return first + separator.join(pieces) if pieces else ""


def _expand_item(variable: Variable, item: str) -> str:
    try:
        encoded = (encode_reserved if variable.operator in {"+", "#"} else encode_value)(item)
    except UnicodeEncodeError:
        raise ValueError(
            f"{variable.name}: {item!r} holds a lone surrogate, which no URI can"
        ) from None
    if not variable.named:
        return encoded
    if not item and variable.operator == ";":
        return variable.name
    return f"{variable.name}={encoded}"
