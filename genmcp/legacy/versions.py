"""The earlier protocol versions that are served.

Layer: legacy, pure.

Spec: 2025-11-25 basic/lifecycle#version-negotiation
"""

from __future__ import annotations

import re
from typing import Final

from genmcp.mcp import v2607 as mcp

NOVEMBER: Final = "2025-11-25"
JUNE: Final = "2025-06-18"

VERSIONS: Final = (NOVEMBER, JUNE)
"""The versions spoken after an `initialize`, the newest first."""

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def negotiate_version(requested: str) -> str:
    """Return the version a session speaks: the one asked for, or the newest of 2025.

    Never today's, which has no sessions.
    """
    return requested if requested in VERSIONS else NOVEMBER


def is_modern_version(version: str) -> bool:
    """Tell whether a version is today's, or a later one: those have no handshake."""
    return _DATE.fullmatch(version) is not None and version >= mcp.PROTOCOL_VERSION
