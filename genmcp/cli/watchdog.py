"""The end of a process that must end.

Layer: cli. `genmcp.cli.serve_command` sets it on itself: threads that do not return, code
that refuses its cancellation and an event loop that is blocked would all keep a server
alive after its grace time.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_log: Final = logging.getLogger("genmcp.cli")

_SAY_SECONDS: Final = 0.25


class Watchdog:
    """Ends the process with status 0, some time after it was told to.

    It is a thread, since the event loop may be what is stuck.

    Args:
        seconds: how long after.
        describe: says what is still running. Called on a thread of its own.

    Attributes:
        thread: where it waits.
    """

    def __init__(self, seconds: float, describe: Callable[[], str]) -> None:
        self._seconds = seconds
        self._describe = describe
        self._begun = threading.Event()
        self._called_off = threading.Event()
        self.thread = threading.Thread(target=self._watch, name="genmcp watchdog", daemon=True)
        self.thread.start()

    def begin(self) -> None:
        """Let the time run. Fit for signal handlers."""
        self._begun.set()

    def call_off(self) -> None:
        """Let the process live, for good."""
        self._called_off.set()
        self._begun.set()

    def _watch(self) -> None:
        self._begun.wait()
        if self._called_off.wait(self._seconds):
            return
        # Whoever is stuck may hold the lock of a log handler or of a stream.
        saying = threading.Thread(target=self._say, daemon=True)
        saying.start()
        saying.join(_SAY_SECONDS)
        os._exit(0)

    def _say(self) -> None:
        try:
            _log.warning(
                "The grace time is over, and this still runs: %s. The process ends without it",
                self._describe(),
            )
        finally:
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
