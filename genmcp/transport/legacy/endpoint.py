"""What belongs to 2025: one message of one session, or what `verbs` has.

Layer: transport, shell; asked by `genmcp.transport.endpoint`.

Spec: 2025-11-25 basic/transports#streamable-http
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from genmcp.errors import InvalidParams, InvalidRequest, McpError
from genmcp.legacy.failures import write_legacy_error
from genmcp.legacy.guard import GuardedReplayStore, GuardedSessionStore
from genmcp.legacy.messages import ResponseMessage
from genmcp.legacy.questions import is_within_reach
from genmcp.legacy.results import write_legacy_result
from genmcp.legacy.session import read_handshake, seal_session
from genmcp.legacy.store import (
    AnswerCame,
    CancelWanted,
    StoreUnavailable,
)
from genmcp.mcp import v2607 as mcp
from genmcp.telemetry import RefusalReason
from genmcp.transport.inbound import Refusal, refuse_shutdown
from genmcp.transport.legacy.admission import (
    FoundSession,
    SessionAdmission,
    refuse_for_now,
)
from genmcp.transport.legacy.conversation import Conversation
from genmcp.transport.legacy.session_methods import PING, SessionMethods, can_watch
from genmcp.transport.legacy.session_requests import (
    complete_caller,
    make_discovery,
    read_session_request,
)
from genmcp.transport.legacy.sink import CallSink
from genmcp.transport.legacy.stream import ResumableStream
from genmcp.transport.legacy.verbs import SessionVerbs
from genmcp.transport.refused import describe_refusal
from genmcp.transport.reply import (
    OK,
    render_accepted,
    render_json,
)
from genmcp.wire.messages import RequestMessage, decode_notification

if TYPE_CHECKING:
    from collections.abc import Collection

    from genmcp.access import Access
    from genmcp.caller import Caller
    from genmcp.legacy.replay import ReplayStore
    from genmcp.legacy.session import Session
    from genmcp.legacy.store import SessionState, SessionStore
    from genmcp.mux import Mux
    from genmcp.transport.authorize import Gate
    from genmcp.transport.exchange import Exchange
    from genmcp.transport.identify import Identity
    from genmcp.transport.inbound import ReceivedLegacy
    from genmcp.transport.legacy.session_requests import SessionRequest
    from genmcp.transport.reply import HeaderPairs
    from genmcp.wire.messages import NotificationMessage


@attrs.define(eq=False, kw_only=True)
class LegacyEndpoint:
    """Answers the clients of 2025.

    Attributes:
        mux: runs the calls.
        gate: renders what a client is told that lacks a scope.
        methods: what the server answers.
        identity: what the application knows of a caller.
        store: what is kept of sessions.
        replay: what is kept of streams.
        keepalive_seconds: how long nothing may be written.
        stream_seconds: see `StreamableHTTP.legacy_stream_seconds`.

    Raises:
        TypeError: `store` or `replay` is none.
        ValueError: an attribute of one of them makes no sense.
    """

    mux: Mux
    gate: Gate | None
    methods: Collection[str]
    identity: Identity
    store: SessionStore
    replay: ReplayStore
    keepalive_seconds: float
    stream_seconds: float | None = None
    _conversations: set[Conversation] = attrs.field(factory=set[Conversation], init=False)
    _store: GuardedSessionStore = attrs.field(init=False)
    _replay: GuardedReplayStore = attrs.field(init=False)
    _admission: SessionAdmission = attrs.field(init=False)
    _methods: SessionMethods = attrs.field(init=False)
    _verbs: SessionVerbs = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._store = GuardedSessionStore(self.store)
        self._replay = GuardedReplayStore(self.replay)
        self._admission = SessionAdmission(
            keyring=self.mux.keyring, store=self._store, identity=self.identity, gate=self.gate
        )
        self._methods = SessionMethods(self._store, can_watch(self.methods))
        self._verbs = SessionVerbs(
            mux=self.mux,
            methods=self.methods,
            store=self._store,
            replay=self._replay,
            admission=self._admission,
            keepalive_seconds=self.keepalive_seconds,
        )

    def stop(self) -> None:
        """The server shuts down: wait for no more answers of clients."""
        for conversation in self._conversations:
            conversation.stop()

    # -- POST ----------------------------------------------------------------------

    async def serve_message(
        self, exchange: Exchange, received: ReceivedLegacy, access: Access | None
    ) -> None:
        """Answer one message.

        Raises:
            ClientGone: the client left before its message was looked at.
        """
        message = received.message
        request_id = message.id if isinstance(message, RequestMessage) else None
        caller = await self._admission.identify(exchange, access, request_id)
        if isinstance(caller, Refusal):
            await _refuse(exchange, caller)
        elif received.session_id is None and isinstance(message, RequestMessage):
            if message.method == PING:
                await _answer(exchange, message, {})
            else:
                await self._open_session(exchange, message, caller)
        else:
            found = await self._admission.find_session(
                received.session_id, received.version, caller
            )
            refusal = (
                await self._take(exchange, message, found, caller)
                if isinstance(found, FoundSession)
                else found
            )
            if refusal is not None:
                await _refuse(exchange, attrs.evolve(refusal, request_id=request_id))

    async def _take(
        self,
        exchange: Exchange,
        message: RequestMessage | NotificationMessage | ResponseMessage,
        found: FoundSession,
        caller: Caller,
    ) -> Refusal | None:
        """Answer a message of a session, or return a refusal to send."""
        try:
            match message:
                case RequestMessage():
                    await self._answer_request(exchange, message, found, caller)
                case ResponseMessage():
                    return await self._take_answer(exchange, message, found.session)
                case _:
                    await self._notify(exchange, message, found.session)
        except StoreUnavailable as error:
            return refuse_for_now(error)
        return None

    async def _take_answer(
        self, exchange: Exchange, message: ResponseMessage, session: Session
    ) -> Refusal | None:
        """Hand the answer to a question to the call that asked; accept it then, not before.

        Raises:
            StoreUnavailable: it may not have been handed on.
        """
        if not is_within_reach(message.id, self._store.reach):
            problem = (
                "This question was asked by another process of this server, or one that has "
                "ended, and the answer cannot be handed on to it: they share no session_store. "
                "Route by the header Mcp-Session-Id, or give them one"
            )
            return Refusal(400, InvalidRequest(problem), reason=RefusalReason.SESSION)
        await self._store.publish(session.key, AnswerCame(message.id, message.response))
        await exchange.send_whole(render_accepted())
        return None

    async def _notify(
        self, exchange: Exchange, message: NotificationMessage, session: Session
    ) -> None:
        """Accept a notification.

        Raises:
            StoreUnavailable: it may not have been handed on.
        """
        params = message.params or {}
        if message.method == mcp.CancelledNotification.method:
            request_id = params.get("requestId")
            if type(request_id) is str or type(request_id) is int:
                await self._store.publish(session.key, CancelWanted(request_id))
            await exchange.send_whole(render_accepted())
            return
        await exchange.send_whole(render_accepted())
        await self.mux.notify(decode_notification(message.method, message.params))

    async def _answer_request(
        self, exchange: Exchange, message: RequestMessage, found: FoundSession, caller: Caller
    ) -> None:
        """Answer a request, or have it run.

        Raises:
            StoreUnavailable: nothing was sent yet.
        """
        try:
            await self._dispatch(exchange, message, found.session, found.state, caller)
        except StoreUnavailable:
            raise
        except McpError as error:
            await _fail(exchange, message, error)

    async def _dispatch(
        self,
        exchange: Exchange,
        message: RequestMessage,
        session: Session,
        state: SessionState,
        caller: Caller,
    ) -> None:
        """Answer a request, or have it run.

        Raises:
            McpError: it is refused.
        """
        if await self._methods.answer(message, session, state):
            await _answer(exchange, message, {})
        else:
            read = read_session_request(message, session, state, self.methods)
            await self._run(exchange, session, read, caller)

    async def _run(
        self,
        exchange: Exchange,
        session: Session,
        read: SessionRequest,
        identified: Caller,
        headers: HeaderPairs = (),
    ) -> None:
        """Have a request run.

        Raises:
            StoreUnavailable: nothing was sent yet.
        """
        request, caller = read.request, complete_caller(read.caller, identified)
        if self.mux.draining:
            await _refuse(exchange, refuse_shutdown(caller.request_id))
            return
        stream = ResumableStream(
            exchange,
            self._replay,
            session.key,
            session.version,
            keepalive_seconds=self.keepalive_seconds,
            headers=headers,
            challenge=None if self.gate is None else self.gate.challenges.challenge,
        )
        sink = CallSink(stream, caller.request_id, request.method, read.translate)
        conversation = Conversation(self.mux, stream, sink, reach=self._store.reach)
        work = partial(conversation.run, request, caller)
        if self.stream_seconds is not None:
            work = partial(stream.run_limited, self.stream_seconds, work)
        self._conversations.add(conversation)
        try:
            await self._store.run_attached(session.key, conversation.receive, work)
        except StoreUnavailable as error:
            # What was answered before, or refused for a limit, is not answered again.
            if not stream.done:
                if not exchange.dispatched:
                    raise
                # The call was cancelled, as nobody could have told it of anything any more.
                await sink.fail(error)
        finally:
            self._conversations.discard(conversation)
            await stream.forget()

    async def _open_session(
        self, exchange: Exchange, message: RequestMessage, caller: Caller
    ) -> None:
        """Answer `initialize`: what the server is and offers is asked of the server."""
        try:
            session = read_handshake(message.params, time.time())
        except InvalidParams as error:
            await _fail(exchange, message, error)
            return
        session_id = seal_session(session, self.mux.keyring, caller.principal)
        headers = ((b"mcp-session-id", session_id.encode("ascii")),)
        discovery = make_discovery(message.id, session)
        try:
            await self._run(exchange, session, discovery, caller, headers)
        except StoreUnavailable as error:
            await _refuse(exchange, refuse_for_now(error, message.id))

    # -- GET and DELETE ------------------------------------------------------------

    async def serve_verb(self, exchange: Exchange, access: Access | None) -> None:
        """Answer a GET or a DELETE.

        Raises:
            ClientGone: the client left before its request was looked at.
        """
        refusal = await self._verbs.serve(exchange, access)
        if refusal is not None:
            await _refuse(exchange, refusal)


async def _answer(exchange: Exchange, message: RequestMessage, result: dict[str, Any]) -> None:
    await exchange.send_whole(render_json(OK, write_legacy_result(message.id, result)))


async def _fail(exchange: Exchange, message: RequestMessage, error: McpError) -> None:
    """Refuse a request of a session that is all right: with 200, and an error as its answer."""
    exchange.reporter.refuse(describe_refusal(Refusal(OK, error, message.id)), error)
    written = write_legacy_error(message.id, message.method, error)
    await exchange.send_whole(render_json(OK, written))


async def _refuse(exchange: Exchange, refusal: Refusal) -> None:
    exchange.reporter.refuse(describe_refusal(refusal), refusal.error)
    await exchange.refuse(refusal)
