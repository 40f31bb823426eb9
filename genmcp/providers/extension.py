"""Extensions: providers computed for each request.

Layer: providers. A Suite's own tools are fixed when it is built; an extension
decides from the channel (who calls, what the application attached) what else
there is.

Spec: server/tools#capabilities
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genmcp.providers.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from genmcp.channel import Channel

ToolSource = Tool[Any, Any] | type[Tool[Any, Any]]
"""A tool, or its class, which is then made without arguments."""


class Extension:
    """Adds tools that depend on the caller.

    The Suite's own tools come first, then its extensions in order; the first
    definition of a name wins. An extension is asked only when nothing before it
    answers, so a call of one of the Suite's own tools never waits for it.

    What an extension gives may depend on who is calling, and must not depend on
    the connection or on what was called before. Lists that hold anything of an
    extension are therefore `private` to caches, whatever the tools say.
    """

    def tools(self, channel: Channel) -> Sequence[ToolSource] | Awaitable[Sequence[ToolSource]]:
        """Return the tools this caller may use, in a steady order.

        Called for each `tools/list` and for each call of a tool the Suite itself
        does not have. `async def` or plain `def`; a plain one runs on the event
        loop and must not block.
        """
        return ()

    def offers_tools(self) -> bool:
        """Tell whether this extension may ever give tools.

        Decides, when the Suite is built, whether the `tools` capability is
        advertised. True if `tools` is overridden.
        """
        return type(self).tools is not Extension.tools
