"""The discovery page: what the server is, speaks and offers.

Layer: suite. Capabilities are derived from the other pages, never declared.

Spec: server/discover
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import attrs

from genmcp.mcp import v2607 as mcp
from genmcp.suite.page import Answer, Page

if TYPE_CHECKING:
    from genmcp.channel import Channel


class DiscoverPage(Page):
    """Answers `server/discover`."""

    methods: ClassVar[frozenset[str]] = frozenset({"server/discover"})

    def __init__(
        self,
        identity: mcp.Implementation,
        capabilities: mcp.ServerCapabilities,
        instructions: str | None,
    ) -> None:
        built = mcp.discover_result(
            name=identity.name, version=identity.version, capabilities=capabilities
        )
        # The Suite puts the identity on every result, or on none.
        self._result = attrs.evolve(built, instructions=instructions, meta=None)

    def offered(self) -> bool:
        """See `Page.offered`. Discovery is mandatory."""
        return True

    async def answer(self, request: mcp.Request, channel: Channel) -> Answer:
        """See `Page.answer`."""
        return self._result
