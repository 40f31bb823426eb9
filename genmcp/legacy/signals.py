"""Signals as bytes, which is how a session store carries them.

Layer: legacy, pure. The signals themselves stand in `genmcp.legacy.store`. While a server
is replaced by its next version, processes of both share a store: what one of them does not
know is nothing to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import orjson

from genmcp.legacy.store import (
    AnswerCame,
    CancelWanted,
    SessionEnded,
    StreamOpened,
    StreamRead,
    StreamResumed,
    WatchedChanged,
)
from genmcp.wire.json_text import write_json

if TYPE_CHECKING:
    from genmcp.legacy.store import Signal

_KINDS: Final[dict[str, type[Signal]]] = {
    "answer": AnswerCame,
    "cancel": CancelWanted,
    "watched": WatchedChanged,
    "stream": StreamOpened,
    "resumed": StreamResumed,
    "read": StreamRead,
    "ended": SessionEnded,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


def write_signal(signal: Signal) -> bytes:
    """Return a signal as JSON: its name, and what it holds in order."""
    held = (_NAMES[type(signal)], *attrs.astuple(signal, recurse=False))
    # Each for itself: an answer may be nested as deep as can be written.
    return b"[%s]" % b",".join(map(write_json, held))


def read_signal(written: bytes) -> Signal | None:
    """Return the signal, or `None` for what is none that is known here."""
    try:
        name, *held = orjson.loads(written)
        made: Any = _KINDS[name](*held)
    except (ValueError, TypeError, KeyError):
        return None
    found: Signal = made
    return found
