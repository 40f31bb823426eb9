"""A client that has gone, noticed even if the event loop is stuck.

Layer: cli. `genmcp.cli.stdio_command` uses it: a process that nobody has any more must not
stay because a tool blocks the loop, which would have read the end of stdin.
"""

from __future__ import annotations

import select
import sys
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_NOTICE_SECONDS: Final = 5.0


class HangUpWatch:
    """Calls `unnoticed` if nobody has noticed that the other end of a pipe is closed.

    It is a thread, since the event loop may be what is stuck. Where the system cannot tell
    without reading, as Windows cannot, it does nothing.

    Args:
        fd: the end that is read from.
        unnoticed: called in the thread.
        notice_seconds: how long noticing may take.
    """

    def __init__(
        self, fd: int, unnoticed: Callable[[], None], notice_seconds: float = _NOTICE_SECONDS
    ) -> None:
        self._fd = fd
        self._unnoticed = unnoticed
        self._notice_seconds = notice_seconds
        self._noticed = threading.Event()
        if sys.platform != "win32":
            threading.Thread(target=self._watch, name="genmcp hang-up", daemon=True).start()

    def notice(self) -> None:
        """Say that it was noticed, or does not matter any more. From any thread."""
        self._noticed.set()

    def _watch(self) -> None:
        assert sys.platform != "win32"
        poll = select.poll()
        # Nothing is asked for: that the other end is closed is told unasked.
        poll.register(self._fd, 0)
        poll.poll()
        if not self._noticed.wait(self._notice_seconds):
            self._unnoticed()
