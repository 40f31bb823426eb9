"""What a value does wrong, and how values and places are named in messages.

Layer: wire, between those who find fault (`genmcp.wire.schema_errors` for a schema,
`genmcp.wire.typed_cast` for a class) and those who report it (`problems` to a
model, `output` to a log). The words are about the value ("expected integer, got
string"), never about keywords, schemas or the library that checked.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

import attrs

from genmcp.value import Value
from genmcp.wire.json_kinds import name_kind

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_PROBLEMS: Final = 20
"""How many problems of one value are told; nobody mends more than that at once.

Whoever looks for problems stops at one more, which tells that there are more.
"""

MAX_QUOTED: Final = 80
"""How many characters of a value, or of a name, are repeated in a message."""

MAX_OPTIONS: Final = 20
"""How many of the allowed values a message lists."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_$][\w$-]*", re.ASCII)
_MAX_INTEGER: Final = 10**MAX_QUOTED


@attrs.frozen(eq=False, repr=False)
class Violation(Value):
    """One place where a value does not fit, and why.

    Attributes:
        path: where in the value: member names and item indexes.
        keyword: the schema keyword that was violated, empty for what no keyword says.
        message: what is wrong there, the offending value repeated if it is short.
        reason: the same without anything of the value.
        name: the member that is missing or unknown, for those two kinds.
        candidates: the member names that are known where `name` is not.
    """

    path: tuple[str | int, ...]
    keyword: str
    message: str
    reason: str
    name: str | None = None
    candidates: tuple[str, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """Whether a member is there that must not be."""
        return self.keyword in ("additionalProperties", "unevaluatedProperties")

    def put_under(self, *above: str | int) -> Violation:
        """Return the same, seen from `above`."""
        # Not `attrs.evolve`, which is slow, because this is done at every level.
        path = (*above, *self.path)
        return Violation(path, self.keyword, self.message, self.reason, self.name, self.candidates)


def report_missing(name: str, path: tuple[str | int, ...] = ()) -> Violation:
    """Return what is wrong where a member is missing."""
    message = f"missing required field {quote(name)}"
    return Violation(path, "required", message, message, name)


def report_unknown(name: str, known: Iterable[str], path: tuple[str | int, ...] = ()) -> Violation:
    """Return what is wrong where there is a member that nobody knows."""
    message = f"unknown field {quote(name)}"
    return Violation(path, "additionalProperties", message, message, name, tuple(known))


def render_path(path: Iterable[str | int]) -> str:
    """Return `path` as it would be written in code: `items[2].name`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_NAME.fullmatch(step) and len(step) <= MAX_QUOTED:
            text += f".{step}" if text else step
        else:
            text += f"[{quote(step)}]"
    return text


def render_pointer(path: Iterable[str | int]) -> str:
    """Return `path` as a JSON pointer, each name shortened."""
    steps = (shorten(str(step)).replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{step}" for step in steps)


def shorten(text: str) -> str:
    """Return `text`, cut after `MAX_QUOTED` characters, fit to be written as UTF-8."""
    cut = text if len(text) <= MAX_QUOTED else f"{text[: MAX_QUOTED - 1]}…"
    return cut.encode(errors="backslashreplace").decode()


def quote(value: object) -> str:
    """Return a scalar as JSON, shortened; anything else as the name of its type."""
    if isinstance(value, str):
        # Cut before quoting, so that the closing quote is always there.
        return json.dumps(shorten(value), ensure_ascii=False)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        # Python refuses to write out thousands of digits.
        return str(value) if abs(value) < _MAX_INTEGER else "a very large integer"
    return repr(value) if isinstance(value, float) else name_kind(value)


def describe(value: object) -> str:
    """Return the type of `value` and, for a scalar, the value: `string "x"`."""
    kind = name_kind(value)
    return f"{kind} {quote(value)}" if isinstance(value, str | int | float) else kind


def join_options(options: Iterable[str]) -> str:
    """Return `a, b or c`; where there are many, the first few and how many there are."""
    listed = list(options)
    if len(listed) > MAX_OPTIONS:
        return f"{', '.join(listed[:MAX_OPTIONS])} … ({len(listed)} in all)"
    if len(listed) == 1:
        return listed[0]
    return f"{', '.join(listed[:-1])} or {listed[-1]}" if listed else "nothing"
