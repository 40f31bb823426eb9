"""The completion page: suggests values while a user types.

Layer: suite. The repositories are found as `genmcp.suite.prompts` and
`genmcp.suite.resources` find them.

Spec: server/utilities/completion
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from genmcp.errors import CallbackReturnError, InvalidParams
from genmcp.mcp import v2607 as mcp
from genmcp.providers.hooks import run_hook
from genmcp.suite.not_found import naming, shorten_name, unknown_prompt, unknown_resource
from genmcp.suite.page import Answer, Page

if TYPE_CHECKING:
    from genmcp.channel import Channel
    from genmcp.suite.prompts import PromptsPage
    from genmcp.suite.resources import ResourcesPage
    from genmcp.suite.served_repo import ServedRepo

_EXPECTED: Final = "a list of str, or an mcp.Completion"


class CompletionPage(Page):
    """Has the prompts' and the resources' repositories suggest values."""

    methods: ClassVar[frozenset[str]] = frozenset({"completion/complete"})

    def __init__(self, prompts: PromptsPage, resources: ResourcesPage) -> None:
        self._prompts = prompts
        self._resources = resources

    def offered(self) -> bool:
        """See `Page.offered`. True if any repository has a `complete` of its own."""
        return self._prompts.completes or self._resources.completes

    async def answer(self, request: mcp.Request, channel: Channel) -> Answer:
        """See `Page.answer`."""
        params = cast("mcp.CompleteRequest", request).params
        context = {} if params.context is None else dict(params.context.arguments or {})
        match params.ref:
            case mcp.PromptReference(name=name):
                completion = await self._complete_prompt(name, params.argument, context, channel)
            case mcp.ResourceTemplateReference(uri=uri):
                completion = await self._complete_uri(uri, params.argument, context, channel)
        return mcp.CompleteResult(completion=completion)

    async def _complete_prompt(
        self,
        name: str,
        argument: mcp.CompletionArgument,
        context: dict[str, str],
        channel: Channel,
    ) -> mcp.Completion:
        served = await self._prompts.find_repo(name, channel)
        _check_rate(channel, "prompts", served)
        prompt = await self._prompts.find_prompt(served, name, channel)
        if prompt.arguments is not None:
            declared = [one.name for one in prompt.arguments]
            _check_name(f"prompt {shorten_name(name)!r}", "argument", argument.name, declared)
        repo = served.repo
        with naming(unknown_prompt(name)):
            answer = await run_hook(channel, repo.complete, name, argument, context, channel)
        return _read_suggestions(repo, answer)

    async def _complete_uri(
        self,
        uri: str,
        argument: mcp.CompletionArgument,
        context: dict[str, str],
        channel: Channel,
    ) -> mcp.Completion:
        served = await self._resources.find(uri, channel)
        _check_rate(channel, "resources", served)
        repo = served.repo
        template = repo.uri_template()
        if template is not None:
            _check_name(f"template {template.text!r}", "variable", argument.name, template.names)
        with naming(unknown_resource(uri)):
            answer = await run_hook(channel, repo.complete, argument, context, channel)
        return _read_suggestions(repo, answer)


def _check_rate(channel: Channel, kind: str, served: ServedRepo[Any]) -> None:
    """Count one more request for suggestions, before the repository hears of it.

    By repository: a client can make up URIs, and names of prompts, without end.

    Spec: server/utilities/completion#security
    """
    channel.check_rate(mcp.CompleteRequest.method, f"{kind} {served.prefix!r}")


def _check_name(where: str, what: str, name: str, declared: Collection[str]) -> None:
    if name not in declared:
        valid = ", ".join(declared) or "none"
        raise InvalidParams(f'{where} has no {what} "{shorten_name(name)}"; it has: {valid}')


def _read_suggestions(repo: object, answer: Any) -> mcp.Completion:
    """Return what a `complete` hook gave, cut to what the protocol allows.

    Raises:
        CallbackReturnError: it gave something else.
    """
    if isinstance(answer, mcp.Completion):
        return answer
    if isinstance(answer, str | bytes) or not isinstance(answer, Sequence):
        raise CallbackReturnError(repo, "complete", answer, _EXPECTED)
    values = cast("Sequence[Any]", answer)
    for value in values:
        if not isinstance(value, str):
            raise CallbackReturnError(repo, "complete", value, _EXPECTED)
    most = mcp.MAX_COMPLETION_VALUES
    return mcp.Completion(values=values[:most], total=len(values), has_more=len(values) > most)
