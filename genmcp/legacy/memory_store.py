"""The session store of one process.

Layer: legacy. Bounded: clients can make it hold no more than a fixed amount, and sessions
that set nothing are not in it at all.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from contextlib import asynccontextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final

import attrs

from genmcp.legacy.store import UNTOUCHED, SessionState, SessionStore

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from genmcp.legacy.store import Receive
    from genmcp.mcp import v2607 as mcp

MAX_ENDED: Final = 100_000
"""How many ended sessions are remembered. An id is some 300 bytes, its key 22."""

MAX_STATE_BYTES: Final = 32 * 1024 * 1024
"""How much is remembered of the living ones; the one touched least lately is forgotten
first: its client hears of fewer changes, or of fewer logs, and can set it again."""

_BASE_BYTES: Final = 400
_LOOKED_AT: Final = 16


class MemorySessionStore(SessionStore):
    """Keeps sessions in the memory of one process, within bounds. See `SessionStore`.

    Full, it forgets of the sessions that live the one used least lately, and of the ended
    ones the one that was ended first.

    Args:
        max_ended: how many ended sessions are remembered.
        max_state_bytes: about how much memory the others may take.
        clock: returns the time in seconds since the epoch.

    Raises:
        ValueError: a bound is not positive.
    """

    def __init__(
        self,
        *,
        max_ended: int = MAX_ENDED,
        max_state_bytes: int = MAX_STATE_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        for name, bound in (("max_ended", max_ended), ("max_state_bytes", max_state_bytes)):
            if bound <= 0:
                raise ValueError(f"{name} must be positive, got {bound!r}")
        # Nobody else has this memory.
        self.reach = secrets.token_hex(4)
        self._max_ended = max_ended
        self._max_state_bytes = max_state_bytes
        self._clock = clock
        # Sessions all live equally long: those that were ended first expire first, nearly.
        self._ended: OrderedDict[str, float] = OrderedDict()
        self._states: OrderedDict[str, tuple[SessionState, float]] = OrderedDict()
        self._state_bytes = 0
        self._receivers: dict[str, list[Receive]] = {}

    def __len__(self) -> int:
        """How many sessions something is remembered of."""
        return len(self._ended) + len(self._states)

    @property
    def attached(self) -> int:
        """How many sessions somebody is attached to."""
        return len(self._receivers)

    async def find(self, key: str) -> SessionState:
        """See `SessionStore.find`."""
        if key in self._ended:
            return SessionState(ended=True)
        found = self._states.get(key)
        if found is None:
            return UNTOUCHED
        self._states.move_to_end(key)
        return found[0]

    async def end(self, key: str, expires_at: float) -> None:
        """See `SessionStore.end`."""
        self._forget_expired()
        self._drop(key)
        self._ended[key] = expires_at
        while len(self._ended) > self._max_ended:
            self._ended.popitem(last=False)

    async def set_log_level(self, key: str, level: mcp.LoggingLevel, expires_at: float) -> None:
        """See `SessionStore.set_log_level`."""
        self._put(key, attrs.evolve(self._look(key), log_level=level), expires_at)

    async def watch(self, key: str, uri: str, expires_at: float) -> None:
        """See `SessionStore.watch`."""
        state = self._look(key)
        if uri not in state.watched:
            self._put(key, attrs.evolve(state, watched=(*state.watched, uri)), expires_at)

    async def unwatch(self, key: str, uri: str, expires_at: float) -> None:
        """See `SessionStore.unwatch`."""
        state = self._look(key)
        if uri in state.watched:
            left = tuple(other for other in state.watched if other != uri)
            self._put(key, attrs.evolve(state, watched=left), expires_at)

    async def publish(self, key: str, signal: bytes) -> None:
        """See `SessionStore.publish`."""
        for receive in tuple(self._receivers.get(key, ())):
            receive(signal)

    @asynccontextmanager
    async def attach(self, key: str, receive: Receive) -> AsyncGenerator[None]:
        """See `SessionStore.attach`."""
        self._receivers.setdefault(key, []).append(receive)
        try:
            yield
        finally:
            receivers = self._receivers[key]
            receivers.remove(receive)
            if not receivers:
                del self._receivers[key]

    # -- inside ------------------------------------------------------------------

    def _look(self, key: str) -> SessionState:
        found = self._states.get(key)
        return UNTOUCHED if found is None else found[0]

    def _put(self, key: str, state: SessionState, expires_at: float) -> None:
        self._forget_expired()
        self._drop(key)
        if key in self._ended or state == UNTOUCHED:
            return
        self._states[key] = state, expires_at
        self._state_bytes += _weigh(state)
        while self._state_bytes > self._max_state_bytes:
            self._drop(next(iter(self._states)))

    def _drop(self, key: str) -> None:
        found = self._states.pop(key, None)
        if found is not None:
            self._state_bytes -= _weigh(found[0])

    def _forget_expired(self) -> None:
        now = self._clock()
        # A few at a time: each change looks at those that nobody touched for longest.
        oldest = tuple(islice(self._states.items(), _LOOKED_AT))
        for key, (_, expires_at) in oldest:
            if expires_at <= now:
                self._drop(key)
        while self._ended and next(iter(self._ended.values())) <= now:
            self._ended.popitem(last=False)


def _weigh(state: SessionState) -> int:
    # Four bytes for a character are the most Python takes.
    return _BASE_BYTES + sum(100 + 4 * len(uri) for uri in state.watched)
