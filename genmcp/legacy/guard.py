"""Between the stores and whoever uses them: time, failures, and signals as objects.

Layer: legacy. A store may be a database at the other end of a network. What it raises, and
what it does not answer in time, becomes `StoreUnavailable`, for the one client that
waited for it; the log has the reason once, and not once for each client, until the method
works again.
"""

from __future__ import annotations

import logging
import math
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import trio

from genmcp.errors import CallbackReturnError, find_sole_leaf, show
from genmcp.legacy.replay import Missed, ReplayStore, StreamLost
from genmcp.legacy.signals import read_signal, write_signal
from genmcp.legacy.store import SessionState, SessionStore, StoreUnavailable
from genmcp.mux.failure import split_crash

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from genmcp.legacy.store import Signal
    from genmcp.mcp import v2607 as mcp

T = TypeVar("T")

_REACH: Final = re.compile(r"[A-Za-z0-9_-]{0,32}\Z")

_log = logging.getLogger("genmcp.legacy")


class _Health:
    """Knows which methods of a store fail, and logs when that changes."""

    def __init__(self, store: SessionStore | ReplayStore) -> None:
        self.timeout_seconds = store.timeout_seconds
        self._store = type(store).__qualname__
        self._failing: set[str] = set()

    async def run(self, call: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Return what a method of the store returns.

        Raises:
            StoreUnavailable: it raised, or took too long.
            StreamLost: it raised that.
        """
        method: str = getattr(call, "__name__", "a method").lstrip("_")
        try:
            with trio.fail_after(self.timeout_seconds):
                result = await call(*args)
        except BaseException as error:  # noqa: BLE001 - see what is raised again
            crash, rest = split_crash(error)
            if isinstance(find_sole_leaf(error), StreamLost):
                raise StreamLost from None
            if crash is not None:
                self.note_failure(method, crash)
            raise (rest or StoreUnavailable()) from None
        self.note_success(method)
        return result

    def note_failure(self, method: str, error: BaseException) -> None:
        """Log a failure, if that method worked until now."""
        if method in self._failing:
            return
        self._failing.add(method)
        slow = isinstance(error, trio.TooSlowError)
        _log.error(
            "%s.%s %s; clients of 2025 that need it are refused until it works again",
            self._store,
            method,
            f"took over {self.timeout_seconds:g} s" if slow else "failed",
            exc_info=None if slow else error,
        )

    def note_success(self, method: str) -> None:
        """Log that a method works again, if it had failed."""
        if method in self._failing:
            self._failing.remove(method)
            _log.info("%s.%s works again", self._store, method)


class GuardedSessionStore:
    """A session store, as the rim uses it.

    Each method raises `StoreUnavailable` if that of the store fails, or is too slow.

    Args:
        store: the store.

    Raises:
        TypeError: `store` is none.
        ValueError: its attributes make no sense.
    """

    def __init__(self, store: SessionStore) -> None:
        _check("session_store", store, SessionStore)
        self._store = store
        self._health = _Health(store)

    @property
    def reach(self) -> str:
        """See `SessionStore.reach`."""
        return self._store.reach

    async def find(self, key: str) -> SessionState:
        """See `SessionStore.find`."""
        return await self._health.run(self._find, key)

    async def _find(self, key: str) -> SessionState:
        state = await self._store.find(key)
        # The author may return what the types forbid, such as None for an unknown session.
        if not isinstance(state, SessionState):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CallbackReturnError(self._store, "find", state, "a SessionState")
        return state

    async def end(self, key: str, expires_at: float) -> None:
        """See `SessionStore.end`."""
        await self._health.run(self._store.end, key, expires_at)

    async def set_log_level(self, key: str, level: mcp.LoggingLevel, expires_at: float) -> None:
        """See `SessionStore.set_log_level`."""
        await self._health.run(self._store.set_log_level, key, level, expires_at)

    async def watch(self, key: str, uri: str, expires_at: float) -> None:
        """See `SessionStore.watch`."""
        await self._health.run(self._store.watch, key, uri, expires_at)

    async def unwatch(self, key: str, uri: str, expires_at: float) -> None:
        """See `SessionStore.unwatch`."""
        await self._health.run(self._store.unwatch, key, uri, expires_at)

    async def publish(self, key: str, signal: Signal) -> None:
        """See `SessionStore.publish`."""
        await self._health.run(self._store.publish, key, write_signal(signal))

    async def run_attached(
        self, key: str, receive: Callable[[Signal], None], work: Callable[[], Awaitable[None]]
    ) -> None:
        """Run `work` while the signals of a session are handed to `receive`.

        Raises:
            StoreUnavailable: the store did not let in, or its signals broke off, in which
                case `work` was cancelled.
            BaseException: what `work` raises, as it is.

        Cancellation: `work` is cancelled.
        """

        def take(written: bytes) -> None:
            signal = read_signal(written)
            if signal is not None:
                receive(signal)

        timeout_seconds = self._health.timeout_seconds
        failure: BaseException | None = None
        # One scope around all of it: what the store opens at the beginning, such as a
        # nursery, ends only with the block.
        scope = trio.CancelScope()
        scope.deadline = trio.current_time() + timeout_seconds
        guarded = _Work(work, scope, timeout_seconds)
        with scope:
            try:
                async with self._store.attach(key, take):
                    await guarded.run()
            except BaseException as error:  # noqa: BLE001 - see what is raised again
                failure, rest = split_crash(error)
                if rest is not None:
                    if failure is not None:
                        self._health.note_failure("attach", failure)
                    raise rest from None
        if scope.cancelled_caught:
            failure = trio.TooSlowError()
        if failure is None:
            self._health.note_success("attach")
        else:
            self._health.note_failure("attach", failure)
        if guarded.error is not None:
            raise guarded.error
        if not guarded.done:
            raise StoreUnavailable


@attrs.define(eq=False)
class _Work:
    """What is done while the signals are heard; what it raises is not for the store."""

    work: Callable[[], Awaitable[None]]
    scope: trio.CancelScope
    timeout_seconds: float
    done: bool = False
    error: BaseException | None = None

    async def run(self) -> None:
        self.scope.deadline = math.inf
        try:
            await self.work()
            self.done = True
        except BaseException as error:  # noqa: BLE001 - see what is raised again
            self.error, rest = split_crash(error)
            if rest is not None:
                raise rest from None
        finally:
            self.scope.deadline = trio.current_time() + self.timeout_seconds


class GuardedReplayStore:
    """A replay store, as the rim uses it.

    Each method raises `StoreUnavailable` if that of the store fails, or is too slow.

    Args:
        store: the store.

    Raises:
        TypeError: `store` is none.
        ValueError: its attributes make no sense.
    """

    def __init__(self, store: ReplayStore) -> None:
        _check("replay_store", store, ReplayStore)
        self._store = store
        self._health = _Health(store)

    @property
    def reach(self) -> str:
        """See `ReplayStore.reach`."""
        return self._store.reach

    async def keep(self, stream: str) -> None:
        """See `ReplayStore.keep`."""
        await self._health.run(self._store.keep, stream)

    async def append(self, stream: str, number: int, event: bytes) -> None:
        """See `ReplayStore.append`."""
        await self._health.run(self._store.append, stream, number, event)

    async def end(self, stream: str) -> None:
        """See `ReplayStore.end`."""
        await self._health.run(self._store.end, stream)

    async def read(self, stream: str, after: int) -> Missed:
        """See `ReplayStore.read`."""
        return await self._health.run(self._read, stream, after)

    async def _read(self, stream: str, after: int) -> Missed:
        missed = await self._store.read(stream, after)
        # As in `GuardedSessionStore._find`.
        if not isinstance(missed, Missed):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CallbackReturnError(self._store, "read", missed, "a Missed")
        return missed

    async def wait(self, stream: str, after: int, seconds: float) -> None:
        """See `ReplayStore.wait`; for at most `seconds`."""
        # A store may always return at once: whoever asks again and again must not keep all
        # others from their turns.
        await trio.lowlevel.checkpoint()
        with trio.move_on_after(max(0.0, seconds)):
            try:
                await self._store.wait(stream, after)
            except BaseException as error:  # noqa: BLE001 - see what is raised again
                crash, rest = split_crash(error)
                if crash is not None:
                    self._health.note_failure("wait", crash)
                raise (rest or StoreUnavailable()) from None
        self._health.note_success("wait")


def _check(option: str, store: Any, kind: type[Any]) -> None:
    # The type says so, but a class instead of an instance is an easy slip.
    if not isinstance(store, kind):
        raise TypeError(f"{option} must be a {kind.__name__}, got {show(store)}")
    if not store.timeout_seconds > 0:
        raise ValueError(
            f"timeout_seconds of {option} must be positive, got {show(store.timeout_seconds)}"
        )
    if not isinstance(store.reach, str) or _REACH.match(store.reach) is None:
        raise ValueError(
            f"reach of {option} must be at most 32 letters, digits, - and _, "
            f"got {show(store.reach)}"
        )
