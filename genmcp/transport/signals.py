"""The signals that ask a process to end.

Layer: transport, shell. `genmcp.transport.serving` uses it when it is asked to, and
`genmcp.cli` does.
"""

from __future__ import annotations

import logging
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import trio

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

_log: Final = logging.getLogger("genmcp.transport")

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

_listeners: Final[list[Callable[[], None]]] = []
# What is left to do when the second one comes.
_last: Final[list[Callable[[], None]]] = []
# What was there before the first listener, for the last one to put back.
_before: Final[dict[signal.Signals, Any]] = {}
# Those that came while listeners were told of the first.
_heard: Final[list[int]] = []


@contextmanager
def stopping_on_signals(
    stop: trio.Event,
    *,
    heard: Callable[[], None] | None = None,
    last: Callable[[], None] | None = None,
) -> Generator[None]:
    """Set `stop` on the first signal, and leave the second one to end the process.

    Several may listen at a time; one signal stops them all.

    Args:
        stop: is set by the event loop this is entered in.
        heard: called before, and even if that loop is stuck: on the main thread, between
            any two steps of it. No second signal ends the process before it has returned.
        last: called on the second signal, in the same way, before it ends the process. For
            a process that gets stuck nowhere: one that is, in C, would not end.

    Raises:
        RuntimeError: this is not the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("handle_signals needs the main thread; set `stop` instead")
    token = trio.lowlevel.current_trio_token()

    def listener() -> None:
        if heard is not None:
            heard()
        token.run_sync_soon(say_so)

    def say_so() -> None:
        _log.info("Stopping; a second signal ends the process at once")
        stop.set()

    _listeners.append(listener)
    if last is not None:
        _last.append(last)
    if len(_listeners) == 1:
        _before.update({one: signal.signal(one, _hear) for one in _SIGNALS})
    try:
        yield
    finally:
        _listeners.remove(listener)
        if last is not None:
            _last.remove(last)
        if not _listeners:
            for one, handler in _before.items():
                signal.signal(one, handler)


def _hear(number: int, _frame: FrameType | None) -> None:
    _heard.append(number)
    if len(_heard) > 1:
        return  # in the midst of the first, which goes on when this returns
    try:
        for listener in tuple(_listeners):
            listener()
    finally:
        # The default action, not an exception: it ends a process whose event loop is stuck,
        # or waits for a thread. Not before: those who were to be told would not be.
        for one in _SIGNALS:
            signal.signal(one, _hear_second if _last else signal.SIG_DFL)
        more = _heard[1:]
        _heard.clear()
    for second in more[:1]:
        signal.raise_signal(second)


def _hear_second(number: int, _frame: FrameType | None) -> None:
    for one in _SIGNALS:
        signal.signal(one, signal.SIG_DFL)
    try:
        for last in tuple(_last):
            last()
    finally:
        signal.raise_signal(number)
