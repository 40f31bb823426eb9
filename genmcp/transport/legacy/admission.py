"""Who is calling, and in which session.

Layer: transport, shell. A session is no proof of who is calling: that is found out for
every request, and the session must be that caller's.

Spec: 2025-11-25 basic/transports#session-management
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from genmcp.caller import Caller
from genmcp.errors import InvalidRequest, TokenError
from genmcp.legacy.session import unseal_session
from genmcp.legacy.store import StoreUnavailable
from genmcp.mcp import v2607 as mcp
from genmcp.telemetry import RefusalReason
from genmcp.transport.headers import show
from genmcp.transport.inbound import Refusal
from genmcp.transport.reply import find_delay
from genmcp.value import Value

if TYPE_CHECKING:
    from genmcp.access import Access
    from genmcp.legacy.guard import GuardedSessionStore
    from genmcp.legacy.session import Session
    from genmcp.legacy.store import SessionState
    from genmcp.tokens import Keyring
    from genmcp.transport.authorize import Gate
    from genmcp.transport.exchange import Exchange
    from genmcp.transport.identify import Identity


@attrs.frozen(eq=False, repr=False)
class FoundSession(Value):
    """A session that is served.

    Attributes:
        session: what its id holds.
        state: what is remembered of it besides.
    """

    session: Session
    state: SessionState


@attrs.frozen(eq=False, kw_only=True)
class SessionAdmission:
    """Lets callers into their sessions.

    Attributes:
        keyring: opens the ids of sessions.
        store: tells which sessions were ended.
        identity: what the application knows of a caller.
        gate: renders what a caller is told that lacks a scope.
    """

    keyring: Keyring
    store: GuardedSessionStore
    identity: Identity
    gate: Gate | None

    async def identify(
        self,
        exchange: Exchange,
        access: Access | None,
        request_id: mcp.RequestId | None,
    ) -> Caller | Refusal:
        """Return what is known of a caller beside its session, or a refusal.

        Raises:
            ClientGone: the client left first.
        """
        caller = Caller(
            request_id="" if request_id is None else request_id,
            protocol_version="",
            client_capabilities=mcp.ClientCapabilities(),
            client_address=exchange.client_address,
            access=access,
            principal=None if access is None else access.subject,
        )
        identified = await self.identity.complete(caller, exchange)
        if not isinstance(identified, Refusal):
            return identified
        refusal = attrs.evolve(identified, request_id=request_id)
        return refusal if self.gate is None else self.gate.complete(refusal)

    async def find_session(
        self, session_id: str | None, version: str | None, caller: Caller
    ) -> FoundSession | Refusal:
        """Return the session, if it is this caller's and has not ended.

        A client that is told 404 opens another session. One that is told 503, since it is
        not known whether this one has ended, tries again.
        """
        try:
            session = unseal_session(session_id or "", self.keyring, caller.principal)
        except TokenError as error:
            return _refuse(error.cause)
        try:
            state = await self.store.find(session.key)
        except StoreUnavailable as error:
            return refuse_for_now(error)
        if state.ended:
            return _refuse("ended")
        if version is not None and version != session.version:
            problem = (
                f"MCP-Protocol-Version is {show(version)}, but this session "
                f"speaks {session.version}, which initialize agreed on"
            )
            return Refusal(400, InvalidRequest(problem), reason=RefusalReason.VERSION)
        return FoundSession(session, state)


def refuse_for_now(error: StoreUnavailable, request_id: mcp.RequestId | None = None) -> Refusal:
    """Return the refusal of what needs a store that cannot be reached."""
    return Refusal(503, error, request_id, headers=find_delay(error), reason=RefusalReason.STORE)


def _refuse(cause: str) -> Refusal:
    error = InvalidRequest("There is no such session, or not any more; send initialize again")
    error.log_message = f"session refused: {cause}"
    return Refusal(404, error, reason=RefusalReason.SESSION)
