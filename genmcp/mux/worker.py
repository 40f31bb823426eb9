"""The worker: asks the server, feeds it messages, and comes back with one ending.

Layer: mux. The trail of a call comes here from `genmcp.mux.call`, which owns the
scope this runs in, and goes on to the `Server`, usually `genmcp.suite`.

    handle_request ──► result or Error ─────────────────────────────► ending
          │
          └─► Stream(state) ──► one posted message ──► handle_message ─┐
                    ▲                                                  │
                    └────────────── Stream(new state) ─────────────────┘

A streaming call that ends in any other way than by its own return (client gone,
closed, shut down, crashed) has `handle_close` run, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

from genmcp.errors import CallbackReturnError
from genmcp.events import Answered, Failed
from genmcp.mcp import v2607 as mcp
from genmcp.mux.failure import is_crash, log_late
from genmcp.outcome import Error, Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from genmcp.channel import Channel
    from genmcp.events import Ending
    from genmcp.mux.mailbox import Mailbox
    from genmcp.server import Server


_EXPECTED = "a result, Stream or Error"


async def run_worker(
    server: Server,
    request: mcp.Request,
    channel: Channel,
    mailbox: Callable[[], Mailbox],
    open_closing_scope: Callable[[], trio.CancelScope],
) -> Ending:
    """Run one request to its ending. Exceptions of the hooks pass through.

    Args:
        server: who answers.
        request: what is asked.
        channel: what its hooks get.
        mailbox: where a streaming call has its messages.
        open_closing_scope: gives the scope that `handle_close` runs in.
    """
    answer = await server.handle_request(request, channel)
    if not isinstance(answer, Stream):
        return _read_ending(server, "handle_request", answer)
    state: Any = answer.state
    ended_by_return = False
    try:
        while True:
            message = await mailbox().receive()
            answer = await server.handle_message(message, channel, state)
            if not isinstance(answer, Stream):
                ending = _read_ending(server, "handle_message", answer)
                ended_by_return = True
                return ending
            state = answer.state
    finally:
        if not ended_by_return:
            await _run_handle_close(server, channel, state, open_closing_scope())


def _read_ending(server: Server, hook: str, answer: object) -> Ending:
    match answer:
        case mcp.Result():
            return Answered(answer)
        case Error():
            return Failed(answer.error)
        case _:
            raise CallbackReturnError(server, hook, answer, _EXPECTED)


async def _run_handle_close(
    server: Server, channel: Channel, state: Any, scope: trio.CancelScope
) -> None:
    what = f"{type(server).__qualname__}.handle_close"
    with scope:
        try:
            await server.handle_close(channel, state)
        except BaseException as error:
            if not is_crash(error):
                raise
            log_late(error, what)
    if scope.cancelled_caught:
        log_late(trio.TooSlowError("its time was over"), what)
