"""One request of a session as a call of today, and its result on the way back.

Layer: transport, pure. `endpoint` reads the requests that come by HTTP with it, and
`genmcp.transport.stdio.legacy_session` those that come by stdio.

Spec: 2025-11-25 basic/lifecycle
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from genmcp.errors import MethodNotFound
from genmcp.events import EncodeError
from genmcp.legacy.requests import MODERN_ONLY, make_request, translate_request
from genmcp.legacy.results import translate_discovery, translate_result
from genmcp.mcp import v2607 as mcp
from genmcp.transport.headers import show
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Collection

    from genmcp.caller import Caller
    from genmcp.legacy.session import Session
    from genmcp.legacy.store import SessionState
    from genmcp.wire.messages import RequestMessage

Translate: TypeAlias = Callable[[mcp.Result], dict[str, Any]]
"""Returns a result in the wire form of the session's version."""


@attrs.frozen(eq=False, repr=False)
class SessionRequest(Value):
    """A request that may run.

    Attributes:
        request: in today's terms.
        caller: who calls, as far as the message and the session say.
        translate: for its result.
    """

    request: mcp.Request
    caller: Caller
    translate: Translate


def read_session_request(
    message: RequestMessage, session: Session, state: SessionState, methods: Collection[str]
) -> SessionRequest:
    """Return a request of a session that is for the server.

    Args:
        message: the request.
        session: the one it belongs to.
        state: the session's.
        methods: what the server answers.

    Raises:
        MethodNotFound: there is no such method, or 2025 has none. Wire form: -32601.
        InvalidParams: the params have not the form of the method's. Wire form: -32602.
    """
    if message.method in MODERN_ONLY or message.method not in methods:
        raise MethodNotFound(f"Method not found: {show(message.method)}")
    request, caller = translate_request(message, session, state.log_level)
    return SessionRequest(request, caller, lambda result: translate_result(result, session.version))


def make_discovery(request_id: mcp.RequestId, session: Session) -> SessionRequest:
    """Return what an `initialize` asks the server: what it is, and what it offers.

    Its `translate` raises `EncodeError` if the server answers with something else.
    """

    def translate(result: mcp.Result) -> dict[str, Any]:
        if not isinstance(result, mcp.DiscoverResult):
            # For masking, as it is the server's own fault.
            raise EncodeError(f"server/discover was answered with {type(result).__name__}")
        return translate_discovery(result, session)

    request, caller = make_request(mcp.DiscoverRequest.method, {}, request_id, session)
    return SessionRequest(request, caller, translate)


def complete_caller(caller: Caller, identified: Caller) -> Caller:
    """Return a caller read from a message, with what is known of it besides."""
    return attrs.evolve(
        caller,
        assigns=identified.assigns,
        principal=identified.principal,
        access=identified.access,
        client_address=identified.client_address,
        scopes_apply=identified.scopes_apply,
    )
