"""The session store of one process.

Layer: legacy. Bounded: clients can make it hold no more than a fixed amount, and sessions
that set nothing are not in it at all.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from genmcp.legacy.store import UNTOUCHED, SessionState, SessionStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from genmcp.legacy.store import Detach, Signal

MAX_ENDED: Final = 100_000
"""How many ended sessions are remembered. An id is some 300 bytes, its key 22."""

MAX_STATE_BYTES: Final = 32 * 1024 * 1024
"""How much is remembered of the living ones; the one touched least lately is forgotten
first: its client hears of fewer changes, or of fewer logs, and can set it again."""

_BASE_BYTES: Final = 400


class MemorySessionStore(SessionStore):
    """Keeps sessions in memory.

    Args:
        max_ended: how many ended sessions are remembered.
        max_state_bytes: about how much memory the others may take.
        clock: returns the time in seconds since the epoch.
    """

    def __init__(
        self,
        *,
        max_ended: int = MAX_ENDED,
        max_state_bytes: int = MAX_STATE_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._max_ended = max_ended
        self._max_state_bytes = max_state_bytes
        self._clock = clock
        # Sessions all live equally long: those that were ended first expire first, nearly.
        self._ended: OrderedDict[str, float] = OrderedDict()
        self._states: OrderedDict[str, tuple[SessionState, float]] = OrderedDict()
        self._state_bytes = 0
        self._receivers: dict[str, list[Callable[[Signal], None]]] = {}

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

    async def put(self, key: str, state: SessionState, expires_at: float) -> None:
        """See `SessionStore.put`."""
        self._forget_expired()
        self._drop(key)
        if state.ended:
            self._ended[key] = expires_at
            while len(self._ended) > self._max_ended:
                self._ended.popitem(last=False)
        elif key not in self._ended and state != UNTOUCHED:
            self._states[key] = state, expires_at
            self._state_bytes += _weigh(state)
            while self._state_bytes > self._max_state_bytes:
                self._drop(next(iter(self._states)))

    async def publish(self, key: str, signal: Signal) -> None:
        """See `SessionStore.publish`."""
        for receive in tuple(self._receivers.get(key, ())):
            receive(signal)

    def attach(self, key: str, receive: Callable[[Signal], None]) -> Detach:
        """See `SessionStore.attach`."""
        self._receivers.setdefault(key, []).append(receive)

        def detach() -> None:
            receivers = self._receivers[key]
            receivers.remove(receive)
            if not receivers:
                del self._receivers[key]

        return detach

    def _drop(self, key: str) -> None:
        found = self._states.pop(key, None)
        if found is not None:
            self._state_bytes -= _weigh(found[0])

    def _forget_expired(self) -> None:
        now = self._clock()
        for key in [key for key, (_, expires_at) in _first(self._states) if expires_at <= now]:
            self._drop(key)
        while self._ended and next(iter(self._ended.values())) <= now:
            self._ended.popitem(last=False)


def _first(
    states: OrderedDict[str, tuple[SessionState, float]],
) -> list[tuple[str, tuple[SessionState, float]]]:
    # A few at a time: each `put` looks at those that nobody touched for longest.
    found: list[tuple[str, tuple[SessionState, float]]] = []
    for item in states.items():
        found.append(item)
        if len(found) == 16:  # noqa: PLR2004
            break
    return found


def _weigh(state: SessionState) -> int:
    # Four bytes for a character are the most Python takes.
    return _BASE_BYTES + sum(100 + 4 * len(uri) for uri in state.watched)
