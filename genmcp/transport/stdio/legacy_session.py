"""What a stdio client of 2025 wants: one session, from its `initialize` on.

Layer: transport, shell; asked by `genmcp.transport.stdio.connection` for requests that say no
protocol version, which those of today do. A client may send both kinds, at any time.

There is no session id: the pipe is the session, and lives as long. Before it has begun only a
ping is answered. A second `initialize` begins it anew, in the version and with the
capabilities that this one names; what is still open of before goes on as it began.

Spec: 2025-11-25 basic/lifecycle, basic/transports#stdio
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any, Final

import attrs

from genmcp.caller import Caller
from genmcp.errors import InvalidParams, McpError, show
from genmcp.legacy.era import HANDSHAKE
from genmcp.legacy.results import write_legacy_result
from genmcp.legacy.session import read_handshake
from genmcp.legacy.store import AnswerCame
from genmcp.mcp import v2607 as mcp
from genmcp.transport.inbound import BOTH_ERAS, Refusal
from genmcp.transport.legacy.listening import LISTEN
from genmcp.transport.legacy.session_methods import PING, SessionMethods, can_watch
from genmcp.transport.legacy.session_requests import (
    complete_caller,
    make_discovery,
    read_session_request,
)
from genmcp.transport.reply import OK
from genmcp.transport.stdio.legacy_call import LegacyCall
from genmcp.transport.stdio.legacy_news import LineNews, SettledAnswer
from genmcp.transport.stdio.line_inbound import refuse_stranger
from genmcp.transport.stdio.line_reply import render_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import trio

    from genmcp.legacy.messages import ResponseMessage
    from genmcp.legacy.session import Session
    from genmcp.mux import Mux
    from genmcp.transport.legacy.session_requests import SessionRequest
    from genmcp.transport.stdio.legacy_call import OpenQuestions
    from genmcp.transport.stdio.open_call import OpenCall
    from genmcp.transport.stdio.open_calls import OpenCalls
    from genmcp.transport.stdio.output import Output
    from genmcp.transport.stdio.refusals import Refusals
    from genmcp.wire.messages import RequestMessage

_log: Final = logging.getLogger("genmcp.transport")

MOST_SETTLING: Final = 256
"""How many answers wait until what is watched has taken effect; others do not wait."""


@attrs.define(eq=False)
class _Begun:
    """The session, once it has begun.

    Attributes:
        session: what was agreed on.
        methods: answers what is about the session itself.
        news: tells it of changes.
        listens: ends the telling; `None` until it has begun.
    """

    session: Session
    methods: SessionMethods
    news: LineNews
    listens: trio.CancelScope | None = None


class LegacySession:
    """Answers the requests of 2025 of one client.

    Args:
        mux: runs the calls.
        methods: what the server answers.
        calls: the client's open requests.
        refusals: where prompt answers go.
        output: where all others go.
        assigns: what handlers find in `channel.assigns`.
    """

    def __init__(
        self,
        mux: Mux,
        methods: Collection[str],
        *,
        calls: OpenCalls,
        refusals: Refusals,
        output: Output,
        assigns: Mapping[str, Any],
    ) -> None:
        self._mux = mux
        self._methods = methods
        self._calls = calls
        self._refusals = refusals
        self._output = output
        self._client = Caller(
            request_id="",
            protocol_version="",
            client_capabilities=mcp.ClientCapabilities(),
            assigns=assigns,
            scopes_apply=False,
        )
        self._questions: OpenQuestions = {}
        self._settling: set[OpenCall] = set()
        self._begun: _Begun | None = None

    async def take(self, message: RequestMessage, nursery: trio.Nursery) -> None:
        """Answer a request, or have it answered in `nursery`.

        Raises:
            ClientGone: it is answered at once, and nobody reads any more.
        """
        try:
            if message.method == PING:
                await self._refusals.answer(_render_empty(message))
            elif message.method == HANDSHAKE:
                await self._begin(message, nursery)
            elif self._begun is None:
                await self._refuse_stranger(message)
            else:
                await self._take(message, self._begun, nursery)
        except McpError as error:
            await self._refusals.refuse(Refusal(OK, error, message.id))

    def take_answer(self, message: ResponseMessage) -> None:
        """Hand an answer on to whoever asked. That nobody did is no fault of anybody's."""
        receive = self._questions.pop(message.id, None)
        if receive is None:
            _log.debug("nothing was asked under the id %s, and was answered", show(message.id))
        else:
            receive(AnswerCame(message.id, message.response))

    def begin_news(self, nursery: trio.Nursery) -> None:
        """The client has said more than its handshake: tell it of changes. Repeatable."""
        begun = self._begun
        if begun is not None and begun.listens is None and LISTEN in self._methods:
            begun.listens = self._calls.run_beside(begun.news.run, nursery)

    async def _begin(self, message: RequestMessage, nursery: trio.Nursery) -> None:
        """Begin the session. Requests that come with the handshake belong to it already.

        Raises:
            InvalidParams: see `read_handshake`. Nothing has changed.
        """
        session = read_handshake(message.params, 0, math.inf)
        news = LineNews(self._mux, session, self._client, self._output)

        def on_end(call: OpenCall) -> None:
            self._calls.forget(call)
            news.handshake_ended.set()

        def make() -> OpenCall:
            call = self._make_call(make_discovery(message.id, session), on_end)
            if self._begun is not None and self._begun.listens is not None:
                self._begun.listens.cancel()
            self._begun = _Begun(
                session, SessionMethods(news.store, can_watch(self._methods)), news
            )
            return call

        await self._calls.begin(message.id, make, nursery)

    async def _take(self, message: RequestMessage, begun: _Begun, nursery: trio.Nursery) -> None:
        """Answer a request of the session.

        Raises:
            McpError: it is refused.
        """
        self.begin_news(nursery)
        store, key = begun.news.store, begun.session.key
        state = await store.find(key)
        if await begun.methods.answer(message, begun.session, state):
            changed = (await store.find(key)).watched != state.watched
            if changed and len(self._settling) < MOST_SETTLING:
                await self._calls.begin(
                    message.id, lambda: self._make_answer(message, begun.news), nursery
                )
            else:
                await self._refusals.answer(_render_empty(message))
            return
        read = read_session_request(message, begun.session, state, self._methods)
        await self._calls.begin(
            message.id, lambda: self._make_call(read, self._calls.forget), nursery
        )

    async def _refuse_stranger(self, message: RequestMessage) -> None:
        try:
            refuse_stranger(message, BOTH_ERAS)
        except InvalidParams as error:
            # It may be of today, and have forgotten its `_meta`; the answer tells both.
            either = f"{error.message}; in protocol versions of 2025, send {HANDSHAKE} first"
            refused = InvalidParams(either, data=error.data)
            await self._refusals.refuse(Refusal(400, refused, message.id))

    def _make_call(self, read: SessionRequest, on_end: Callable[[OpenCall], None]) -> OpenCall:
        """Make the call of a request.

        Raises:
            LimitExceeded: see `Mux.enter`.
            Overloaded: see `Mux.enter`.
        """
        caller = complete_caller(read.caller, self._client)
        return LegacyCall(
            self._mux,
            self._mux.enter(caller),
            read,
            caller,
            output=self._output,
            questions=self._questions,
            on_end=on_end,
        )

    def _make_answer(self, message: RequestMessage, news: LineNews) -> OpenCall:
        """Make the answer to a request that has changed what is watched."""
        answer = SettledAnswer(
            message.id,
            _render_empty(message),
            news.wait_until_settled,
            output=self._output,
            on_end=self._end_answer,
        )
        self._settling.add(answer)
        return answer

    def _end_answer(self, answer: OpenCall) -> None:
        self._settling.discard(answer)
        self._calls.forget(answer)


def _render_empty(message: RequestMessage) -> bytes:
    return render_line(write_legacy_result(message.id, {}))
