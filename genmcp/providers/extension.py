"""Extensions: providers computed for each request.

Layer: providers. A Suite's own providers are fixed when it is built; an extension
decides from the channel (who calls, what the application attached) what else
there is.

Spec: server/tools#capabilities
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from genmcp.providers.repo import check_signatures
from genmcp.providers.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from genmcp.channel import Channel
    from genmcp.providers.prompt_repo import PromptRepoSource
    from genmcp.providers.resource_repo import ResourceRepoSource

ToolSource = Tool[Any, Any] | type[Tool[Any, Any]]
"""A tool, or its class, which is then made without arguments."""


_HOOKS: Final = {
    **dict.fromkeys(["tools", "prompts", "resources"], ("channel",)),
    **dict.fromkeys(
        ["offers_tools", "offers_prompts", "offers_resources", "offers_completions"], ()
    ),
}


class Extension:
    """Adds tools, prompts and resources that depend on the caller.

    The Suite's own providers come first, then its extensions in order; the first
    definition of a tool's name wins, and the first repository with a fitting prefix
    owns a prompt's name or a resource's URI. An extension is asked only when nothing
    before it answers, so a call of one of the Suite's own tools never waits for it,
    nor does a prompt or resource that begins with the prefix of one of the Suite's
    own repositories, be it there or not.

    What an extension gives may depend on who is calling, and must not depend on
    the connection or on what was called before. Lists that hold anything of an
    extension, and what is read from its repositories, are therefore `private` to
    caches, whatever the providers say.

    The hooks are `async def` or plain `def`; a plain one runs on the event loop and
    must not block.

    Raises:
        TypeError: a hook does not take what it is called with, when the class is defined.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_signatures(cls, _HOOKS)

    def tools(self, channel: Channel) -> Sequence[ToolSource] | Awaitable[Sequence[ToolSource]]:
        """Return the tools this caller may use, in a steady order.

        Called for each `tools/list` and for each call of a tool the Suite itself
        does not have.
        """
        return ()

    def prompts(
        self, channel: Channel
    ) -> Sequence[PromptRepoSource] | Awaitable[Sequence[PromptRepoSource]]:
        """Return the repositories of prompts this caller may use, in a steady order.

        Called for each `prompts/list`, and for each prompt whose name begins with no
        prefix of the Suite's own repositories.
        """
        return ()

    def resources(
        self, channel: Channel
    ) -> Sequence[ResourceRepoSource] | Awaitable[Sequence[ResourceRepoSource]]:
        """Return the repositories of resources this caller may use, in a steady order.

        Called for each list of resources or templates, and for each resource whose
        URI begins with no prefix of the Suite's own repositories.
        """
        return ()

    def offers_tools(self) -> bool:
        """Tell whether this extension may ever give tools.

        Decides, when the Suite is built, whether the `tools` capability is
        advertised. True if `tools` is overridden.
        """
        return type(self).tools is not Extension.tools

    def offers_prompts(self) -> bool:
        """Tell whether this extension may ever give prompts. See `offers_tools`."""
        return type(self).prompts is not Extension.prompts

    def offers_resources(self) -> bool:
        """Tell whether this extension may ever give resources. See `offers_tools`."""
        return type(self).resources is not Extension.resources

    def offers_completions(self) -> bool:
        """Tell whether repositories given here may complete arguments.

        Decides, when the Suite is built, whether the `completions` capability is
        advertised though none of the Suite's own repositories has a `complete`.
        False unless overridden: what will be given cannot be known beforehand.
        """
        return False
