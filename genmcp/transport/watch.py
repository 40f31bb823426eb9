"""Running a call with an eye on its client.

Layer: transport, shell. Whatever carries a call over HTTP must notice that the client
leaves while a handler runs, since that is the only way it can cancel, and must not
let a stream fall silent for so long that a proxy ends it.

Spec: basic/patterns/cancellation#transport-specific-cancellation
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import trio

if TYPE_CHECKING:
    from genmcp.mux import Call


class Client(Protocol):
    """The client at the other end of a connection."""

    async def wait_until_gone(self) -> None:
        """Return when the client has left; never raise. Cancelling it loses nothing."""
        ...


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
        nursery.start_soon(_watch, call, client, keepalive_seconds)
        await call.run()
        nursery.cancel_scope.cancel()


async def _watch(call: Call, client: Client, keepalive_seconds: float) -> None:
    try:
        while True:
            # A call that is over may be cleaning up, or sending its last frame.
            silent_until = math.inf if call.over else call.last_write + keepalive_seconds
            if trio.current_time() >= silent_until:
                await call.keep_alive()
                continue
            with trio.move_on_at(silent_until):
                await client.wait_until_gone()
                call.client_gone()
                return
    except BaseException:
        # The call has ended, or the host is being cancelled, from which the call is
        # shielded, or there is a fault here: in no case may it go on unwatched.
        call.client_gone()
        raise
