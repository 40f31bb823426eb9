"""What is wrong with the arguments of a call, in lines a model can act on.

Layer: wire, between `genmcp.wire.violation` (what is wrong, and where) and
`genmcp.wire.arguments`. One line per field: the place, what is wrong, and for a
name that nobody knows the names that are known.

Spec: server/tools#error-handling
"""

from __future__ import annotations

import difflib
from itertools import islice
from typing import TYPE_CHECKING, Final

from genmcp.wire.violation import (
    MAX_OPTIONS,
    MAX_PROBLEMS,
    Violation,
    quote,
    render_path,
    render_pointer,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_COMPARED: Final = 50
"""How many known names an unknown one is compared with."""

_MAX_COMPARED_LENGTH: Final = 40
"""How long names may be to be compared, which takes time with the square of that."""


def render_problems(violations: Iterable[Violation]) -> list[str]:
    """Return one line for each violation, and one for those beyond `MAX_PROBLEMS`."""
    listed = list(islice(violations, MAX_PROBLEMS + 1))
    lines: list[str] = []
    told: set[tuple[str | int, ...]] = set()
    for violation in listed[:MAX_PROBLEMS]:
        if violation.is_unknown:
            lines.append(_render_unknown(violation, tell_names=violation.path not in told))
            told.add(violation.path)
        elif violation.name is not None:
            lines.append(_put_place(violation, violation.message))
        else:
            lines.append(f"{render_path(violation.path) or 'arguments'}: {violation.message}")
    if len(listed) > MAX_PROBLEMS:
        # How many is not known: nobody looked further.
        lines.append("… and more")
    return lines


def render_reasons(violations: Iterable[Violation]) -> list[str]:
    """Return what is wrong for a log: JSON pointers and reasons, none of the values."""
    return [
        f"{render_pointer(violation.path) or '(root)'}: {violation.reason}"
        for violation in islice(violations, MAX_PROBLEMS)
    ]


def _put_place(violation: Violation, text: str) -> str:
    if violation.path:
        return f"{render_path(violation.path)}: {text}"
    # What a model fills in at the top are arguments; below, fields.
    return text.replace(" field", " argument", 1)


def _render_unknown(violation: Violation, *, tell_names: bool) -> str:
    text = violation.message
    known = violation.candidates
    close = _find_close(violation.name or "", known)
    if close:
        text += f"; did you mean {quote(close[0])}?"
    if tell_names and known:
        kind = "fields" if violation.path else "arguments"
        text += f"{'' if close else '.'} Valid {kind}: {_list_names(known)}"
    return _put_place(violation, text)


def _find_close(name: str, known: tuple[str, ...]) -> list[str]:
    """Return the known name most like `name`, if one is; long names are like none."""
    if len(name) > _MAX_COMPARED_LENGTH:
        return []
    compared = [one for one in known[:_MAX_COMPARED] if len(one) <= _MAX_COMPARED_LENGTH]
    return difflib.get_close_matches(name, compared, n=1)


def _list_names(names: tuple[str, ...]) -> str:
    listed = ", ".join(map(shorten, names[:MAX_OPTIONS]))
    return listed if len(names) <= MAX_OPTIONS else f"{listed} … ({len(names)} in all)"
