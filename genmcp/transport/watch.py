"""Running a call with an eye on its client.

Layer: transport, shell. Whatever carries a call over HTTP must notice that the client
leaves while a handler runs, since that is the only way it can cancel, and must not
let a stream fall silent for so long that a proxy ends it.

Spec: basic/patterns/cancellation#transport-specific-cancellation
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import trio

from genmcp.events import ClientGone
from genmcp.mux.failure import is_crash, split_crash

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from genmcp.mux import Call

T = TypeVar("T")


class Client(Protocol):
    """The client at the other end of a connection."""

    async def wait_until_gone(self) -> None:
        """Return when the client has left; never raise. Cancelling it loses nothing."""
        ...


class NeverGone:
    """A client that is looked after elsewhere."""

    async def wait_until_gone(self) -> None:
        """Wait for ever."""
        await trio.sleep_forever()


async def run_watched(call: Call, client: Client, keepalive_seconds: float) -> None:
    """Run `call` to its end; cancel it when `client` leaves, keep it alive until then.

    Args:
        call: as `Mux.open` returned it.
        client: is waited for all the time, in a task of its own: a client that is
            asked now and then is one whose leaving is missed.
        keepalive_seconds: how long nothing may be written.

    Cancellation: the call is cancelled as if its client had gone; this returns after
    its clean-ups.
    """
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_watch, call, client, keepalive_seconds, nursery)
        await call.run()
        nursery.cancel_scope.cancel()


async def watch_over(work: Coroutine[Any, Any, T], client: Client, timeout_seconds: float) -> T:
    """Do what must be done before a call can be opened; stop when `client` leaves.

    Raises:
        ClientGone: the client left first.
        trio.TooSlowError: `work` took longer than `timeout_seconds`.
        RuntimeError: `work` raised a cancellation that is not due, such as one it has kept
            of somebody else who waited for the same thing.
        Exception: what `work` raises, as it is.

    Cancellation: `work` is cancelled.
    """
    results: list[T] = []
    failure: BaseException | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_cancel_when_gone, client, nursery.cancel_scope)
        with trio.move_on_after(timeout_seconds) as deadline:
            try:
                results.append(await work)
            except BaseException as error:  # noqa: BLE001 - see what is raised again
                failure, rest = split_crash(error)
                if rest is not None:
                    raise rest from None
        nursery.cancel_scope.cancel()
    if failure is not None and not is_crash(failure):
        # It would pass for the end of this request, or of the whole server.
        raise RuntimeError("a cancellation was raised outside of its scope") from failure
    if failure is not None:
        raise failure
    if deadline.cancelled_caught:
        raise trio.TooSlowError
    if not results:
        raise ClientGone("the client left before its call was opened")
    return results[0]


async def _cancel_when_gone(client: Client, scope: trio.CancelScope) -> None:
    await client.wait_until_gone()
    scope.cancel()


async def _watch(
    call: Call, client: Client, keepalive_seconds: float, nursery: trio.Nursery
) -> None:
    tried = -math.inf
    try:
        while True:
            # A call that is over may be cleaning up, or sending its last frame.
            silent_since = max(call.last_write, tried)
            due = math.inf if call.over else silent_since + keepalive_seconds
            if trio.current_time() >= due:
                tried = trio.current_time()
                due = tried + keepalive_seconds
                if not call.writing:
                    # Beside this task: the client may read no more, and then leave.
                    nursery.start_soon(call.keep_alive)
            with trio.move_on_at(due):
                await client.wait_until_gone()
                call.client_gone()
                return
    except BaseException:
        # The call has ended, or the host is being cancelled, from which the call is
        # shielded, or there is a fault here: in no case may it go on unwatched.
        call.client_gone()
        raise
