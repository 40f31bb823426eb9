"""The marker that tells an absent member from one that is null.

Layer: the lowest. Four members of the protocol may be any JSON value, null
included, so `None` cannot stand for "not there": `structuredContent` of a tool
result (and of a tool result inside sampling), an error's `data`, and a log
record's `data`.
"""

from __future__ import annotations

import enum
from typing import Final, Literal


class _Unset(enum.Enum):
    UNSET = enum.auto()

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False


Unset = Literal[_Unset.UNSET]
"""The type of `UNSET`, for annotations: `Any | Unset`."""

UNSET: Final = _Unset.UNSET
"""The member is absent. Falsy, and compared with `is`."""
