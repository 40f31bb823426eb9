"""The event bus: where an application says that something has changed.

Layer: contract; pure. A *change* is one of the four notifications a client can listen
for, and travels on the bus as that notification. Anything may publish one: a tool, a
task, a thread, a signal handler. `genmcp.providers.event_subscriptions` is the
listener that tells clients; here is also what tells changes apart, and which of them a
filter asks for.

Spec: basic/patterns/subscriptions
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Collection, Container
from functools import partial
from typing import Final, TypeAlias

from genmcp.mcp import v2607 as mcp

_log = logging.getLogger("genmcp.event_bus")

Change: TypeAlias = (
    mcp.ToolListChangedNotification
    | mcp.PromptListChangedNotification
    | mcp.ResourceListChangedNotification
    | mcp.ResourceUpdatedNotification
)
"""What can change: one of three lists, or a resource."""

CHANGES: Final = (
    mcp.ToolListChangedNotification,
    mcp.PromptListChangedNotification,
    mcp.ResourceListChangedNotification,
    mcp.ResourceUpdatedNotification,
)
"""The classes of `Change`."""

ChangeKey: TypeAlias = tuple[str, str | None]
"""The method of a change and, for a resource, its URI. Equal keys say the same thing."""

Listener: TypeAlias = Callable[[Change], None]
"""Is called with each change, in whatever thread publishes it, and returns at once."""


class EventBus:
    """Takes changes from anywhere and hands each one to every listener.

    Publishing works from the event loop's thread or any other, before anything listens
    and after the event loop has ended. It takes no lock, waits for nothing, and raises
    nothing but what is said below. One bus may serve several suites. It reaches the
    listeners of its own process.
    """

    def __init__(self) -> None:
        # By what they want to hear; under None, those that want everything. The inner
        # dicts are replaced and never changed, so that publishing needs no lock.
        self._listeners: dict[ChangeKey | None, dict[object, Listener]] = {}
        self._attached: set[object] = set()
        self._attaching = threading.Lock()

    @property
    def listener_count(self) -> int:
        """How many listeners are attached."""
        return len(self._attached)

    def attach(
        self, listener: Listener, keys: Collection[ChangeKey] | None = None
    ) -> Callable[[], None]:
        """Have `listener` called with changes from now on; return what detaches it.

        What it raises is logged, and the other listeners still hear. The returned
        function may be called any number of times, from any thread; a publisher that
        is at work in another thread may still call the listener once.

        Args:
            listener: called in the thread that publishes.
            keys: the changes it wants to hear of; `None` for all. Publishing costs
                nothing for those who do not want to hear.
        """
        attachment = object()
        wanted: Collection[ChangeKey | None] = (None,) if keys is None else frozenset(keys)
        with self._attaching:
            self._attached.add(attachment)
            for key in wanted:
                self._listeners[key] = {**self._listeners.get(key, {}), attachment: listener}
        return partial(self._detach, attachment, wanted)

    def _detach(self, attachment: object, wanted: Collection[ChangeKey | None]) -> None:
        with self._attaching:
            if attachment not in self._attached:
                return
            self._attached.remove(attachment)
            for key in wanted:
                # In one step: a publisher must find the others at any time.
                left = {**self._listeners[key]}
                del left[attachment]
                if left:
                    self._listeners[key] = left
                else:
                    del self._listeners[key]

    # -- publishing --------------------------------------------------------------

    def tools_changed(self) -> None:
        """Say that the list of tools has changed."""
        self.publish(_TOOLS_CHANGED)

    def prompts_changed(self) -> None:
        """Say that the list of prompts has changed."""
        self.publish(_PROMPTS_CHANGED)

    def resources_changed(self) -> None:
        """Say that the list of resources has changed."""
        self.publish(_RESOURCES_CHANGED)

    def resource_updated(self, uri: str) -> None:
        """Say that the resource at `uri` reads differently now.

        Clients hear of the URIs they named, to the letter.

        Raises:
            TypeError: `uri` is not a `str`.
        """
        params = mcp.ResourceUpdatedNotificationParams(uri=uri)
        self.publish(mcp.ResourceUpdatedNotification(params=params))

    def publish(self, change: Change) -> None:
        """Hand a ready change to every listener.

        Raises:
            TypeError: it is none of the four.
        """
        if not isinstance(change, CHANGES):  # pyright: ignore[reportUnnecessaryIsInstance]
            names = ", ".join(cls.__name__ for cls in CHANGES)
            raise TypeError(f"a change is one of {names}; got {change!r}")
        for key in (None, read_key(change)):
            for listener in self._listeners.get(key, _NOBODY).values():
                try:
                    listener(change)
                except Exception:  # noqa: BLE001 - whatever it is, it is not the publisher's
                    _log.exception("a listener failed on %s", change.method)


_NOBODY: Final[dict[object, Listener]] = {}
_TOOLS_CHANGED: Final = mcp.ToolListChangedNotification()
_PROMPTS_CHANGED: Final = mcp.PromptListChangedNotification()
_RESOURCES_CHANGED: Final = mcp.ResourceListChangedNotification()


# -- what a filter asks for ------------------------------------------------------

TOOLS_KEY: Final[ChangeKey] = (mcp.ToolListChangedNotification.method, None)
PROMPTS_KEY: Final[ChangeKey] = (mcp.PromptListChangedNotification.method, None)
RESOURCES_KEY: Final[ChangeKey] = (mcp.ResourceListChangedNotification.method, None)


def resource_key(uri: str) -> ChangeKey:
    """Return the key of an update of the resource at `uri`."""
    return (mcp.ResourceUpdatedNotification.method, uri)


def read_key(change: Change) -> ChangeKey:
    """Return what a change says, whatever its `_meta` holds."""
    if isinstance(change, mcp.ResourceUpdatedNotification):
        return resource_key(change.params.uri)
    return (change.method, None)


def read_keys(wanted: mcp.SubscriptionFilter) -> frozenset[ChangeKey]:
    """Return the changes a filter asks for. Absent and false ask for nothing."""
    lists = _read_list_keys(
        bool(wanted.tools_list_changed),
        bool(wanted.prompts_list_changed),
        bool(wanted.resources_list_changed),
    )
    uris = wanted.resource_subscriptions
    return lists.union(map(resource_key, uris)) if uris else lists


@functools.cache
def _read_list_keys(*asked: bool) -> frozenset[ChangeKey]:
    # One for all streams that want the same.
    keys = zip((TOOLS_KEY, PROMPTS_KEY, RESOURCES_KEY), asked, strict=True)
    return frozenset(key for key, wanted in keys if wanted)


def narrow_filter(
    wanted: mcp.SubscriptionFilter, allowed: Container[ChangeKey]
) -> mcp.SubscriptionFilter:
    """Return what of `wanted` is also in `allowed`: each URI once, in the order given.

    What is not asked for is absent, so that an empty filter is written `{}`.
    """
    uris = dict.fromkeys(wanted.resource_subscriptions or ())
    return mcp.SubscriptionFilter(
        tools_list_changed=(wanted.tools_list_changed and TOOLS_KEY in allowed) or None,
        prompts_list_changed=(wanted.prompts_list_changed and PROMPTS_KEY in allowed) or None,
        resources_list_changed=(wanted.resources_list_changed and RESOURCES_KEY in allowed) or None,
        resource_subscriptions=[uri for uri in uris if resource_key(uri) in allowed] or None,
    )
