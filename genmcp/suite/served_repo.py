"""Repositories as the Suite serves them, and which of them serves a name.

Layer: suite. A name (of a prompt) or a URI (of a resource) belongs to the first
repository that claims it: among the Suite's own the one with the longest fitting
prefix, then that of each extension in order. What belongs to a repository is its to
answer, "not found" included, and a list shows only what belongs to the repository
that lists it: what is listed can be had.

Spec: server/prompts, server/resources
"""

from __future__ import annotations

import itertools
import logging
from typing import TYPE_CHECKING, Any, Generic

import attrs
from typing_extensions import TypeVar

from genmcp.errors import say_whose
from genmcp.providers.cache_control import CacheHints, combine_hints, read_cache_control
from genmcp.providers.repo import Repo, check_prefix
from genmcp.suite.scopes import ask_scopes
from genmcp.value import Value
from genmcp.wire.codec import encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from genmcp.channel import Channel
    from genmcp.providers.extension import Extension

_log = logging.getLogger("genmcp.suite")

R = TypeVar("R", bound=Repo[Any], default=Repo[Any])


@attrs.frozen(eq=False)
class ServedRepo(Generic[R]):
    """A repository, with everything that can be known before a request.

    Attributes:
        repo: the author's instance.
        prefix: what all it serves begins with.
        hints: its cache hints.
        requires: the client capabilities it cannot do without, in wire form.
        required_scopes: the scopes without which nothing is given from it.
        per_caller: whether it was given by an extension, for this caller only.
    """

    repo: R
    prefix: str
    hints: CacheHints
    requires: Mapping[str, Any]
    required_scopes: frozenset[str]
    per_caller: bool

    @property
    def owner(self) -> str:
        """The class, for messages."""
        cls = type(self.repo)
        return f"{cls.__module__}.{cls.__qualname__}"


def serve_repo(repo: R, *, per_caller: bool) -> ServedRepo[R]:
    """Ask a repository what can be known before a request.

    Raises:
        TypeError, ValueError: a hook gives what the protocol does not take; names the
            class.
    """
    cls = type(repo)
    prefix = check_prefix(cls, repo.prefix())
    try:
        hints = read_cache_control(repo.cache_control())
    except (TypeError, ValueError) as error:
        raise say_whose(f"{cls.__qualname__}: cache_control", error) from error
    if per_caller:
        # What depends on the caller must not be shared between callers.
        hints = CacheHints("private", hints.ttl_ms)
    scopes = ask_scopes(cls.__qualname__, repo.required_scopes())
    return ServedRepo(repo, prefix, hints, encode(repo.requires()), scopes, per_caller)


def check_overlap(served: Sequence[ServedRepo[Any]]) -> None:
    """Refuse repositories that would serve the same names.

    Raises:
        ValueError: the prefix of one begins with that of another; names both classes.
    """
    for one, other in itertools.combinations(served, 2):
        shorter, longer = sorted((one, other), key=lambda repo: len(repo.prefix))
        if longer.prefix.startswith(shorter.prefix):
            raise ValueError(
                f"{one.owner} (prefix {one.prefix!r}) and {other.owner} (prefix "
                f"{other.prefix!r}) both serve what begins with {longer.prefix!r}; give "
                "them prefixes of which none begins with the other"
            )


@attrs.frozen(eq=False, repr=False)
class Reach(Value, Generic[R]):
    """All repositories that one caller reaches.

    Attributes:
        groups: the Suite's own repositories, then those of each extension.
    """

    groups: Sequence[Sequence[ServedRepo[R]]]

    def find(self, name: str) -> ServedRepo[R] | None:
        """Return the repository that `name` belongs to."""
        for group in self.groups:
            found = find_in_group(group, name)
            if found is not None:
                return found
        return None

    @property
    def repos(self) -> list[ServedRepo[R]]:
        """The repositories that anything belongs to, in the order they are listed."""
        return [
            served
            for group in self.groups
            for served in group
            if self.find(served.prefix) is served
        ]

    @property
    def hidden(self) -> list[tuple[ServedRepo[R], ServedRepo[R]]]:
        """The repositories that nothing belongs to, each with the one that claims it."""
        return [
            (served, claims)
            for group in self.groups
            for served in group
            if (claims := self.find(served.prefix)) is not None and claims is not served
        ]

    @property
    def hints(self) -> CacheHints:
        """The cache hints of every page of a list."""
        hints = combine_hints(served.hints for served in self.repos)
        # Also an extension that gives this caller nothing may give another something.
        return CacheHints("private", hints.ttl_ms) if len(self.groups) > 1 else hints


def find_in_group(group: Sequence[ServedRepo[R]], name: str) -> ServedRepo[R] | None:
    """Return the repository with the longest prefix of `name`, the first of equal ones."""
    fitting = [served for served in group if name.startswith(served.prefix)]
    return max(fitting, key=lambda served: len(served.prefix), default=None)


class RepoRoutes(Generic[R]):
    """Finds repositories of one kind: the Suite's own, then those of its extensions.

    Args:
        own: the Suite's own repositories.
        extensions: those that may give some of this kind.
        ask: asks one extension for them.

    Raises:
        ValueError: two of the Suite's own serve the same names.
    """

    def __init__(
        self,
        own: Sequence[ServedRepo[R]],
        extensions: Sequence[Extension],
        ask: Callable[[Extension, Channel], Awaitable[Sequence[ServedRepo[R]]]],
    ) -> None:
        check_overlap(own)
        self.own = own
        self._extensions = extensions
        self._ask = ask
        self.completes = any(served.repo.completes() for served in own) or any(
            extension.offers_completions() for extension in extensions
        )
        """Whether any of them may complete values."""
        self._warned: set[tuple[str, str]] = set()

    def __bool__(self) -> bool:
        return bool(self.own or self._extensions)

    def scopes(self) -> frozenset[str]:
        """Return the scopes that the Suite's own repositories require."""
        return frozenset[str]().union(*(served.required_scopes for served in self.own))

    async def find(self, name: str, channel: Channel) -> ServedRepo[R] | None:
        """Return the repository that `name` belongs to, asking no more than it takes."""
        found = find_in_group(self.own, name)
        if found is not None:
            return found
        for extension in self._extensions:
            found = find_in_group(await self._ask(extension, channel), name)
            if found is not None:
                return found
        return None

    async def reach(self, channel: Channel) -> Reach[R]:
        """Return all repositories, in the order they are listed."""
        given = [await self._ask(extension, channel) for extension in self._extensions]
        reach = Reach([self.own, *given])
        for hidden, claims in reach.hidden:
            pair = hidden.owner, claims.owner
            if pair not in self._warned:
                self._warned.add(pair)
                _log.warning(
                    "%s, given by an extension, is never asked: %s has everything that "
                    "begins with %r",
                    *pair,
                    claims.prefix,
                )
        return reach
