"""GET and DELETE of a session.

Layer: transport, shell.

Spec: 2025-11-25 basic/transports#listening-for-messages-from-the-server, #session-management
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from genmcp.errors import InvalidRequest, MethodNotFound
from genmcp.legacy.store import SessionEnded, StoreUnavailable
from genmcp.transport import headers as header
from genmcp.transport.inbound import (
    Refusal,
    refuse_missing_session,
    refuse_shutdown,
    refuse_verb,
)
from genmcp.transport.legacy.admission import refuse_for_now
from genmcp.transport.legacy.listening import LISTEN
from genmcp.transport.legacy.news_stream import NewsStream
from genmcp.transport.legacy.resuming import Resuming
from genmcp.transport.reply import OK, Whole, find_delay, find_status

if TYPE_CHECKING:
    from collections.abc import Collection

    from genmcp.access import Access
    from genmcp.caller import Caller
    from genmcp.legacy.guard import GuardedReplayStore, GuardedSessionStore
    from genmcp.legacy.session import Session
    from genmcp.mux import Mux
    from genmcp.transport.exchange import Exchange
    from genmcp.transport.legacy.admission import SessionAdmission


@attrs.frozen(eq=False, kw_only=True)
class SessionVerbs:
    """Answers them; the attributes are those of `LegacyEndpoint`."""

    mux: Mux
    methods: Collection[str]
    store: GuardedSessionStore
    replay: GuardedReplayStore
    admission: SessionAdmission
    keepalive_seconds: float

    async def serve(self, exchange: Exchange, access: Access | None) -> Refusal | None:
        """Answer a GET or a DELETE, or return a refusal to send.

        A DELETE that is refused because the store fails may have ended the session: the
        client that tries again is told 404 then, which is as good.

        Raises:
            ClientGone: the client left before its request was looked at.
        """
        headers = exchange.headers
        if exchange.verb == "GET" and b"text/event-stream" not in _lower(
            headers.get(header.ACCEPT)
        ):
            return refuse_verb("GET", ("POST", "DELETE"))
        for spelling in ("MCP-Session-Id", "MCP-Protocol-Version", "Last-Event-ID"):
            if spelling in headers.repeated:
                return Refusal(400, InvalidRequest(f"The header {spelling} was sent repeatedly"))
        session_id = headers.get(header.SESSION_ID)
        if session_id is None:
            return refuse_missing_session()
        caller = await self.admission.identify(exchange, access, None)
        if isinstance(caller, Refusal):
            return caller
        named = headers.get(header.PROTOCOL_VERSION)
        version = None if named is None else named.decode("latin-1")
        found = await self.admission.find_session(session_id.decode("latin-1"), version, caller)
        if isinstance(found, Refusal):
            return found
        try:
            return await self._answer(exchange, found.session, caller)
        except StoreUnavailable as error:
            return refuse_for_now(error)

    async def _answer(self, exchange: Exchange, session: Session, caller: Caller) -> Refusal | None:
        """Answer within a session, or return a refusal to send.

        Raises:
            ClientGone: the client left first.
            StoreUnavailable: nothing was sent yet.
        """
        if exchange.verb == "DELETE":
            await self._end_session(exchange, session)
            return None
        if self.mux.draining:
            return refuse_shutdown()
        event_id = exchange.headers.get(header.LAST_EVENT_ID)
        if event_id:
            resuming = Resuming(
                exchange, self.store, self.replay, session.key, self.keepalive_seconds
            )
            return await resuming.run(event_id)
        return await self._listen(exchange, session, caller)

    async def _end_session(self, exchange: Exchange, session: Session) -> None:
        await self.store.end(session.key, session.expires_at)
        await self.store.publish(session.key, SessionEnded())
        await exchange.send_early(Whole(204, (), b""))

    async def _listen(self, exchange: Exchange, session: Session, caller: Caller) -> Refusal | None:
        if LISTEN not in self.methods:
            return refuse_verb("GET", ("POST", "DELETE"))
        stream = NewsStream(
            self.mux,
            self.store,
            session,
            caller=caller,
            exchange=exchange,
            keepalive_seconds=self.keepalive_seconds,
        )
        error = await stream.run(max(0.0, session.expires_at - time.time()))
        match error:
            case None:
                return None
            case MethodNotFound():
                return refuse_verb("GET", ("POST", "DELETE"))
            case StoreUnavailable():
                return refuse_for_now(error)
            case _:
                status = find_status(error)
                return Refusal(400 if status == OK else status, error, headers=find_delay(error))


def _lower(value: bytes | None) -> bytes:
    return b"" if value is None else value.lower()
