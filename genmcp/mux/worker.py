"""The worker: from what the server answers to one ending, over any number of messages.

Layer: mux. `genmcp.mux.call`, which owns the scope that this runs in, has asked the
`Server`, usually `genmcp.suite`; where the answer is a stream, its messages are fed here.

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


async def run_stream(
    server: Server,
    state: Any,
    channel: Channel,
    mailbox: Mailbox,
    open_closing_scope: Callable[[], trio.CancelScope],
) -> Ending:
    """Run a call that has become a stream to its ending. What the hooks raise passes through.

    Args:
        server: who answers.
        state: what `handle_request` gave the stream.
        channel: what the hooks get.
        mailbox: where the call has its messages.
        open_closing_scope: gives the scope that `handle_close` runs in.
    """
    ended_by_return = False
    try:
        while True:
            message = await mailbox.receive()
            answer = await server.handle_message(message, channel, state)
            if not isinstance(answer, Stream):
                ending = read_ending(server, "handle_message", answer)
                ended_by_return = True
                return ending
            state = answer.state
    finally:
        if not ended_by_return:
            await _run_handle_close(server, channel, state, open_closing_scope())


def read_ending(server: Server, hook: str, answer: object) -> Ending:
    """Return what the answer of a hook ends its call with.

    Raises:
        CallbackReturnError: it is no answer.
    """
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
