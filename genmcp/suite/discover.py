"""The discovery page: what the server is, speaks and offers.

Layer: suite. Capabilities are derived from the other pages, never declared; which
changes can be listened for is asked of the subscription handler for each caller.

Spec: server/discover
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import attrs

from genmcp.mcp import v2607 as mcp
from genmcp.suite.page import Answer, Page

if TYPE_CHECKING:
    from genmcp.channel import Channel
    from genmcp.providers.subscription_handler import SubscriptionCapabilities
    from genmcp.suite.subscriptions import SubscriptionsPage


class DiscoverPage(Page):
    """Answers `server/discover`."""

    methods: ClassVar[frozenset[str]] = frozenset({"server/discover"})

    def __init__(
        self,
        identity: mcp.Implementation,
        capabilities: mcp.ServerCapabilities,
        instructions: str | None,
        subscriptions: SubscriptionsPage,
    ) -> None:
        built = mcp.discover_result(
            name=identity.name, version=identity.version, capabilities=capabilities
        )
        # The Suite puts the identity on every result, or on none.
        self._result = attrs.evolve(built, instructions=instructions, meta=None)
        self._subscriptions = subscriptions

    def offered(self) -> bool:
        """See `Page.offered`. Discovery is mandatory."""
        return True

    async def answer(self, request: mcp.Request, channel: Channel) -> Answer:
        """See `Page.answer`."""
        flags = await self._subscriptions.find_capabilities(channel)
        if not flags:
            return self._result
        return attrs.evolve(self._result, capabilities=_add_flags(self._result.capabilities, flags))


def _add_flags(
    capabilities: mcp.ServerCapabilities, flags: SubscriptionCapabilities
) -> mcp.ServerCapabilities:
    """Return `capabilities` with what can be listened for in the families it has."""
    tools, prompts, resources = capabilities.tools, capabilities.prompts, capabilities.resources
    return attrs.evolve(
        capabilities,
        tools=tools and attrs.evolve(tools, list_changed=flags.tools_list_changed or None),
        prompts=prompts and attrs.evolve(prompts, list_changed=flags.prompts_list_changed or None),
        resources=resources
        and attrs.evolve(
            resources,
            list_changed=flags.resources_list_changed or None,
            subscribe=flags.resource_updated or None,
        ),
    )
