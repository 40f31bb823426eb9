"""Which era a message belongs to: the decision table of an endpoint that serves both.

Layer: legacy, pure. `genmcp.transport.inbound` asks it for every message. On stdio there
are no headers: `genmcp.transport.stdio.line_inbound` asks for the first row alone.

Today's requests say in `params._meta` which version they are written in, and nothing else
tells them for sure: clients of 2025 send a `_meta` too, and headers are added by proxies.
The first row that fits decides:

    the message                                                     goes to
    ----------------------------------------------------------------------------------
    has today's version key in `params._meta`, whatever its method   MODERN
    comes with today's (or a later) version in its header           MODERN (which refuses
                                                                     it, or drops a
                                                                     notification)
    is a request for `initialize`                                   HANDSHAKE
    comes with a session id                                         SESSION
    names an earlier version that is served, or none                STRANGER
    names any other version                                         UNKNOWN_VERSION

Spec: basic/versioning
"""

from __future__ import annotations

import enum
from typing import Any, Final, cast

from genmcp.legacy.versions import VERSIONS, is_modern_version
from genmcp.mcp import v2607 as mcp

HANDSHAKE: Final = "initialize"


class Route(enum.Enum):
    """Who answers a message."""

    MODERN = enum.auto()
    """Today's protocol."""
    HANDSHAKE = enum.auto()
    """It opens a session."""
    SESSION = enum.auto()
    """It belongs to a session."""
    STRANGER = enum.auto()
    """It is of 2025, and belongs to no session."""
    UNKNOWN_VERSION = enum.auto()
    """It is of a version that is not served."""


def is_modern(message: Any) -> bool:
    """Tell whether a message has today's key, which is the question every request is asked."""
    try:
        return mcp.PROTOCOL_VERSION_KEY in message["params"]["_meta"]
    except (KeyError, TypeError, IndexError):
        return False


def find_route(message: Any, version: str | None, *, has_session: bool) -> Route:
    """Return who answers `message`.

    Args:
        message: what was sent, as JSON; anything but an object is for today's protocol
            to refuse.
        version: the header `MCP-Protocol-Version`, if it was sent.
        has_session: whether a session id was sent.
    """
    if is_modern(message) or not isinstance(message, dict):
        return Route.MODERN
    if version is not None and is_modern_version(version):
        return Route.MODERN
    envelope = cast("dict[str, Any]", message)
    if envelope.get("method") == HANDSHAKE and "id" in envelope:
        return Route.HANDSHAKE
    if has_session:
        return Route.SESSION
    return Route.STRANGER if version is None or version in VERSIONS else Route.UNKNOWN_VERSION
