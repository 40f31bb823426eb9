"""Telling the log and the observers of calls and refusals.

Layer: mux. One `Reporter` for an endpoint, and for each call a `CallRecord`, which
`genmcp.mux.call` tells what happens. The facts are `genmcp.telemetry`'s; here is what
must hold of the telling:

* One line on `genmcp.calls` for each call that has ended, one on `genmcp.refusals` for
  each request that never was a call.
* An observer that fails harms nobody.
* Where nobody observes and nothing is logged, a call costs next to nothing more.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from genmcp.errors import show, show_line
from genmcp.mux.failure import is_crash
from genmcp.telemetry import MAX_MESSAGE, Observer, RefusalReason, show_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from genmcp.errors import McpError
    from genmcp.telemetry import CallEnded, CallInfo, RequestRefused

    Entered = tuple[Observer, AbstractContextManager[Any]]

_refusals: Final = logging.getLogger("genmcp.refusals")
_log: Final = logging.getLogger("genmcp.mux")

_HOOKS: Final = (
    "call_started",
    "stream_opened",
    "stream_closed",
    "call_ended",
    "request_refused",
)


_FAILED: Final = object()


class Reporter:
    """Tells the observers of one endpoint; never raises what they raise.

    Args:
        observers: told in this order of what begins, and in the other of what ends.

    Raises:
        TypeError: that is no list, or one of them no `Observer`, or one has a hook that is
            `async def`.

    Attributes:
        observed: whether there is any observer.
    """

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        # The type says so, but a single observer is an easy slip.
        if not isinstance(observers, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"observers must be a list of Observer instances, got {show(observers)}"
            )
        self._observers = tuple(observers)
        for observer in self._observers:
            _check(observer)
        self.observed = bool(self._observers)
        self._failed: set[tuple[int, str]] = set()

    def start(self, call: CallInfo) -> list[Entered]:
        """Tell of a call that begins; return what was entered for it."""
        entered: list[Entered] = []
        for observer in self._observers:
            context = self._run(observer, "call_started", observer.call_started, call)
            if context is _FAILED or context is None:
                continue
            if self._run(observer, "call_started", _enter, context) is not _FAILED:
                entered.append((observer, context))
        return entered

    def open_stream(self, call: CallInfo) -> None:
        """Tell that a call streams."""
        for observer in self._observers:
            self._run(observer, "stream_opened", observer.stream_opened, call)

    def end(self, call: CallInfo, ended: CallEnded, entered: list[Entered]) -> None:
        """Tell of the end of a call, and leave what was entered for it."""
        for observer in reversed(self._observers):
            if ended.streamed:
                self._run(observer, "stream_closed", observer.stream_closed, call)
            self._run(observer, "call_ended", observer.call_ended, call, ended)
        for observer, context in reversed(entered):
            self._run(observer, "call_started", context.__exit__, None, None, None)

    def refuse(self, refused: RequestRefused, error: McpError) -> None:
        """Log a refusal, and tell of it. A crash has its line in the log already."""
        if refused.reason is not RefusalReason.CRASH:
            _log_refusal(refused, error)
        for observer in self._observers:
            self._run(observer, "request_refused", observer.request_refused, refused)

    def _run(
        self, observer: Observer, hook: str, function: Callable[..., Any], *args: object
    ) -> Any:
        """Return what a hook, or what belongs to it, returns, or `_FAILED`."""
        try:
            return function(*args)
        except BaseException as error:
            if not is_crash(error):
                raise
            self._log_once(observer, hook, error)
            return _FAILED

    def _log_once(self, observer: Observer, hook: str, error: BaseException) -> None:
        # One line for every call would fill disks.
        # By identity: an observer that compares by value cannot be hashed.
        failed = id(observer), hook
        if failed in self._failed:
            return
        self._failed.add(failed)
        name = f"{type(observer).__qualname__}.{hook}"
        _log.error("%s failed; this is logged once", name, exc_info=error)


NOBODY: Final = Reporter()
"""Writes the log, and has no observers."""


def _enter(context: object) -> None:
    if not isinstance(context, AbstractContextManager):
        raise TypeError(f"call_started must return a context manager or None, got {show(context)}")
    context.__enter__()


def _check(observer: object) -> None:
    # The type says so, but a class where an instance belongs is an easy slip.
    if not isinstance(observer, Observer):
        raise TypeError(f"observers must be Observer instances, got {show(observer)}")
    for hook in _HOOKS:
        if inspect.iscoroutinefunction(getattr(observer, hook)):
            name = f"{type(observer).__qualname__}.{hook}"
            raise TypeError(f"{name} must be a plain def: nothing awaits an observer")


def _log_refusal(refused: RequestRefused, error: McpError) -> None:
    busy = refused.reason in {RefusalReason.OVERLOADED, RefusalReason.IDENTITY}
    level = logging.WARNING if busy else logging.INFO
    if not _refusals.isEnabledFor(level):
        return
    message = error.message if error.log_message is None else error.log_message
    _refusals.log(
        level,
        "refused with %d (%s): error %d: %s",
        refused.status,
        refused.reason.value,
        refused.code,
        show_line(message, MAX_MESSAGE),
        extra={
            "genmcp_status": refused.status,
            "genmcp_code": refused.code,
            "genmcp_reason": refused.reason.value,
            "genmcp_request_id": show_id(refused.request_id),
        },
    )
