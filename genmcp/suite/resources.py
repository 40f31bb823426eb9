"""The resources page: lists resources and templates, and reads resources.

Layer: suite. Which repository a URI belongs to is `genmcp.suite.served_repo`'s.

Spec: server/resources
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import attrs

from genmcp.errors import CallbackReturnError, InvalidParams
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.v2607.caching import NO_TTL
from genmcp.outcome import Error, InputRequired
from genmcp.providers.cache_control import NO_CACHE, CacheHints
from genmcp.providers.hooks import run_hook
from genmcp.providers.resource_repo import ResourceRepo, find_uri_fault, resource_list
from genmcp.suite.client_capabilities import check_capabilities
from genmcp.suite.input_required import Conversation
from genmcp.suite.listing import cut_page, find_owner
from genmcp.suite.not_found import name_returned, naming, unknown_resource
from genmcp.suite.page import Answer, Page
from genmcp.suite.provider_source import ask_extension, make_provider
from genmcp.suite.repo_listing import RepoListing
from genmcp.suite.scopes import check_scopes, has_scopes
from genmcp.suite.served_repo import RepoRoutes, ServedRepo, find_in_group, serve_repo

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from genmcp.channel import Channel
    from genmcp.providers.extension import Extension
    from genmcp.providers.resource_repo import ResourceRepoSource
    from genmcp.suite.served_repo import Reach

_EXPECTED: Final = "a ReadResourceResult, str, bytes, InputRequired or Error"
_NOT_EMPTY: Final = (
    "a result with at least one entry, since clients take none for a resource that is "
    "not there; raise NotFound() for that, and return text='' for one that is empty"
)

ServedResources = ServedRepo[ResourceRepo[Any]]


class ResourcesPage(Page):
    """Serves the Suite's own resources, then those its extensions give this caller."""

    methods: ClassVar[frozenset[str]] = frozenset(
        {"resources/list", "resources/templates/list", "resources/read"}
    )

    def __init__(
        self,
        resources: Iterable[ResourceRepoSource],
        extensions: Iterable[Extension],
        *,
        page_size: int,
    ) -> None:
        own = [_serve(source) for source in resources]
        offering = [one for one in extensions if one.offers_resources()]
        self._routes = RepoRoutes(own, offering, _ask)
        self._page_size = page_size
        self.completes = self._routes.completes
        """Whether any variable of a template may be completed."""

    def offered(self) -> bool:
        """See `Page.offered`."""
        return bool(self._routes)

    def scopes(self) -> Iterable[str]:
        """See `Page.scopes`."""
        return self._routes.scopes()

    async def answer(self, request: mcp.Request, channel: Channel) -> Answer:
        """See `Page.answer`."""
        match request:
            case mcp.ListResourcesRequest():
                return await self._list(request, channel)
            case mcp.ListResourceTemplatesRequest():
                return await self._list_templates(request, channel)
            case _:
                return await self._read(cast("mcp.ReadResourceRequest", request), channel)

    async def find(self, uri: str, channel: Channel) -> ServedResources:
        """Return the repository that a URI, or a template as it is listed, belongs to.

        Raises:
            NotFound: there is none.
            InsufficientScope: the caller may have nothing from it.
        """
        served = await self._routes.find(uri, channel)
        if served is None:
            raise unknown_resource(uri)
        check_scopes(served.required_scopes, channel.caller)
        return served

    async def find_visible(self, uris: Sequence[str], channel: Channel) -> Collection[str]:
        """Return those of `uris` whose repository this caller reaches, and may read from.

        Extensions are asked only for what is none of the Suite's own.
        """
        found = {uri: find_in_group(self._routes.own, uri) for uri in uris}
        if None in found.values():
            reach = await self._routes.reach(channel)
            found = {uri: reach.find(uri) for uri in uris}
        return [
            uri
            for uri, served in found.items()
            if served is not None and has_scopes(served.required_scopes, channel.caller)
        ]

    async def _list(
        self, request: mcp.ListResourcesRequest, channel: Channel
    ) -> mcp.ListResourcesResult:
        reach = await self._routes.reach(channel)
        lists = [resource_list(served.repo, served.prefix) for served in reach.repos]
        listing = RepoListing(
            request.method, reach, lists, page_size=self._page_size, channel=channel
        )
        page, next_cursor = await listing.cut_page(request.params.cursor)
        return mcp.list_resources_result(
            page, next_cursor, cache_scope=reach.hints.scope, ttl_ms=reach.hints.ttl_ms
        )

    async def _list_templates(
        self, request: mcp.ListResourceTemplatesRequest, channel: Channel
    ) -> mcp.ListResourceTemplatesResult:
        reach = await self._routes.reach(channel)
        page, next_cursor = cut_page(
            request.method,
            list(_templates(reach)),
            request.params.cursor,
            key=lambda template: template.uri_template,
            page_size=self._page_size,
            keyring=channel.keyring,
            bound_to=find_owner(reach.hints.scope, channel.principal),
        )
        return mcp.list_resource_templates_result(
            page, next_cursor, cache_scope=reach.hints.scope, ttl_ms=reach.hints.ttl_ms
        )

    async def _read(self, request: mcp.ReadResourceRequest, channel: Channel) -> Answer:
        uri = request.params.uri
        fault = find_uri_fault(uri)
        if fault is not None:
            raise InvalidParams(f"params.uri must be {fault}", data={"uri": uri})
        served = await self.find(uri, channel)
        target = _parse_uri(served.repo, uri)
        conversation = Conversation(request.method, uri, None, channel)
        unanswered = conversation.resume(request.params)
        if unanswered is not None:
            return unanswered
        check_capabilities(served.requires, channel.client_capabilities)
        with naming(unknown_resource(uri)):
            answer = await run_hook(channel, served.repo.read, target, channel)
        match answer:
            case str() | bytes() | mcp.ReadResourceResult():
                result = _read_result(served, uri, answer)
                # Answers and state are no part of what a client caches by.
                return _with_hints(result, NO_CACHE) if _is_retry(request) else result
            case InputRequired():
                return conversation.ask(answer)
            case Error():
                return name_returned(answer, unknown_resource(uri))
            case _:
                raise CallbackReturnError(served.repo, "read", answer, _EXPECTED)


