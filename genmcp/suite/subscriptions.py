"""The subscriptions page: opens listen streams and ends them in good order.

Layer: suite. Checks and narrows the client's filter, asks the subscription handler,
acknowledges, and feeds the handler what is posted to the stream. What a handler may
send is `genmcp.suite.listen_channel`'s matter.

Spec: basic/patterns/subscriptions
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, cast

import attrs

from genmcp.errors import CallbackReturnError, InvalidParams, MailboxFull, MethodNotFound
from genmcp.event_bus import (
    PROMPTS_KEY,
    RESOURCES_KEY,
    TOOLS_KEY,
    narrow_filter,
    resource_key,
)
from genmcp.mcp import v2607 as mcp
from genmcp.outcome import Error, Stream
from genmcp.providers.hooks import run_hook
from genmcp.providers.subscription_handler import (
    Listening,
    SubscriptionCapabilities,
    SubscriptionHandler,
)
from genmcp.suite.listen_channel import ListenChannel
from genmcp.suite.page import Answer, Page
from genmcp.suite.provider_source import make_provider
from genmcp.value import Value

if TYPE_CHECKING:
    from genmcp.access import Access
    from genmcp.channel import Channel
    from genmcp.event_bus import ChangeKey

Handler: TypeAlias = SubscriptionHandler[Any]

FindVisible: TypeAlias = Callable[[Sequence[str], "Channel"], Awaitable[Collection[str]]]
"""Returns which of these URIs the caller can see."""

_OPEN: Final = object()
"""The message that has a stream opened if nothing else was posted to it."""


@attrs.frozen(eq=False, repr=False)
class ListenStream(Value):
    """The state of a listen stream: its channel, and the handler's own state."""

    channel: ListenChannel
    state: Any


class SubscriptionsPage(Page):
    """Answers `subscriptions/listen` with what a handler serves.

    Args:
        handler: as the Suite was given it; `None` serves nothing.
        configured: what the Suite has providers for. Changes of what it does not
            serve are neither advertised nor served.
        find_visible: tells which URIs a caller can see; others are not accepted.

    Raises:
        TypeError: not a subscription handler, or a class that cannot be made without
            arguments.
    """

    methods: ClassVar[frozenset[str]] = frozenset({"subscriptions/listen"})

    def __init__(
        self,
        handler: Handler | type[Handler] | None,
        configured: mcp.ServerCapabilities,
        find_visible: FindVisible,
    ) -> None:
        self._handler = None if handler is None else _make_handler(handler)
        self._configured = configured
        self._find_visible = find_visible

    def offered(self) -> bool:
        """See `Page.offered`: there is a handler, and something it may tell of."""
        configured = self._configured
        families = (configured.tools, configured.prompts, configured.resources)
        return self._handler is not None and any(one is not None for one in families)

    async def find_capabilities(self, channel: Channel) -> SubscriptionCapabilities:
        """Return what this caller can listen for.

        Raises:
            CallbackReturnError: the handler's fault, for masking.
        """
        if self._handler is None:
            return SubscriptionCapabilities()
        given: Any = self._handler.subscription_capabilities(channel)
        if isinstance(given, Awaitable):
            given = await cast("Awaitable[Any]", given)
        if not isinstance(given, SubscriptionCapabilities):
            expected = "a SubscriptionCapabilities"
            raise CallbackReturnError(self._handler, "subscription_capabilities", given, expected)
        has_resources = self._configured.resources is not None
        return SubscriptionCapabilities(
            tools_list_changed=given.tools_list_changed and self._configured.tools is not None,
            prompts_list_changed=given.prompts_list_changed
            and self._configured.prompts is not None,
            resources_list_changed=given.resources_list_changed and has_resources,
            resource_updated=given.resource_updated and has_resources,
        )

    # -- one stream --------------------------------------------------------------

    async def answer(self, request: mcp.Request, channel: Channel) -> Answer:
        """See `Page.answer`."""
        handler = self._get_handler()
        wanted = cast("mcp.SubscriptionsListenRequest", request).params.notifications
        capabilities = await self.find_capabilities(channel)
        if not capabilities:
            raise MethodNotFound("Method not found: this server has no changes to listen for")
        _check_limits(wanted, handler)
        offered = await self._narrow(wanted, capabilities, channel)
        listen = ListenChannel(channel, offered)
        answer = await run_hook(listen, handler.subscribe, offered, listen)
        # From here to the return nothing awaits: the handler may have attached to
        # something, and it is a returned Stream that has handle_close run, always.
        if isinstance(answer, Error):
            return answer
        listening = _read_listening(handler, answer)
        if listening.accepted is not None:
            listen.narrow(listening.accepted)
        max_age_seconds = _find_max_age(listening, channel.access)
        if max_age_seconds is not None:
            listen.close_after(max_age_seconds)
        _post_open(channel)
        return Stream(ListenStream(listen, listening.state))

    async def handle_message(self, message: object, channel: Channel, state: Any) -> Answer:
        """See `Page.handle_message`. Whatever comes first opens the stream."""
        stream: ListenStream = state
        listen = stream.channel
        await listen.open()
        if message is _OPEN:
            return Stream(stream)
        handler = self._get_handler()
        answer = await run_hook(listen, handler.handle_message, message, listen, stream.state)
        match answer:
            case Stream():
                new_state = cast("Stream[Any]", answer).state
                return Stream(attrs.evolve(stream, state=new_state))
            case None:
                return make_listen_result(channel)
            case _:
                expected = "a Stream to go on, or None to end the subscription"
                raise CallbackReturnError(handler, "handle_message", answer, expected)

    async def handle_close(self, channel: Channel, state: Any) -> None:
        """See `Page.handle_close`."""
        stream: ListenStream = state
        listen = stream.channel
        await run_hook(listen, self._get_handler().handle_close, listen, stream.state)

    # -- inside ------------------------------------------------------------------

    def _get_handler(self) -> Handler:
        assert self._handler is not None, "without one the page is not offered"
        return self._handler

    async def _narrow(
        self,
        wanted: mcp.SubscriptionFilter,
        capabilities: SubscriptionCapabilities,
        channel: Channel,
    ) -> mcp.SubscriptionFilter:
        """Return what of `wanted` is supported, and visible to the caller."""
        allowed: set[ChangeKey] = set()
        if capabilities.tools_list_changed:
            allowed.add(TOOLS_KEY)
        if capabilities.prompts_list_changed:
            allowed.add(PROMPTS_KEY)
        if capabilities.resources_list_changed:
            allowed.add(RESOURCES_KEY)
        if capabilities.resource_updated and wanted.resource_subscriptions:
            visible = await self._find_visible(wanted.resource_subscriptions, channel)
            allowed.update(map(resource_key, visible))
        return narrow_filter(wanted, allowed)


