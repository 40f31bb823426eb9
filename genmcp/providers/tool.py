"""Tools: what an author subclasses to offer one action to a model.

Layer: providers. This is the author's side: the hooks and the class keywords that
generate them. What the wire calls a tool is `genmcp.mcp.v2607.Tool`, and
`describe` makes one. `genmcp.suite.tools` calls the hooks; how a class becomes a
schema and arguments become its instance is in `genmcp.wire`.

Spec: server/tools
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Never

from typing_extensions import TypeVar

from genmcp.channel import BlockingChannel, Channel
from genmcp.errors import say_whose
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.v2607.fields import with_members
from genmcp.outcome import Error, InputRequired, Stream
from genmcp.providers.param_headers import read_param_headers
from genmcp.providers.tool_keywords import check_keywords, own_description
from genmcp.providers.tool_signatures import check_hooks, explain_unknown, find_arguments_type
from genmcp.wire.arguments import ArgumentReader
from genmcp.wire.output import OutputChecker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence

    from genmcp.limits import OwnRateLimit
    from genmcp.providers.cache_control import CacheControl, CacheHints

A = TypeVar("A", default=dict[str, Any])
C = TypeVar("C", bound=Channel | BlockingChannel, default=Channel)

Reply = mcp.CallToolResult | str | Stream[Any] | InputRequired | Error
"""What `call` and `handle_message` may return. A `str` is one block of text."""

InfoKey = Literal["name", "title", "description", "annotations", "icons", "_meta"]


class Tool(ABC, Generic[A, C]):
    """One action a model may call.

    `Tool[Args]` takes the class of the arguments: attrs, dataclass or TypedDict.
    Its schema is derived, and `request.params.arguments` is an instance of it.
    `Tool` alone takes any JSON object, as a dict; narrow it with `input_schema=`.
    A plain `def call` runs in a worker thread and gets a `BlockingChannel`, which
    the second parameter tells the type checker: `Tool[Args, BlockingChannel]`.

    Configuration lives in the instance: give a Suite the class, or an instance.

    Class keywords, each generating one hook; all are checked when the class is
    defined, and any hook can be written by hand instead:

    Args:
        name: 1 to 128 characters of `A-Z a-z 0-9 _ - .`.
        title: the name to show to people.
        description: what the tool does, for the model. Default: the docstring.
        annotations: hints on its behaviour, `mcp.ToolAnnotations` or a mapping.
        icons: images to show with it.
        meta: its `_meta`.
        input_schema: what arguments it takes: a JSON Schema whose root is an
            object, or a class. Default: from `Tool[Args]`.
        output_schema: what its structured content looks like: a JSON Schema with
            any root, or a class. Results are checked against it.
        cache_control: `("public" or "private", milliseconds or timedelta)`, what
            it contributes to the cache hints of `tools/list`.
        requires: the client capabilities the tool cannot do without, as
            `mcp.ClientCapabilities` or in wire form: `{"elicitation": {"url": {}}}`.
            A call from a client that lacks one is answered with -32021.
        required_scopes: the scopes an access token must have for a call, such as
            `["files:write"]`, besides those of the endpoint's `Authorization`. A call
            with a token that lacks one is answered with 403 and names them all.
        rate_limit: how often one caller may call it, as a `RateLimit` that stands in for
            the endpoint's; `"unlimited"` for as often as it likes. Further calls are
            answered with 429 and -32600.
        repair_arguments: whether a string that holds exactly what a number,
            boolean, array or object field wants is taken for it.
        any_name: whether a name outside the recommended characters is allowed.

    Raises:
        TypeError, ValueError: naming the class and the keyword.

    Spec: server/tools#data-types
    """

    _declared: ClassVar[Mapping[str, Any]] = {}
    _schema_source: ClassVar[type[Any] | Mapping[str, Any]] = {"type": "object"}
    _class_reader: ClassVar[ArgumentReader | None] = None
    _class_checker: ClassVar[OutputChecker | None] = None

    def __init_subclass__(
        cls,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: mcp.ToolAnnotations | Mapping[str, Any] | None = None,
        icons: Sequence[mcp.Icon] | None = None,
        meta: Mapping[str, Any] | None = None,
        input_schema: type[Any] | Mapping[str, Any] | None = None,
        output_schema: type[Any] | Mapping[str, Any] | None = None,
        cache_control: CacheControl | None = None,
        requires: mcp.ClientCapabilities | Mapping[str, Any] | None = None,
        required_scopes: Iterable[str] | None = None,
        rate_limit: OwnRateLimit = None,
        repair_arguments: bool | None = None,
        any_name: bool | None = None,
        **kwargs: Never,
    ) -> None:
        try:
            super().__init_subclass__(**kwargs)
        except TypeError:
            # For another base of the class to take, and none did.
            raise TypeError(
                f"{cls.__qualname__}: {explain_unknown(kwargs, Tool.__init_subclass__)}"
            ) from None
        given = {
            "name": name,
            "title": title,
            "description": description,
            "annotations": annotations,
            "icons": icons,
            "_meta": meta,
            "output_schema": output_schema,
            "cache_control": cache_control,
            "requires": requires,
            "required_scopes": required_scopes,
            "rate_limit": rate_limit,
            "repair_arguments": repair_arguments,
            "any_name": any_name,
        }
        declared = {**cls._declared, **{key: v for key, v in given.items() if v is not None}}
        if description is None and own_description(cls) is not None:
            declared.pop("description", None)
        cls._declared = check_keywords(cls, declared)
        check_hooks(cls, Tool)
        # A decorator such as attrs' may define the class a second time, without
        # the keywords: what the first definition left in the namespace stands.
        source = input_schema
        if source is None:
            source = cls.__dict__.get("_schema_source", find_arguments_type(cls, Tool))
        if source is not None:
            cls._schema_source = source
        if source is not None or repair_arguments is not None or cls._class_reader is None:
            cls._class_reader = cls._compile_reader(cls._schema_source)
        if output_schema is not None:
            cls._class_checker = cls._compile_checker(output_schema)

    # -- what it is --------------------------------------------------------------

    def info(self, key: InfoKey) -> Any:
        """Return one piece of metadata, or `None`.

        Asked once, when the tool is put into a Suite. `"annotations"` is an
        `mcp.ToolAnnotations`, `"icons"` a list of `mcp.Icon`, `"_meta"` a mapping,
        the others are strings; only `"name"` is required.
        """
        value = self._declared.get(key)
        if value is None and key == "description":
            return own_description(type(self))
        return value

    def input_schema(self) -> type[Any] | Mapping[str, Any]:
        """Return what arguments the tool takes: a JSON Schema object, or a class."""
        return self._own_reader().schema

    def output_schema(self) -> type[Any] | Mapping[str, Any] | None:
        """Return what the structured content looks like, or `None` for anything."""
        checker = type(self)._class_checker
        return None if checker is None else _published(checker)

    def cache_control(self) -> CacheControl:
        """Return what the tool contributes to the cache hints of `tools/list`."""
        hints: CacheHints | None = self._declared.get("cache_control")
        return ("private", 0) if hints is None else (hints.scope, hints.ttl_ms)

    def requires(self) -> mcp.ClientCapabilities:
        """Return the client capabilities the tool cannot do without.

        Spec: basic/index#meta
        """
        declared: mcp.ClientCapabilities | None = self._declared.get("requires")
        return mcp.ClientCapabilities() if declared is None else declared

    def required_scopes(self) -> Collection[str]:
        """Return the scopes an access token must have for a call.

        Asked once, when the tool is put into a Suite. The tool is listed all the same,
        so that clients can ask for what it needs. Where it depends on the arguments,
        `call` raises `InsufficientScope`.

        Spec: basic/authorization/index#runtime-insufficient-scope-errors
        """
        declared: frozenset[str] = self._declared.get("required_scopes", frozenset())
        return declared

    def rate_limit(self) -> OwnRateLimit:
        """Return how often one caller may call the tool, or `None` for the endpoint's limit.

        Asked once, when the tool is put into a Suite.

        Spec: server/tools#security-considerations
        """
        declared: OwnRateLimit = self._declared.get("rate_limit")
        return declared

    def describe(self) -> mcp.Tool:
        """Return the tool as `tools/list` shows it.

        Raises:
            TypeError, ValueError: a hook gave what the wire cannot take; the
                message names class, hook and value.
        """
        checked = check_keywords(
            type(self),
            {
                key: value
                for key in ("name", "title", "description", "annotations", "icons", "_meta")
                if (value := self.info(key)) is not None
            }
            | {"any_name": self._declared.get("any_name", False)},
        )
        if "name" not in checked:
            raise ValueError(
                f"{type(self).__qualname__} has no name: give the class keyword name=, "
                'or answer "name" in its info hook'
            )
        checker = self.output_checker()
        return mcp.Tool(
            name=checked["name"],
            title=checked.get("title"),
            description=checked.get("description"),
            input_schema=self.argument_reader().schema,
            output_schema=None if checker is None else _published(checker),
            annotations=checked.get("annotations"),
            icons=checked.get("icons"),
            meta=checked.get("_meta"),
        )

    # -- what it does ------------------------------------------------------------

    def validate_request(self, request: mcp.CallToolRequest[Any]) -> mcp.CallToolRequest[A]:
        """Check the request and return it, its arguments replaced by typed ones.

        Runs before `call`, on the event loop: it must not block. Override it to check
        more, or differently; call `super()` for the generated check. Arguments that
        fail that one are answered as a tool result with `isError`, so that a model
        can correct itself (see `Suite(invalid_arguments=)`).

        Raises:
            InvalidParams, ValueError: the call is rejected with -32602 and the
                message, and `call` does not run.
            ToolError: as from `call`; `call` does not run.
        """
        params = request.params
        arguments = self.argument_reader().read(params.arguments)
        return with_members(request, params=with_members(params, arguments=arguments))

    @abstractmethod
    def call(self, request: mcp.CallToolRequest[A], channel: C) -> Reply | Awaitable[Reply]:
        """Do it, and return the answer.

        Write `async def`, or a plain `def`, which runs in a worker thread.
        Return a `CallToolResult` (built with `mcp.call_tool_result`) or a `str`
        when done; `Stream(state)` to stay open for `handle_message`;
        `InputRequired` to ask the client; `Error` for a JSON-RPC error.

        Raises:
            ToolError: the answer is a result with `isError` and this text.
            McpError: the answer is this JSON-RPC error.

        Any other exception is masked as -32603 with an error id and logged.

        Cancellation: when the client goes away, the next checkpoint raises
        `trio.Cancelled`; `finally` blocks may go on awaiting for a few seconds.

        Spec: server/tools#calling-tools
        """

    def handle_message(self, message: Any, channel: C, state: Any) -> Reply | Awaitable[Reply]:
        """Take one message posted to a call that returned `Stream(state)`.

        Messages come one at a time, in the order they were posted. Return as from
        `call`; `Stream(new_state)` keeps the call open. `async def` or plain `def`.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no handle_message")

    def handle_close(self, channel: C, state: Any) -> Awaitable[None] | None:
        """Clean up after a streaming call that did not end by its own return.

        The client went away, the channel was closed, the server shuts down, or
        `handle_message` raised. Runs shielded, for a few seconds; nothing can be
        sent any more. `async def` or plain `def`.
        """

    # -- compiled, for the suite -------------------------------------------------

    def argument_reader(self) -> ArgumentReader:
        """Return what turns a call's arguments into what `call` gets."""
        if type(self).input_schema is Tool.input_schema:
            return self._own_reader()
        # A hand-written hook may depend on the instance, so it is asked once for
        # each. Past `__setattr__`, because the author's class may be frozen.
        reader: ArgumentReader | None = self.__dict__.get("_reader")
        if reader is None:
            reader = self._compile_reader(self.input_schema())
            object.__setattr__(self, "_reader", reader)
        return reader

    def output_checker(self) -> OutputChecker | None:
        """Return what checks the structured content, if there is a schema for it."""
        if type(self).output_schema is Tool.output_schema:
            return type(self)._class_checker
        if "_checker" not in self.__dict__:
            source = self.output_schema()
            compiled = None if source is None else self._compile_checker(source)
            object.__setattr__(self, "_checker", compiled)
        checker: OutputChecker | None = self.__dict__["_checker"]
        return checker

    @classmethod
    def _own_reader(cls) -> ArgumentReader:
        assert cls._class_reader is not None, "set for every subclass when it is defined"
        return cls._class_reader

    @classmethod
    def _compile_reader(cls, source: type[Any] | Mapping[str, Any]) -> ArgumentReader:
        repair = bool(cls._declared.get("repair_arguments", True))
        try:
            reader = ArgumentReader.compile(source, repair=repair)
            # Only for what it refuses: clients would drop the tool without a word.
            read_param_headers(reader.schema)
        except (TypeError, ValueError) as error:
            raise say_whose(f"{cls.__qualname__}: input_schema", error) from error
        return reader

    @classmethod
    def _compile_checker(cls, source: type[Any] | Mapping[str, Any]) -> OutputChecker:
        try:
            checker = OutputChecker.compile(source)
        except (TypeError, ValueError) as error:
            raise say_whose(f"{cls.__qualname__}: output_schema", error) from error
        if isinstance(checker.schema, bool):
            # JSON Schema has true and false; the wire wants an object here.
            raise TypeError(f"{cls.__qualname__}: output_schema must be an object or a class")
        return checker


def _published(checker: OutputChecker) -> Mapping[str, Any]:
    assert isinstance(checker.schema, dict), "refused when it was compiled"
    return checker.schema
