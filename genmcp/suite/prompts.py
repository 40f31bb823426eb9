"""The prompts page: lists prompts, and has them filled in.

Layer: suite. Which repository a prompt belongs to is `genmcp.suite.served_repo`'s.

Spec: server/prompts
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import attrs

from genmcp.errors import CallbackReturnError, InvalidParams, NotFound
from genmcp.mcp import v2607 as mcp
from genmcp.outcome import Error, InputRequired
from genmcp.providers.hooks import run_hook
from genmcp.providers.prompt_repo import PromptRepo, prompt_list
from genmcp.providers.resource_repo import find_uri_fault
from genmcp.suite.client_capabilities import check_capabilities
from genmcp.suite.input_required import Conversation
from genmcp.suite.not_found import name_returned, naming, shorten_name, unknown_prompt
from genmcp.suite.page import Answer, Page
from genmcp.suite.provider_source import ask_extension, make_provider
from genmcp.suite.repo_listing import RepoListing
from genmcp.suite.scopes import check_scopes
from genmcp.suite.served_repo import RepoRoutes, ServedRepo, serve_repo

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from genmcp.channel import Channel
    from genmcp.providers.extension import Extension
    from genmcp.providers.prompt_repo import PromptRepoSource

_EXPECTED: Final = "a GetPromptResult, str, InputRequired or Error"

ServedPrompts = ServedRepo[PromptRepo[Any]]


class PromptsPage(Page):
    """Serves the Suite's own prompts, then those its extensions give this caller."""

    methods: ClassVar[frozenset[str]] = frozenset({"prompts/list", "prompts/get"})

    def __init__(
        self,
        prompts: Iterable[PromptRepoSource],
        extensions: Iterable[Extension],
        *,
        page_size: int,
    ) -> None:
        own = [_serve(source) for source in prompts]
        offering = [one for one in extensions if one.offers_prompts()]
        self._routes = RepoRoutes(own, offering, _ask)
        self._page_size = page_size
        self.completes = self._routes.completes
        """Whether any argument of a prompt may be completed."""

    def offered(self) -> bool:
        """See `Page.offered`."""
        return bool(self._routes)

    def scopes(self) -> Iterable[str]:
        """See `Page.scopes`."""
        return self._routes.scopes()

    async def answer(self, request: mcp.Request, channel: Channel) -> Answer:
        """See `Page.answer`."""
        if isinstance(request, mcp.ListPromptsRequest):
            return await self._list(request, channel)
        return await self._get(cast("mcp.GetPromptRequest", request), channel)

    async def find_repo(self, name: str, channel: Channel) -> ServedPrompts:
        """Return the repository that a prompt of this name would belong to.

        Raises:
            NotFound: there is none.
            InsufficientScope: the caller may have nothing from it.
        """
        served = await self._routes.find(name, channel)
        if served is None:
            raise unknown_prompt(name)
        check_scopes(served.required_scopes, channel.caller)
        return served

    async def find_prompt(self, served: ServedPrompts, name: str, channel: Channel) -> mcp.Prompt:
        """Return what a repository declares of a prompt.

        Raises:
            NotFound: there is no such prompt.
            CallbackReturnError: `find_prompt` gave something else.
        """
        repo = served.repo
        with naming(unknown_prompt(name)):
            prompt = await run_hook(channel, repo.finder(), name, channel)
        if prompt is None:
            raise unknown_prompt(name)
        if not isinstance(prompt, mcp.Prompt):
            raise CallbackReturnError(repo, "find_prompt", prompt, "an mcp.Prompt or None")
        return prompt

    async def _list(
        self, request: mcp.ListPromptsRequest, channel: Channel
    ) -> mcp.ListPromptsResult:
        reach = await self._routes.reach(channel)
        lists = [prompt_list(served.repo, served.prefix) for served in reach.repos]
        listing = RepoListing(
            request.method, reach, lists, page_size=self._page_size, channel=channel
        )
        page, next_cursor = await listing.cut_page(request.params.cursor)
        return mcp.list_prompts_result(
            page, next_cursor, cache_scope=reach.hints.scope, ttl_ms=reach.hints.ttl_ms
        )

    async def _get(self, request: mcp.GetPromptRequest, channel: Channel) -> Answer:
        name, arguments = request.params.name, dict(request.params.arguments)
        served = await self.find_repo(name, channel)
        prompt = await self.find_prompt(served, name, channel)
        _check_arguments(prompt, arguments)
        conversation = Conversation(request.method, name, arguments, channel)
        unanswered = conversation.resume(request.params)
        if unanswered is not None:
            return unanswered
        check_capabilities(served.requires, channel.client_capabilities)
        with _noting(name, channel), naming(unknown_prompt(name)):
            answer = await run_hook(channel, served.repo.get, name, arguments, channel)
        match answer:
            case str():
                return mcp.get_prompt_result(text=answer)
            case mcp.GetPromptResult():
                _check_uris(served.repo, answer)
                return _with_media_types(answer)
            case InputRequired():
                return conversation.ask(answer)
            case Error():
                if isinstance(answer.reason, NotFound):
                    channel.notes.served_target = None
                return name_returned(answer, unknown_prompt(name))
            case _:
                raise CallbackReturnError(served.repo, "get", answer, _EXPECTED)


