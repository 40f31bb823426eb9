"""Admission: how many calls are open, in all and of each caller.

Layer: mux, pure. `Mux.open` asks for a place before anything is made for a call, and
the place is given back when nothing of the call runs any more, clean-ups included:
they take as much as what they clean up after.

What must hold, whatever ends a call:

* A refused call has changed nothing.
* A place is given back once, however often that is said.
* A place whose call was opened and then dropped without having run is given back too,
  by the garbage collector.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from genmcp.errors import LimitExceeded, Overloaded

if TYPE_CHECKING:
    from genmcp.mux.caller_key import CallerKey

# Nobody knows when a call will end. Most are short; a listen stream is not, and a whole
# server that is full should not be asked by everybody every second.
_CALL_RETRY_SECONDS: Final = 1
_STREAM_RETRY_SECONDS: Final = 10
_SERVER_RETRY_SECONDS: Final = 5


class Counter:
    """How much each caller has open, and how much that may be.

    Args:
        what: what is counted, for people: one of it.
        setting: the option that sets `most`.
        most: how much one caller may have open; `None` for any number.
        retry_seconds: when to come back, for who has too much.
    """

    def __init__(self, what: str, setting: str, most: int | None, retry_seconds: int) -> None:
        self.open: dict[CallerKey, int] = {}
        """How much is open, by caller. Who has nothing open is not in it."""
        self._what = what
        self._setting = setting
        self._most = most
        self._retry_seconds = retry_seconds

    def check(self, caller: CallerKey) -> int:
        """Return how much `caller` has open.

        Raises:
            LimitExceeded: it is as much as it may be.
        """
        count = self.open.get(caller, 0)
        if self._most is not None and count >= self._most:
            raise LimitExceeded(
                f"This caller has {_count(count, self._what)} open, which is as many as one "
                f"may have ({self._setting}); end one first",
                setting=self._setting,
                retry_after_seconds=self._retry_seconds,
                limit=self._most,
                is_option=True,
            )
        return count

    def give_back(self, caller: CallerKey) -> None:
        """Count one less."""
        count = self.open[caller] - 1
        if count:
            self.open[caller] = count
        else:
            # Callers come and go; what is remembered of them must not grow.
            del self.open[caller]


class Place:
    """One call's place among the open ones.

    Attributes:
        caller: whose call it is.
    """

    __slots__ = ("_admission", "_counter", "_left", "caller")

    def __init__(self, admission: Admission, counter: Counter, caller: CallerKey) -> None:
        self.caller = caller
        self._admission = admission
        self._counter = counter
        self._left = False

    def leave(self) -> None:
        """Give the place back. On the event loop; again it does nothing."""
        if not self._left:
            self._left = True
            self._admission.give_back(self._counter, self.caller)

    def lend(self) -> Place:
        """Return this place for somebody else to use, who cannot give it back."""
        lent = Place(self._admission, self._counter, self.caller)
        lent._left = True
        return lent

    def __del__(self) -> None:
        if not self._left:
            self._left = True
            # Not given back here: the collector runs at any time and in any thread, in
            # the middle of a count too.
            self._admission.dropped.append((self._counter, self.caller))


class Admission:
    """Gives calls their places. For one thread.

    Args:
        max_calls: how many calls may be open in all, listen streams included.
        max_calls_per_caller: how many of one caller, listen streams not counted; `None`
            for any number.
        max_streams_per_caller: how many listen streams of one caller, likewise.

    Attributes:
        dropped: the places that nobody has given back, until they are counted again.
    """

    def __init__(
        self,
        *,
        max_calls: int,
        max_calls_per_caller: int | None = None,
        max_streams_per_caller: int | None = None,
    ) -> None:
        self.dropped: deque[tuple[Counter, CallerKey]] = deque()
        self._max_calls = max_calls
        self._taken = 0
        self._calls = Counter(
            "call", "max_calls_per_caller", max_calls_per_caller, _CALL_RETRY_SECONDS
        )
        self._streams = Counter(
            "listen stream",
            "max_streams_per_caller",
            max_streams_per_caller,
            _STREAM_RETRY_SECONDS,
        )

    @property
    def taken(self) -> int:
        """How many places are taken."""
        self._count_dropped()
        return self._taken

    def count(self, caller: CallerKey) -> tuple[int, int]:
        """Return how many calls, and how many listen streams, `caller` has open."""
        self._count_dropped()
        return self._calls.open.get(caller, 0), self._streams.open.get(caller, 0)

    def enter(self, caller: CallerKey, *, streams: bool) -> Place:
        """Return a place for one more call of `caller`.

        Args:
            caller: as `find_caller_key` names it.
            streams: whether it is a listen stream.

        Raises:
            LimitExceeded: this caller has as much open as it may. Said even if the server
                is full as well: this one it is that the client can do something about.
            Overloaded: there are `max_calls` already.
        """
        if self.dropped:
            self._count_dropped()
        counter = self._streams if streams else self._calls
        count = counter.check(caller)
        if self._taken >= self._max_calls:
            raise Overloaded(
                f"The server has {_count(self._taken, 'call')} open, which is as many as it "
                "takes (max_calls); try again later",
                setting="max_calls",
                retry_after_seconds=_SERVER_RETRY_SECONDS,
                limit=self._max_calls,
                is_option=True,
            )
        counter.open[caller] = count + 1
        self._taken += 1
        return Place(self, counter, caller)

    def give_back(self, counter: Counter, caller: CallerKey) -> None:
        """Count one place less. For `Place`, which does it once."""
        self._taken -= 1
        counter.give_back(caller)

    def _count_dropped(self) -> None:
        while self.dropped:
            self.give_back(*self.dropped.popleft())


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
