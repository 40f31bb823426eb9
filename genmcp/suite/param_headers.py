"""Checks that the headers of a tool call say what its arguments say.

Layer: suite, pure. The headers arrive decoded in `Caller.param_headers`. Proxies route
by them and the tool runs on the arguments, so a call in which they differ is refused
before anything else of it is looked at.

Spec: basic/transports/streamable-http#server-behavior-for-custom-headers
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from genmcp.errors import HeaderMismatch
from genmcp.providers.param_headers import ParamHeader, render_param
from genmcp.wire.json_kinds import name_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly."""

_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,15})(?:\.0{1,16})?")


def check_param_headers(
    declared: Iterable[ParamHeader],
    sent: Mapping[str, str | None] | None,
    arguments: Mapping[str, Any],
) -> None:
    """Compare the headers that a tool's schema asks for with the arguments.

    Args:
        declared: what the schema asks for; other headers are ignored.
        sent: see `Caller.param_headers`; without headers nothing is checked.
        arguments: as they were sent, before anything is repaired or typed.

    Raises:
        HeaderMismatch: a header is missing, unreadable or different, or repeats an
            argument that is not there.
    """
    if sent is None:
        return
    for header in declared:
        problem = _find_problem(header, sent, header.find_value(arguments))
        if problem is not None:
            raise HeaderMismatch(problem)


def _find_problem(
    header: ParamHeader, sent: Mapping[str, str | None], argument: object
) -> str | None:
    """Return the sentence for what is wrong. It tells no value: they may be anything."""
    name = f"Mcp-Param-{header.name}"
    mirrored = ".".join(("params.arguments", *header.path))
    if header.key not in sent:
        if argument is None:
            return None
        return _describe_unsendable(name, mirrored, argument) or (
            f"The header {name} is missing; it must repeat {mirrored}"
        )
    text = sent[header.key]
    if text is None:
        return (
            f"The header {name} cannot be read; send visible ASCII, or wrap the Base64 of "
            "UTF-8 text, with its padding, as =?base64?...?="
        )
    if argument is None:
        return (
            f"The header {name} was sent, but {mirrored} is absent or null; "
            "leave the header out, or send the argument"
        )
    problem = _describe_unsendable(name, mirrored, argument)
    if problem is None and not _is_equal(text, argument):
        return f"The header {name} differs from {mirrored}; they must be equal"
    return problem


def _describe_unsendable(name: str, mirrored: str, argument: object) -> str | None:
    if render_param(argument) is None:
        kind = name_kind(argument)
        return f"{mirrored} is an {kind}, which the header {name} cannot repeat; send one value"
    if isinstance(argument, int | float) and abs(argument) > MAX_INTEGER:
        return f"{mirrored} must be within +-{MAX_INTEGER}, because the header {name} repeats it"
    return None


def _is_equal(text: str, argument: object) -> bool:
    if isinstance(argument, float) and argument.is_integer():
        argument = int(argument)
    if isinstance(argument, int) and not isinstance(argument, bool):
        # The spelling is the client's: 42 and 42.0 are one integer.
        return _INTEGER.fullmatch(text) is not None and int(text.partition(".")[0]) == argument
    return render_param(argument) == text
