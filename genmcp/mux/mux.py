"""The mux: every call a server has open, and how they end together.

Layer: mux. Transports open calls here. The mux owns what calls share (the
keyring, the threads for plain handlers, the limits), knows which calls are open,
and drains them when the server shuts down. It needs no background task and no
nursery of its own, so an application can mount it anywhere.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import WeakKeyDictionary

import trio

from genmcp.errors import describe_shutdown, show_line
from genmcp.limits import DEFAULT_LIMITS, Limits
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.unset import UNSET, Unset
from genmcp.mux.admission import Admission
from genmcp.mux.call import Call
from genmcp.mux.caller_key import find_caller_key
from genmcp.mux.failure import is_crash, log_crash
from genmcp.mux.rates import Rates
from genmcp.mux.reporter import Reporter
from genmcp.mux.threads import Threads
from genmcp.tokens import Keyring

if TYPE_CHECKING:
    from collections.abc import Iterable

    from genmcp.caller import Caller
    from genmcp.events import Sink
    from genmcp.mux.admission import Place
    from genmcp.server import Server
    from genmcp.telemetry import Observer

_log = logging.getLogger("genmcp.mux")

_LISTEN: Final = mcp.SubscriptionsListenRequest.method


T = TypeVar("T")


class Mux:
    """Runs the calls of one server.

    Args:
        server: who answers.
        keyring: seals what clients carry for the server; a random one serves this
            process only.
        limits: how much one call, one caller, and all of them together may take. What
            is left to the default does not limit: only an endpoint knows who calls.
        observers: are told of every call.

    Raises:
        TypeError: see `Reporter`.
    """

    def __init__(
        self,
        server: Server,
        *,
        keyring: Keyring | None = None,
        limits: Limits = DEFAULT_LIMITS,
        observers: Iterable[Observer] = (),
    ) -> None:
        self.server = server
        self.keyring = keyring if keyring is not None else Keyring.random()
        self.limits = limits
        self.reporter = Reporter(observers)
        self.threads = Threads(limits.max_threads, _if_given(limits.max_threads_per_caller))
        self.admission = Admission(
            max_calls=limits.max_calls,
            max_calls_per_caller=_if_given(limits.max_calls_per_caller),
            max_streams_per_caller=_if_given(limits.max_streams_per_caller),
        )
        completion = _if_given(limits.completion_rate_limit)
        self._rate_limits = {
            mcp.CallToolRequest.method: ("rate_limit", _if_given(limits.rate_limit)),
            mcp.CompleteRequest.method: ("completion_rate_limit", completion),
        }
        self.limited_methods = {
            method for method, (_, limit) in self._rate_limits.items() if limit is not None
        }
        """The methods that a rate limit of the endpoint holds for."""
        self._rates = WeakKeyDictionary[trio.lowlevel.TrioToken, Rates]()
        self._calls: set[Call] = set()
        self._last_call_ended = trio.lowlevel.ParkingLot()
        self._draining = False

    @property
    def rates(self) -> Rates:
        """What was called so far, in this run of trio: another one has another clock."""
        run = trio.lowlevel.current_trio_token()
        rates = self._rates.get(run)
        if rates is None:
            rates = self._rates[run] = Rates(self._rate_limits, trio.current_time)
        return rates

    @property
    def open_calls(self) -> int:
        """How many calls are running, clean-ups included."""
        return len(self._calls)

    def describe_open_calls(self) -> list[str]:
        """Return which calls are running, for a log. From any thread."""
        return sorted(call.what for call in self._calls.copy())

    @property
    def draining(self) -> bool:
        """Whether the server is shutting down and takes no new calls."""
        return self._draining

    def open(
        self, request: mcp.Request, caller: Caller, sink: Sink, place: Place | None = None
    ) -> Call:
        """Return a call, ready to `run`. Nothing is allocated for it elsewhere.

        It counts as open until it has run, or is dropped without having been run.

        Args:
            request: what is asked.
            caller: who asks.
            sink: where the call's events go.
            place: what `enter` returned; the call then counts by this, and not by itself.

        Raises:
            LimitExceeded: this caller has as many calls, or listen streams, open as one
                may have. Nothing was done.
            Overloaded: the server has as many calls open as it takes. Likewise.
        """
        if place is not None:
            return Call(self, request, caller, sink, place.lend())
        streams = request.method == _LISTEN
        place = self.admission.enter(find_caller_key(caller), streams=streams)
        return Call(self, request, caller, sink, place)

    def enter(self, caller: Caller) -> Place:
        """Return a place for a request that takes several calls, one after the other.

        It counts as one open call until the place is left, between its calls too.

        Raises:
            LimitExceeded: see `open`.
            Overloaded: see `open`.
        """
        return self.admission.enter(find_caller_key(caller), streams=False)

    async def notify(self, notification: mcp.ClientNotification) -> None:
        """Hand a client's notification to the server. Never raises for its faults."""
        try:
            await self.server.handle_notification(notification)
        except BaseException as error:
            if not is_crash(error):
                raise
            log_crash(error, f"handling {show_line(notification.method)}")

    async def drain(self, grace_seconds: float) -> None:
        """Let the open calls finish, then end them; within `grace_seconds`.

        Calls that never finish by themselves (those for which the server has a
        `closing_result`) are ended at once. The others may go on until their
        clean-up time is all that is left of the grace (half of it, if it is short).
        Then each gets a JSON-RPC error as its last frame and is cancelled, and what
        still runs at the end is cut off.

        What cannot be cut off keeps its call open: a thread that does not return, a
        shield of the handler's own, a handler that swallows every cancellation.

        Cancellation: the calls go on, for whoever drains anew with less time; but if the
        time is over, they are cut off.
        """
        self._draining = True
        now = trio.current_time()
        spare = max(grace_seconds - self.limits.cleanup_seconds, grace_seconds / 2)
        try:
            with trio.move_on_at(now + spare):
                ending = [call for call in self._calls if call.closing_result() is not None]
                await self._stop(ending)
                await self._wait_until_idle()
            if self._calls:
                _log.info("stopping %d open calls", len(self._calls))
            with trio.move_on_at(now + grace_seconds):
                await self._stop(tuple(self._calls))
                await self._wait_until_idle()
        finally:
            if trio.current_time() >= now + grace_seconds:
                self.abort()

    def abort(self) -> None:
        """Cut every open call off at once."""
        self._draining = True
        for call in tuple(self._calls):
            _log.warning("cutting off %s", call.what)
            call.abort()

    async def _stop(self, calls: Iterable[Call]) -> None:
        async with trio.open_nursery() as nursery:
            for call in calls:
                nursery.start_soon(call.stop, describe_shutdown())

    async def _wait_until_idle(self) -> None:
        while self._calls:
            await self._last_call_ended.park()

    # -- for calls ---------------------------------------------------------------

    def add(self, call: Call) -> None:
        """Count a call that begins to run."""
        self._calls.add(call)

    def discard(self, call: Call) -> None:
        """Forget a call of which nothing runs any more."""
        self._calls.discard(call)
        call.place.leave()
        if self._draining and not self._calls:
            self._last_call_ended.unpark_all()


def _if_given(limit: T | Unset) -> T | None:
    return None if limit is UNSET else limit
