"""What the repositories of prompts and of resources have in common.

Layer: providers. A repository serves what begins with its prefix: prompts by name,
resources by URI. `prompt_repo` and `resource_repo` have the two kinds.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias

from typing_extensions import TypeVar

from genmcp.access import read_scopes
from genmcp.channel import BlockingChannel, Channel
from genmcp.errors import say_whose
from genmcp.mcp import v2607 as mcp
from genmcp.providers.cache_control import CacheHints, read_cache_control
from genmcp.providers.tool_keywords import read_required_capabilities
from genmcp.providers.tool_signatures import explain_unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from genmcp.providers.cache_control import CacheControl

C = TypeVar("C", bound=Channel | BlockingChannel, default=Channel)

Suggestions: TypeAlias = "Sequence[str] | mcp.Completion"
"""What a `complete` hook may return, best first."""


class Repo(ABC, Generic[C]):
    """Serves what begins with a prefix. Subclass `PromptRepo` or `ResourceRepo`."""

    _declared: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(
        cls,
        *,
        prefix: str | None = None,
        cache_control: CacheControl | None = None,
        requires: mcp.ClientCapabilities | Mapping[str, Any] | None = None,
        required_scopes: Iterable[str] | None = None,
        **kwargs: Any,
    ) -> None:
        try:
            super().__init_subclass__(**kwargs)
        except TypeError:
            # For another base of the class to take, and none did.
            takers = [
                base.__init_subclass__
                for base in cls.__mro__[1:]
                if base is not object and "__init_subclass__" in vars(base)
            ]
            raise TypeError(f"{cls.__qualname__}: {explain_unknown(kwargs, *takers)}") from None
        if prefix is not None:
            cls.declare("prefix", check_prefix(cls, prefix))
        if cache_control is not None:
            cls.declare("cache_control", read_keyword(cls, "cache_control", cache_control))
        if requires is not None:
            cls.declare("requires", read_keyword(cls, "requires", requires))
        if required_scopes is not None:
            cls.declare("required_scopes", read_keyword(cls, "required_scopes", required_scopes))

    @classmethod
    def declare(cls, key: str, value: Any) -> None:
        """Keep what a class keyword says, for this class and its subclasses."""
        cls._declared = {**cls._declared, key: value}

    def prefix(self) -> str:
        """Return what everything served here begins with; `""` for all there is.

        Asked once, when the repository is put into a Suite. No prefix of a Suite's
        repositories of one kind may begin with that of another.
        """
        declared: str = self._declared.get("prefix", "")
        return declared

    def cache_control(self) -> CacheControl:
        """Return how long, and for whom, clients may keep what comes from here.

        A listing is as public, and lives as long, as the least of its repositories
        allows. For what is read, it speaks where the result itself says nothing.

        Spec: server/utilities/caching
        """
        hints: CacheHints | None = self._declared.get("cache_control")
        return ("private", 0) if hints is None else (hints.scope, hints.ttl_ms)

    def requires(self) -> mcp.ClientCapabilities:
        """Return the client capabilities without which nothing is given from here.

        Spec: basic/index#meta
        """
        declared: mcp.ClientCapabilities | None = self._declared.get("requires")
        return mcp.ClientCapabilities() if declared is None else declared

    def required_scopes(self) -> Collection[str]:
        """Return the scopes an access token must have for anything to be given from here.

        Asked once, when the repository is put into a Suite. What is here is listed all
        the same, so that clients can ask for what it needs.

        Spec: basic/authorization/index#runtime-insufficient-scope-errors
        """
        declared: frozenset[str] = self._declared.get("required_scopes", frozenset())
        return declared

    @abstractmethod
    def completes(self) -> bool:
        """Tell whether there are suggestions here: whether `complete` is overridden."""


_READERS = {
    "cache_control": read_cache_control,
    "requires": read_required_capabilities,
    "required_scopes": read_scopes,
}


def read_keyword(cls: type, key: str, value: object) -> Any:
    """Check a class keyword and return it as the hooks give it.

    Raises:
        TypeError, ValueError: naming the class and the keyword.
    """
    try:
        return _READERS[key](value)
    except (TypeError, ValueError) as error:
        raise say_whose(f"{cls.__qualname__}: {key}", error) from error


def check_prefix(cls: type, prefix: object) -> str:
    """Return `prefix` if it is one.

    Raises:
        TypeError: it is not a `str`; names the class.
    """
    if not isinstance(prefix, str):
        raise TypeError(f"{cls.__qualname__}: prefix must be a str, got {prefix!r}")
    return prefix


def check_signatures(cls: type, hooks: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse a class one of whose own `hooks` does not take what it is called with.

    Raises:
        TypeError: naming the class, the hook and what it must take.
    """
    for name, parameters in hooks.items():
        hook = cls.__dict__.get(name)
        if not inspect.isfunction(hook):
            continue
        signature = inspect.signature(hook)
        try:
            signature.bind(None, *parameters)
        except TypeError:
            raise TypeError(
                f"{cls.__qualname__}.{name} must take ({', '.join(['self', *parameters])}), "
                f"got {signature}"
            ) from None
