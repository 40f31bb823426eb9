"""Not found: saying what it was that does not exist.

Layer: suite. An author raises `NotFound` without a word; the page that called the
hook knows which name or URI was asked for.

Spec: server/prompts#error-handling, server/resources#error-handling
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from genmcp.errors import NotFound, find_sole_leaf
from genmcp.mcp.unset import UNSET
from genmcp.outcome import Error

if TYPE_CHECKING:
    from collections.abc import Generator

_UNSAID = NotFound().message

MAX_SHOWN_NAME: Final = 128
"""How many characters of an unknown name the answer repeats."""


def shorten_name(name: str) -> str:
    """Return a name that a client sent as an error may repeat it."""
    return name if len(name) <= MAX_SHOWN_NAME else f"{name[:MAX_SHOWN_NAME]}..."


def unknown_prompt(name: str) -> NotFound:
    """Return the error for a prompt that does not exist."""
    shown = shorten_name(name)
    return NotFound(f"Unknown prompt: {shown}", data={"name": shown})


def unknown_resource(uri: str) -> NotFound:
    """Return the error for a resource that does not exist."""
    return NotFound("Resource not found", data={"uri": uri})


@contextmanager
def naming(missing: NotFound) -> Generator[None]:
    """Let a bare `NotFound` raised inside say what `missing` says."""
    try:
        yield
    except (NotFound, BaseExceptionGroup) as error:
        leaf = find_sole_leaf(error)
        if not isinstance(leaf, NotFound):
            raise
        raise name_missing(leaf, missing) from None


def name_returned(answer: Error, missing: NotFound) -> Error:
    """Do for a returned error what `naming` does for a raised one."""
    if isinstance(answer.reason, NotFound):
        return Error(name_missing(answer.reason, missing))
    return answer


def name_missing(given: NotFound, missing: NotFound) -> NotFound:
    """Return the author's error, with what `missing` says where it says nothing."""
    message = missing.message if given.message == _UNSAID else given.message
    return NotFound(message, data=missing.data if given.data is UNSET else given.data)
