"""The requests that are about the session itself: ping, log level, watched resources.

Layer: transport, shell. Answered here; the server never hears of them.

Spec: 2025-11-25 basic/utilities/ping, server/utilities/logging, server/resources#subscriptions
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

import attrs

from genmcp.errors import InvalidParams
from genmcp.legacy.store import WatchedChanged
from genmcp.mcp import v2607 as mcp

if TYPE_CHECKING:
    from collections.abc import Collection

    from genmcp.legacy.guard import GuardedSessionStore
    from genmcp.legacy.session import Session
    from genmcp.legacy.store import SessionState
    from genmcp.wire.messages import RequestMessage

PING: Final = "ping"

MAX_WATCHED: Final = 1_000
"""How many resources one session may watch."""

MAX_URI_CHARS: Final = 2_048
"""How long the URI of one may be."""

_SUBSCRIBE: Final = "resources/subscribe"
_LEVELS: Final = get_args(mcp.LoggingLevel)


def can_watch(methods: Collection[str]) -> bool:
    """Tell whether resources can be watched, by the methods that the server answers."""
    return {mcp.SubscriptionsListenRequest.method, mcp.ReadResourceRequest.method} <= set(methods)


@attrs.frozen(eq=False)
class SessionMethods:
    """Answers them.

    Attributes:
        store: what is kept of sessions.
        watches: whether resources can be watched.
    """

    store: GuardedSessionStore
    watches: bool

    async def answer(self, message: RequestMessage, session: Session, state: SessionState) -> bool:
        """Do what a request wants of the session; the result is empty.

        Returns:
            Whether it was one of these requests.

        Raises:
            InvalidParams: it makes no sense.
            StoreUnavailable: it may not have been done.
        """
        match message.method:
            case "ping":
                return True
            case "logging/setLevel":
                level = _read_level(message)
                await self.store.set_log_level(session.key, level, session.expires_at)
                return True
            case "resources/subscribe" | "resources/unsubscribe" if self.watches:
                await self._watch(message, session, state)
                return True
            case _:
                return False

    async def _watch(self, message: RequestMessage, session: Session, state: SessionState) -> None:
        uri = (message.params or {}).get("uri")
        if not isinstance(uri, str) or len(uri) > MAX_URI_CHARS:
            problem = f"must be a string of at most {MAX_URI_CHARS} characters"
            raise InvalidParams(f"params.uri {problem}", data={"path": "params.uri"})
        if message.method == _SUBSCRIBE:
            # Several at once, at several processes, may get a few over it.
            if len({*state.watched, uri}) > MAX_WATCHED:
                raise InvalidParams(f"A session can watch at most {MAX_WATCHED} resources")
            await self.store.watch(session.key, uri, session.expires_at)
        else:
            await self.store.unwatch(session.key, uri, session.expires_at)
        # Whatever was found before: another process may have changed it since.
        await self.store.publish(session.key, WatchedChanged())


def _read_level(message: RequestMessage) -> mcp.LoggingLevel:
    level: Any = (message.params or {}).get("level")
    if level not in _LEVELS:
        raise InvalidParams(
            f"params.level must be one of {', '.join(_LEVELS)}", data={"path": "params.level"}
        )
    found: mcp.LoggingLevel = level
    return found