def _serve(source: object, *, per_caller: bool = False) -> ServedPrompts:
    # mypy takes no abstract class for a type[P].
    repo = make_provider(source, cast("type[PromptRepo[Any]]", PromptRepo))
    return serve_repo(repo, per_caller=per_caller)


async def _ask(extension: Extension, channel: Channel) -> Sequence[ServedPrompts]:
    given = await ask_extension(extension, "prompts", channel)
    return [_serve(source, per_caller=True) for source in given]


@contextmanager
def _noting(name: str, channel: Channel) -> Generator[None]:
    """Note that there is a prompt `name`, unless its repository now says that there is not.

    It may have none: a list that is too long to be searched is taken to have any name.
    """
    channel.notes.served_target = name
    try:
        yield
    except NotFound:
        channel.notes.served_target = None
        raise


def _check_arguments(prompt: mcp.Prompt, given: Mapping[str, str]) -> None:
    """Refuse a request without an argument that the prompt declares as required.

    Raises:
        InvalidParams: naming the arguments. Wire form: -32602.
    """
    missing = [
        argument.name
        for argument in prompt.arguments or ()
        if argument.required and argument.name not in given
    ]
    if missing:
        names = ", ".join(f'"{name}"' for name in missing)
        plural = "s" if len(missing) > 1 else ""
        raise InvalidParams(
            f"prompt {shorten_name(prompt.name)!r}: missing required argument{plural} {names}",
            data={"name": prompt.name, "missing": missing},
        )


def _check_uris(repo: PromptRepo[Any], result: mcp.GetPromptResult) -> None:
    """Refuse a message that embeds or links what has no URI, as prompts must not.

    Raises:
        CallbackReturnError: naming the repository and the URI.

    Spec: server/prompts#embedded-resources
    """
    for message in result.messages:
        match message.content:
            case mcp.EmbeddedResource(resource=resource):
                uri = resource.uri
            case mcp.ResourceLink(uri=uri):
                pass
            case _:
                continue
        fault = find_uri_fault(uri)
        if fault is not None:
            raise CallbackReturnError(repo, "get", uri, f"resources with {fault}")


def _with_media_types(result: mcp.GetPromptResult) -> mcp.GetPromptResult:
    """Give embedded resources that say none a media type, as prompts must have it.

    Spec: server/prompts#embedded-resources
    """
    messages = [_with_media_type(message) for message in result.messages]
    return attrs.evolve(result, messages=messages)


def _with_media_type(message: mcp.PromptMessage) -> mcp.PromptMessage:
    match message.content:
        case mcp.EmbeddedResource(resource=mcp.TextResourceContents(mime_type=None)):
            mime_type = "text/plain"
        case mcp.EmbeddedResource(resource=mcp.BlobResourceContents(mime_type=None)):
            mime_type = "application/octet-stream"
        case _:
            return message
    resource = attrs.evolve(message.content.resource, mime_type=mime_type)
    return attrs.evolve(message, content=attrs.evolve(message.content, resource=resource))
