"""Prompt repositories: what an author subclasses to offer prompts.

Layer: providers. This is the author's side; `genmcp.suite.prompts` calls the hooks.
What the wire calls a prompt is `genmcp.mcp.v2607.Prompt`.

Spec: server/prompts
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from genmcp.errors import show
from genmcp.mcp import v2607 as mcp
from genmcp.outcome import Error, InputRequired
from genmcp.providers.repo import C, Repo, Suggestions, check_signatures
from genmcp.providers.repo_page import RepoList

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from genmcp.channel import Channel

_log = logging.getLogger("genmcp.providers")

PromptReply: TypeAlias = mcp.GetPromptResult | str | InputRequired | Error
"""What `get` may return. A `str` is one message of the user."""

PromptPage: TypeAlias = Sequence[mcp.Prompt] | tuple[Sequence[mcp.Prompt], Any]
"""What `list_prompts` may return: prompts, or prompts and the next cursor."""

MAX_SEARCHED_PAGES: Final = 100
"""How many pages of a repository's list are searched for a prompt's declaration."""

_HOOKS: Final = {
    "list_prompts": ("cursor", "channel"),
    "find_prompt": ("name", "channel"),
    "get": ("name", "arguments", "channel"),
    "complete": ("name", "argument", "context", "channel"),
}


class PromptRepo(Repo[C]):
    """Serves prompts: all whose names begin with its prefix.

    Every hook is `async def`, or a plain `def`, which runs in a worker thread and
    gets a `BlockingChannel`; the parameter tells the type checker:
    `PromptRepo[BlockingChannel]`. Configuration lives in the instance: give a Suite
    the class, or an instance. One instance serves all calls, at the same time.

    Class keywords, each generating one hook that can be written by hand instead:

    Args:
        prefix: what the names of its prompts begin with. Default: `""`, all names.
        cache_control: `("public" or "private", milliseconds or timedelta)`, what it
            contributes to the cache hints of `prompts/list`.
        requires: the client capabilities without which `get` cannot do, as
            `mcp.ClientCapabilities` or in wire form: `{"elicitation": {"form": {}}}`.
            A client that lacks one is answered with -32021.
        required_scopes: the scopes an access token must have for `get` and `complete`,
            besides those of the endpoint's `Authorization`. A request with a token that
            lacks one is answered with 403 and names them all.

    Raises:
        TypeError, ValueError: naming the class and the keyword.

    Spec: server/prompts
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_signatures(cls, _HOOKS)

    @abstractmethod
    def list_prompts(self, cursor: Any, channel: C) -> PromptPage | Awaitable[PromptPage]:
        """Return the prompts this caller may use, in a steady order.

        Either all of them, or a page of them and a cursor of your own for the next:
        any JSON value, `None` after the last page. It travels with the client,
        sealed, and comes back as `cursor` in another request, perhaps in another
        process; `cursor` is `None` for the first page. A long page is cut to the
        size the Suite wants, and then asked for again.

        What is listed may depend on who is calling, and must not depend on the
        connection or on what was called before.

        Spec: server/prompts#listing-prompts
        """

    def find_prompt(
        self, name: str, channel: C
    ) -> mcp.Prompt | Awaitable[mcp.Prompt | None] | None:
        """Return the prompt `name` as it is listed, or `None` if there is none.

        Asked before `get` and `complete`, which run only for a prompt that is found
        and, in `get`, whose required arguments are all there. The default is
        `search_list`; override it where one prompt is found faster, or where prompts
        exist that are not listed.
        """
        return self.search_list(name, cast("Channel", channel))

    async def search_list(self, name: str, channel: Channel) -> mcp.Prompt | None:
        """Return the prompt `name` from `list_prompts`, or `None` if it is not there.

        Looks at 100 pages. Beyond them it is taken to be there, with no arguments
        declared, and a warning is logged. For an `async def`, which has a `Channel`.
        """
        pages = prompt_list(self, self.prefix())
        cursor: Any = None
        for _ in range(MAX_SEARCHED_PAGES):
            prompts, cursor = await pages.fetch(cursor, channel)
            for prompt in prompts:
                if prompt.name == name:
                    return prompt
            if cursor is None:
                return None
        _log.warning(
            "%s: prompt %s is not on the first %d pages of list_prompts, and its arguments "
            "are not checked; override find_prompt",
            type(self).__qualname__,
            show(name),
            MAX_SEARCHED_PAGES,
        )
        return mcp.Prompt(name=name)

    @abstractmethod
    def get(
        self, name: str, arguments: dict[str, str], channel: C
    ) -> PromptReply | Awaitable[PromptReply]:
        """Return the messages of one prompt.

        Runs only when every argument that the prompt declares as required is there.
        Arguments it does not declare are handed on.

        Return a `GetPromptResult` (built with `mcp.get_prompt_result`) or a `str`;
        `InputRequired` to ask the client, whose answers are then in
        `channel.answers`; `Error` for a JSON-RPC error.

        Raises:
            NotFound: there is no such prompt. Wire form: -32602 with `data.name`.
            InvalidParams: an argument is wrong. Wire form: -32602.
            McpError: the answer is this JSON-RPC error.

        Any other exception is masked as -32603 with an error id and logged.

        Cancellation: when the client goes away, the next checkpoint raises
        `trio.Cancelled`.

        Spec: server/prompts#getting-a-prompt
        """

    def complete(
        self,
        name: str,
        argument: mcp.CompletionArgument,
        context: dict[str, str],
        channel: C,
    ) -> Suggestions | Awaitable[Suggestions]:
        """Suggest values for an argument that the user is typing, best first.

        Overriding it is what brings the `completions` capability. Of more than 100
        suggestions the first 100 go out, with the number of all. They are shown to
        whoever asks: suggest only what this caller may know.

        Args:
            name: the prompt's name.
            argument: the argument's `name`, and its `value` as typed so far.
            context: what the user has already chosen for other arguments.
            channel: the call's channel.

        Spec: server/utilities/completion
        """
        return ()

    def finder(self) -> Callable[..., Any]:
        """Return the hook to find a prompt with, for the suite.

        The default is no coroutine function, so as to let an override be either.
        """
        own = type(self).find_prompt is not PromptRepo.find_prompt
        return self.find_prompt if own else self.search_list

    def completes(self) -> bool:
        """See `Repo.completes`."""
        return type(self).complete is not PromptRepo.complete


PromptRepoSource: TypeAlias = PromptRepo[Any] | type[PromptRepo[Any]]
"""A repository of prompts, or its class, which is then made without arguments."""


def prompt_list(repo: PromptRepo[Any], prefix: str) -> RepoList[mcp.Prompt]:
    """Return the list that `repo` gives."""
    return RepoList(repo, prefix, repo.list_prompts, mcp.Prompt, lambda prompt: prompt.name)