def make_listen_result(channel: Channel) -> mcp.SubscriptionsListenResult:
    """Return what a listen stream ends with, whoever ends it on the server's side.

    Spec: basic/patterns/subscriptions#graceful-closure
    """
    return mcp.SubscriptionsListenResult(
        meta=mcp.SubscriptionsListenResultMetaObject(subscription_id=channel.request_id)
    )


def _make_handler(source: object) -> Handler:
    # mypy takes no abstract class for a type[P].
    return make_provider(source, cast("type[Handler]", SubscriptionHandler))


def _check_limits(wanted: mcp.SubscriptionFilter, handler: Handler) -> None:
    """Refuse a filter that would take more memory than a stream may."""
    uris = wanted.resource_subscriptions or ()
    if len(uris) > handler.max_uris:
        raise _refuse_uris(f"at most {handler.max_uris} URIs are allowed, got {len(uris)}")
    for index, uri in enumerate(uris):
        if len(uri) > handler.max_uri_chars:
            raise _refuse_uris(
                f"a URI may have at most {handler.max_uri_chars} characters, got {len(uri)}",
                f"[{index}]",
            )


def _refuse_uris(problem: str, index: str = "") -> InvalidParams:
    path = f"params.notifications.resourceSubscriptions{index}"
    return InvalidParams(f"{path}: {problem}", data={"path": path})


def _read_listening(handler: Handler, answer: object) -> Listening[Any]:
    match answer:
        case Listening():
            return cast("Listening[Any]", answer)
        case Stream():
            return Listening(cast("Stream[Any]", answer).state)
        case _:
            expected = "a Stream, Listening or Error"
            raise CallbackReturnError(handler, "subscribe", answer, expected)


def _find_max_age(listening: Listening[Any], access: Access | None) -> float | None:
    """Return how long the stream may live: no longer than the token it was opened with.

    A token is looked at when a request begins, and this one would never end.
    """
    limits = [] if listening.max_age_seconds is None else [listening.max_age_seconds]
    left = None if access is None else access.find_seconds_left(time.time())
    if left is not None:
        limits.append(max(0.0, left))
    return min(limits, default=None)


def _post_open(channel: Channel) -> None:
    # Where it is full, there is a message that opens the stream just as well.
    with contextlib.suppress(MailboxFull):
        channel.post(_OPEN)
