"""Contract checks for the author's own repositories.

Layer: testing. As `genmcp.testing.checks` for tools. The checks call the hooks through
a Suite, without HTTP, so that what a hook raises is seen as it is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import trio

from genmcp.errors import NotFound
from genmcp.mcp import v2607 as mcp
from genmcp.outcome import Error
from genmcp.suite import Suite
from genmcp.testing.answering import ASKS_ANYTHING
from genmcp.testing.fake_channel import FakeChannel
from genmcp.testing.requests import fake_caller, fake_request
from genmcp.wire.codec import decode, encode
from genmcp.wire.json_text import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from genmcp.caller import Caller
    from genmcp.providers.prompt_repo import PromptRepoSource
    from genmcp.providers.resource_repo import ResourceRepoSource

_NOWHERE: Final = "no-such-thing"


def check_prompt_repo(
    repo: PromptRepoSource,
    examples: Sequence[tuple[str, Mapping[str, str]]] = (),
    *,
    caller: Caller | None = None,
) -> list[mcp.GetPromptResult | mcp.InputRequiredResult]:
    """Check that a repository of prompts keeps its contract.

    It lists the same prompts twice, and however its pages are cut, each once and each
    with a description; what it says survives the wire; a prompt that requires nothing
    is given, and one that it does not have is not found; its suggestions have the form
    they must have; and every one of `examples`, a name and arguments, is answered.

    For a plain test: it runs trio.

    Returns:
        The answers to the examples.

    Raises:
        AssertionError: naming the class and what to do.
        Exception: what a hook raised.
    """

    async def check() -> list[mcp.GetPromptResult | mcp.InputRequiredResult]:
        bench = _Bench("prompts", repo, caller)
        prompts: list[mcp.Prompt] = await bench.list_alike(mcp.ListPromptsRequest, "name")
        for prompt in prompts:
            await _check_prompt(bench, prompt)
        missing = bench.prefix + _NOWHERE
        await bench.check_missing(_get_prompt(missing), missing)
        return [await bench.ask(_get_prompt(name, arguments)) for name, arguments in examples]

    return trio.run(check)


def check_resource_repo(
    repo: ResourceRepoSource,
    examples: Sequence[str] = (),
    *,
    missing: str | None = "",
    caller: Caller | None = None,
) -> list[mcp.ReadResourceResult | mcp.InputRequiredResult]:
    """Check that a repository of resources keeps its contract.

    It lists the same resources twice, and however its pages are cut, each once; what
    it says survives the wire; everything listed can be read, and what does not exist
    is not found; its suggestions have the form they must have; and every one of
    `examples`, a URI, is read.

    For a plain test: it runs trio.

    Args:
        repo: the repository.
        examples: URIs that exist.
        missing: a URI that does not; by default one is made up, from the template if
            there is one. `None` if there is none: every URI with the prefix exists.
        caller: who calls.

    Returns:
        The answers to the examples.

    Raises:
        AssertionError: naming the class and what to do.
        Exception: what a hook raised.
    """

    async def check() -> list[mcp.ReadResourceResult | mcp.InputRequiredResult]:
        bench = _Bench("resources", repo, caller)
        resources: list[mcp.Resource] = await bench.list_alike(mcp.ListResourcesRequest, "uri")
        for resource in resources:
            await bench.ask(_read_resource(resource.uri))
        templates: list[mcp.ResourceTemplate] = await bench.list_alike(
            mcp.ListResourceTemplatesRequest, "uri_template"
        )
        for template in templates:
            await _check_template(bench, template)
        nowhere = _make_up(bench, templates) if missing == "" else missing
        if nowhere is not None:
            await bench.check_missing(_read_resource(nowhere), nowhere)
        return [await bench.ask(_read_resource(uri)) for uri in examples]

    return trio.run(check)


class _Bench:
    """A suite of one repository, and the caller that checks it."""

    def __init__(self, kind: str, repo: Any, caller: Caller | None) -> None:
        source = repo() if isinstance(repo, type) else repo
        self.owner = type(source).__qualname__
        self.repo: Any = source
        self.prefix: str = source.prefix()
        options: Any = {kind: [source]}
        self._suites = {
            size: Suite(server_name="check", server_version="0", page_size=size, **options)
            for size in (1, 250)
        }
        self._channel = FakeChannel(
            fake_caller(client_capabilities=ASKS_ANYTHING) if caller is None else caller
        )

    async def ask(self, request: mcp.Request, page_size: int = 250) -> Any:
        """Return the answer, which must be a result that survives the wire."""
        answer = await self._suites[page_size].handle_request(request, self._channel)
        assert isinstance(answer, mcp.Result), f"{self.owner}: {request!r} gave {answer!r}"
        again = decode(type(answer), read_json(write_json(encode(answer))))
        assert again == answer, f"{self.owner}: what it says changes on the wire: {again!r}"
        return answer

    async def list_alike(self, kind: Any, key: str) -> list[Any]:
        """Return the whole list, which must not depend on when and how it is asked for."""
        first, again = await self._list(kind, 250), await self._list(kind, 250)
        assert first == again, f"{self.owner}: two listings differ: {first!r} and {again!r}"
        single = await self._list(kind, 1)
        assert first == single, f"{self.owner}: the list differs in pages of one: {single!r}"
        names = [getattr(item, key) for item in first]
        repeated = sorted({name for name in names if names.count(name) > 1})
        assert not repeated, f"{self.owner}: listed more than once: {', '.join(repeated)}"
        return first

    async def _list(self, kind: Any, page_size: int) -> list[Any]:
        items: list[Any] = []
        cursor: str | None = None
        while True:
            params = mcp.PaginatedRequestParams(meta=_META, cursor=cursor)
            page = await self.ask(kind(params=params), page_size)
            items += getattr(page, _ITEMS[kind])
            cursor = page.next_cursor
            if cursor is None:
                return items

    async def check_missing(self, request: mcp.Request, missing: str) -> None:
        """Check that what does not exist is not found."""
        try:
            answer: Any = await self._suites[250].handle_request(request, self._channel)
        except NotFound:
            return
        if isinstance(answer, Error) and isinstance(answer.error, NotFound):
            return
        raise AssertionError(
            f"{self.owner}: {missing!r} was answered with {answer!r}; raise NotFound() for "
            "what does not exist"
        )

    async def complete(self, ref: Any, name: str) -> None:
        """Check the suggestions for an argument of which nothing is typed yet."""
        if self.repo.completes():
            argument = mcp.CompletionArgument(name=name, value="")
            params = mcp.CompleteRequestParams(meta=_META, ref=ref, argument=argument)
            await self.ask(mcp.CompleteRequest(params=params))


_META: Final = fake_request().params.meta
_ITEMS: Final[Mapping[Any, str]] = {
    mcp.ListPromptsRequest: "prompts",
    mcp.ListResourcesRequest: "resources",
    mcp.ListResourceTemplatesRequest: "resource_templates",
}


async def _check_prompt(bench: _Bench, prompt: mcp.Prompt) -> None:
    assert prompt.description, (
        f"{bench.owner}: people choose prompts by their description; {prompt.name!r} has none"
    )
    arguments = prompt.arguments or ()
    names = [argument.name for argument in arguments]
    assert len(names) == len(set(names)), (
        f"{bench.owner}: {prompt.name!r} declares an argument twice: {', '.join(names)}"
    )
    if not any(argument.required for argument in arguments):
        await bench.ask(_get_prompt(prompt.name))
    for name in names:
        await bench.complete(mcp.PromptReference(name=prompt.name), name)


async def _check_template(bench: _Bench, template: mcp.ResourceTemplate) -> None:
    for name in bench.repo.uri_template().names:
        await bench.complete(mcp.ResourceTemplateReference(uri=template.uri_template), name)


def _make_up(bench: _Bench, templates: Sequence[mcp.ResourceTemplate]) -> str:
    if not templates:
        prefix = bench.prefix if ":" in bench.prefix else f"{_NOWHERE}:"
        return prefix + _NOWHERE
    parsed = bench.repo.uri_template()
    try:
        made: str = parsed.expand(dict.fromkeys(parsed.names, _NOWHERE))
    except (TypeError, ValueError):
        # A variable wants a list, or something else than a word.
        return bench.prefix + _NOWHERE
    return made


def _get_prompt(name: str, arguments: Mapping[str, str] | None = None) -> mcp.Request:
    params = mcp.GetPromptRequestParams(meta=_META, name=name, arguments=dict(arguments or {}))
    return mcp.GetPromptRequest(params=params)


def _read_resource(uri: str) -> mcp.Request:
    return mcp.ReadResourceRequest(params=mcp.ReadResourceRequestParams(meta=_META, uri=uri))
