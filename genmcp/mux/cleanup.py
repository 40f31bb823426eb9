"""Cancellation that lets a handler clean up.

Layer: mux. Trio's cancellation is level-triggered: once a scope is cancelled,
*every* checkpoint inside raises, so a `finally:` that awaits is cut short unless
its author remembered to shield it. Handlers are promised more than that: once the
client has gone, the checkpoint a handler waits at raises `Cancelled`, and from
then on its `finally` blocks run shielded, for a limited time.

`HandlerScope` stands between the handler's coroutine and trio, where it sees every
trap the coroutine yields. The handler runs shielded from the scope that is
cancelled. The shield is lowered only while the handler is blocked and a
cancellation is due, and is up again before the `Cancelled` is passed in, so that
what awaits while it unwinds is not cancelled again. Two other ways were tried on
paper and fail: a shield raised while the `Cancelled` passes makes trio's own inner
scopes (a nursery, the one inside `checkpoint`) take it for theirs and swallow it;
and a watching task costs one for each call.

    due  what the handler is blocked in           what happens
    no   anything                                 nothing
    yes  something that can be cancelled          Cancelled is raised there, once
    yes  checkpoint()                             Cancelled is raised there, once
    yes  a thread, an inner shield                due at the next thing it awaits
    yes  nothing: it runs, and only looks         Cancelled is raised where it looks
    yes  anything, inside a nursery of its own    trio's plain cancellation: the
                                                  nursery must see it until it has
                                                  passed; the shield goes up where
                                                  the handler blocks after that

Whatever happens, the clean-up time is counted from the cancellation, and after it
everything inside is cancelled for good.
"""

from __future__ import annotations

import gc
import math
from contextlib import contextmanager
from types import AsyncGeneratorType, coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import outcome
import trio

from genmcp.errors import show

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

T = TypeVar("T")

_REASON: Final = "this MCP call is over"
"""Tells our cancellation from one by a scope of the author's own."""

_CHECKPOINT: Final = trio.lowlevel.checkpoint.__code__


