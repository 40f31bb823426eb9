"""The author at a shell: may do everything, so that no token is asked for.

Layer: cli. `genmcp call` and `genmcp tools` run the author's own code in their own
process; who starts them could change it as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from genmcp.server import Server

if TYPE_CHECKING:
    from collections.abc import Collection

    from genmcp.channel import Channel
    from genmcp.mcp import v2607 as mcp
    from genmcp.outcome import Error, Stream


@attrs.frozen(eq=False)
class TrustingServer(Server):
    """Answers as `server` does, and takes no scopes into account, so it tells of none."""

    server: Server

    def methods(self) -> Collection[str]:
        """See `Server.methods`."""
        return self.server.methods()

    async def handle_request(
        self, request: mcp.Request, channel: Channel
    ) -> mcp.Result | Stream[Any] | Error:
        """See `Server.handle_request`."""
        channel.caller = attrs.evolve(channel.caller, scopes_apply=False)
        return await self.server.handle_request(request, channel)

    def closing_result(self, request: mcp.Request, channel: Channel) -> mcp.Result | None:
        """See `Server.closing_result`."""
        return self.server.closing_result(request, channel)

    async def handle_notification(self, notification: mcp.ClientNotification) -> None:
        """See `Server.handle_notification`."""
        await self.server.handle_notification(notification)

    async def handle_message(
        self, message: object, channel: Channel, state: Any
    ) -> mcp.Result | Stream[Any] | Error:
        """See `Server.handle_message`."""
        return await self.server.handle_message(message, channel, state)

    async def handle_close(self, channel: Channel, state: Any) -> None:
        """See `Server.handle_close`."""
        await self.server.handle_close(channel, state)
