"""When a worker that has ended is started again.

Layer: cli, pure; for `genmcp.cli.workers.supervisor`.

At once, the first time: a crash should cost nobody anything but its own calls. Later ones
wait, since a worker that ends again and again costs the machine a start each time. And one
that does not even come to serve will not the next time either: after a few tries all of
them end, so that whoever watches the supervisor learns of it.
"""

from __future__ import annotations

from typing import Final

STEADY_SECONDS: Final = 60.0
"""Who has lived as long is counted anew."""

MAX_DELAY_SECONDS: Final = 30.0

MAX_FAILED_STARTS: Final = 5

_MOST_DOUBLED: Final = 10


class Restarts:
    """Counts the ends of one worker and its successors."""

    def __init__(self) -> None:
        self._ends = 0
        self._failed_starts = 0

    def note_end(self, lived_seconds: float, *, served: bool) -> float | None:
        """Return in how many seconds to start it again; `None` to give up.

        Args:
            lived_seconds: how long the worker lived.
            served: whether it came to serve.
        """
        if served:
            self._failed_starts = 0
            if lived_seconds >= STEADY_SECONDS:
                self._ends = 0
        else:
            self._failed_starts += 1
            if self._failed_starts >= MAX_FAILED_STARTS:
                return None
        before = min(self._ends, _MOST_DOUBLED)
        self._ends += 1
        return 0.0 if before == 0 else min(2.0 ** (before - 1), MAX_DELAY_SECONDS)