class HandlerScope:
    """Where coroutines of the application run, one after the other, until one is cancelled.

    Entering trio's scopes costs as much as all else that is done for a small call, so
    whoever runs many calls in one task opens this once. It is spent when something in it
    was cancelled: leave it then, and open another.

    Args:
        cleanup_seconds: how long a coroutine may go on after it was cancelled.

    Attributes:
        spent: whether something was cancelled here: nothing more can run.
    """

    def __init__(self, cleanup_seconds: float) -> None:
        self.spent = False
        self._cleanup_seconds = cleanup_seconds
        self._on_late: Callable[[], None] | None = None
        self._on_block: Callable[[], None] | None = None
        self._gone = trio.CancelScope()
        self._grace = trio.CancelScope(shield=True)
        self._due = False
        self._blocked = False
        self._outer_nurseries = 0
        self._task: Any = None
        self._status: object = None
        self._abandoned = False

    @property
    def ending(self) -> bool:
        """Whether the coroutine is being cancelled, or given up with the whole run."""
        return self._abandoned or self.spent

    @property
    def abandoned(self) -> bool:
        """Whether the coroutine is given up: it must not await anything more."""
        return self._abandoned

    @property
    def torn(self) -> bool:
        """Whether a coroutine has left scopes of its own open: this task is of no more use."""
        task = self._task
        nests = len(task.child_nurseries) > self._outer_nurseries
        return nests or getattr(task, "_cancel_status", None) is not self._status

    @contextmanager
    def open(self) -> Generator[HandlerScope]:
        """Enter it, once. Cancellation from further out does not reach what runs inside."""
        task = self._task = trio.lowlevel.current_task()
        self._outer_nurseries = len(task.child_nurseries)
        with self._gone, self._grace:
            # Trio says nowhere else whether the scopes of a task are in order.
            self._status = getattr(task, "_cancel_status", None)
            yield self

    def cancel(self) -> None:
        """Cancel the coroutine, once: what it awaits while it unwinds still works."""
        if self.spent:
            return
        self.spent = self._due = True
        self._gone.cancel(reason=_REASON)
        self._grace.deadline = trio.current_time() + self._cleanup_seconds
        if self._blocked:
            self._grace.shield = False

    def abort(self) -> None:
        """Cancel the coroutine and what it awaits while it unwinds."""
        self.cancel()
        self._grace.cancel(reason=_REASON)

    @coroutine
    def run(
        self,
        body: Coroutine[Any, Any, T],
        *,
        on_late: Callable[[], None],
        on_block: Callable[[], None] | None = None,
    ) -> Generator[Any, Any, T | None]:
        """Run `body` and return its result, or `None` if it was cancelled.

        To be awaited. It passes `body`'s traps to trio, and trio's answers to `body`.

        Args:
            body: the coroutine.
            on_late: called once, if it still goes on when its clean-up time is over.
            on_block: called once, when it first waits for something.

        Raises:
            BaseException: what `body` raises, but for the cancellations that are due here.
        """
        self._on_late = on_late
        self._on_block = on_block
        answer: Any = None
        refused: TypeError | None = None
        try:
            while True:
                try:
                    trap: Any = body.send(answer) if refused is None else body.throw(refused)
                except StopIteration as done:
                    result: T = done.value
                    return result
                refused = _refuse_foreign(trap)
                if refused is not None:
                    continue
                # Trio answers with an outcome, errors included. Something is thrown
                # only when a run is given up half-way, and `body` is given up too.
                try:
                    answer = cast("Any", (yield from self._wait(trap, body)))
                except BaseException:
                    self._abandoned = True
                    body.close()
                    raise
                if self.spent:
                    self._notice_late()
        except BaseException as error:
            if self._abandoned or not self.spent:
                raise
            # Caught here and not by the scopes, which are left by whoever opened them.
            rest = _leave_out_cancellations(error)
            if rest is None:
                return None
            if rest is error:
                raise
            raise rest from None
        finally:
            # They belong to one call, which the scope may outlive by hours.
            self._on_late = self._on_block = None
            # It may be a cancellation, and that has this very frame in its traceback.
            answer = None

    def _notice_late(self) -> None:
        if self._on_late is not None and trio.current_time() > self._grace.deadline:
            self._on_late()
            self._on_late = None

    def _wait(self, trap: Any, body: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Wait at one trap, open to cancellation if one is or becomes due."""
        if self._due and not hasattr(trap, "abort_func") and _is_inside(body, _CHECKPOINT):
            # Unless a shield of the author's own keeps it out: then it stays due.
            self._grace.shield = False
            if trio.current_effective_deadline() == -math.inf:
                trap = _cancellable_trap()
            else:
                self._grace.shield = True
        self._blocked = hasattr(trap, "abort_func")
        if self._on_block is not None:
            self._on_block()
            self._on_block = None
        if self._due and self._blocked:
            self._grace.shield = False
        elif not (self._due or self._nests() or _is_inside(body, _CHECKPOINT)):
            # Up again also where a cancellation has passed through the handler's own
            # nurseries, but not inside a checkpoint: that has seen the cancellation,
            # and must find it.
            self._grace.shield = True
        answer: object = yield trap
        self._blocked = False
        if self._due:
            self._look_at(answer, body)
        return answer

    def _look_at(self, answer: object, body: Coroutine[Any, Any, Any]) -> None:
        """Decide what the handler sees of the due cancellation as it goes on."""
        if not self._grace.shield and self._nests():
            self._due = False
        elif _is_our_cancellation(answer):
            self._due = False
            self._grace.shield = True
        else:
            # Open while the handler runs: much of trio only looks whether it is
            # cancelled and never blocks (a free lock, a channel with room, a socket
            # with data). Closed while another cancellation passes, or a checkpoint of
            # trio's own scope would take ours for its own.
            self._grace.shield = _is_cancellation(answer) or _is_inside(body, _CHECKPOINT)

    def _nests(self) -> bool:
        return len(trio.lowlevel.current_task().child_nurseries) > self._outer_nurseries


def _leave_out_cancellations(error: BaseException) -> BaseException | None:
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return group.split(trio.Cancelled)[1]
    return None if isinstance(error, trio.Cancelled) else error


def _refuse_foreign(trap: object) -> TypeError | None:
    """Return what to raise in a handler that awaits what is not trio's."""
    if getattr(trap, "__module__", "").startswith("trio."):
        return None
    return TypeError(
        f"handlers run on trio, and this awaited {show(trap)}, which is not trio's; "
        "put asyncio code into a plain def, with asyncio.run"
    )


def _cancellable_trap() -> Any:
    """Return a trap that trio answers with `Cancelled` at once, if one is due."""
    # Not awaited: only the trap it yields is wanted.
    waiting = trio.lowlevel.wait_task_rescheduled(  # noqa: ASYNC105
        lambda _: trio.lowlevel.Abort.SUCCEEDED
    )
    try:
        return waiting.send(None)
    finally:
        waiting.close()


def _is_cancellation(answer: object) -> bool:
    return isinstance(answer, outcome.Error) and isinstance(answer.error, trio.Cancelled)


def _is_our_cancellation(answer: object) -> bool:
    return (
        isinstance(answer, outcome.Error)
        and isinstance(answer.error, trio.Cancelled)
        and answer.error.reason == _REASON
    )


def _is_inside(body: object, code: object) -> bool:
    """Tell whether `body` is suspended inside a coroutine that runs `code`."""
    waiting: object = body
    while waiting is not None:
        if getattr(waiting, "cr_code", None) is code:
            return True
        waiting = _next_awaited(waiting)
    return False


def _next_awaited(waiting: object) -> object:
    """Return what `waiting` itself is suspended in, if Python tells."""
    for attribute in ("cr_await", "ag_await", "gi_yieldfrom"):
        if hasattr(waiting, attribute):
            return getattr(waiting, attribute)
    # A step of an async generator knows its generator, but has no attribute for it.
    for referent in gc.get_referents(waiting):
        if isinstance(referent, AsyncGeneratorType):
            return cast("object", referent)
    return None