def _serve(source: object, *, per_caller: bool = False) -> ServedResources:
    # mypy takes no abstract class for a type[P].
    repo = make_provider(source, cast("type[ResourceRepo[Any]]", ResourceRepo))
    served = serve_repo(repo, per_caller=per_caller)
    template = repo.uri_template()
    if template is not None and not template.literal_prefix.startswith(served.prefix):
        raise ValueError(
            f"{type(repo).__qualname__}: the template {template.text!r} must begin with the "
            f"prefix {served.prefix!r}, or what it matches would be looked for elsewhere"
        )
    return served


async def _ask(extension: Extension, channel: Channel) -> Sequence[ServedResources]:
    given = await ask_extension(extension, "resources", channel)
    return [_serve(source, per_caller=True) for source in given]


def _templates(reach: Reach[ResourceRepo[Any]]) -> Iterable[mcp.ResourceTemplate]:
    for served in reach.repos:
        described, parsed = served.repo.described_template(), served.repo.uri_template()
        # What begins like this may belong to another repository.
        if described and parsed and reach.find(parsed.literal_prefix) is served:
            yield described


def _parse_uri(repo: ResourceRepo[Any], uri: str) -> str | Mapping[str, Any]:
    """Return what `read` gets for `uri`.

    Raises:
        NotFound: the repository says that it is none of its URIs.
        CallbackReturnError: it says something else.
    """
    with naming(unknown_resource(uri)):
        try:
            target = repo.parse_uri(uri)
        except ValueError:
            # Such as `int()` gives of what is no number.
            raise unknown_resource(uri) from None
    # The author may return what the types forbid.
    if not isinstance(target, str | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CallbackReturnError(repo, "parse_uri", target, "a URI, or variables by name")
    return target


def _is_retry(request: mcp.ReadResourceRequest) -> bool:
    params = request.params
    return params.request_state is not None or bool(params.input_responses)


def _read_result(
    served: ServedResources, uri: str, answer: str | bytes | mcp.ReadResourceResult
) -> mcp.ReadResourceResult:
    """Return the result, with the cache hints it goes out with."""
    result = answer if isinstance(answer, mcp.ReadResourceResult) else _alone(served, uri, answer)
    if not result.contents:
        raise CallbackReturnError(served.repo, "read", result, _NOT_EMPTY)
    own = CacheHints(result.cache_scope, result.ttl_ms)
    if result.ttl_ms is NO_TTL and own.scope == "private":
        return _with_hints(result, served.hints)
    return _with_hints(result, CacheHints("private", own.ttl_ms)) if served.per_caller else result


def _alone(served: ServedResources, uri: str, answer: str | bytes) -> mcp.ReadResourceResult:
    described = served.repo.described_template()
    mime_type = None if described is None else described.mime_type
    if isinstance(answer, str):
        return mcp.read_resource_result(uri=uri, text=answer, mime_type=mime_type)
    return mcp.read_resource_result(uri=uri, blob=answer, mime_type=mime_type)


def _with_hints(result: mcp.ReadResourceResult, hints: CacheHints) -> mcp.ReadResourceResult:
    return attrs.evolve(result, cache_scope=hints.scope, ttl_ms=hints.ttl_ms)
