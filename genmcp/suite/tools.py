"""The tools page: find, check, unseal, call, and read what came back.

Layer: suite. The seventh station of a call's trail: `genmcp.suite.suite` brings
the request here, and from here it goes to the author's `Tool.call`.

Spec: server/tools
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from genmcp.errors import CallbackReturnError, InvalidParams, ToolError, find_sole_leaf
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.unset import UNSET
from genmcp.outcome import Error, InputRequired, Stream
from genmcp.providers.cache_control import CacheHints, read_cache_control
from genmcp.providers.tool import Tool
from genmcp.suite.input_required import RequestState
from genmcp.wire.arguments import ArgumentsError

if TYPE_CHECKING:
    from genmcp.channel import Channel
    from genmcp.providers.extension import ToolSource
    from genmcp.wire.output import OutputChecker

_log = logging.getLogger("genmcp.suite")

InvalidArguments = Literal["tool_error", "protocol_error"]
"""How arguments that fail the generated check are answered: as a tool result with
`isError`, which a model can read and correct, or as -32602."""

_EXPECTED: Final = "a CallToolResult, str, Stream, InputRequired or Error"


@attrs.frozen
class ServedTool:
    """A tool as the suite serves it: everything that can be known before a call.

    Attributes:
        tool: the author's instance.
        described: what `tools/list` shows.
        hints: its part of the list's cache hints.
        checker: checks its structured content, if it has an output schema.
    """

    tool: Tool[Any, Any]
    described: mcp.Tool
    hints: CacheHints
    checker: OutputChecker | None

    @property
    def name(self) -> str:
        """The name clients call it by."""
        return self.described.name


@attrs.frozen
class ToolStream:
    """The state of a streaming tool call: which tool and call, and the author's state."""

    served: ServedTool
    binding: RequestState
    state: Any


def serve_tool(source: ToolSource) -> ServedTool:
    """Describe a tool, making it first if its class was given.

    Raises:
        TypeError: not a tool, or a class that cannot be made without arguments.
        ValueError: a hook gives what the protocol does not take.
    """
    tool = _make_tool(source)
    owner = type(tool).__qualname__
    described = tool.describe()
    try:
        hints = read_cache_control(tool.cache_control())
    except (TypeError, ValueError) as error:
        raise type(error)(f"{owner}: {error}") from error
    return ServedTool(tool, described, hints, tool.output_checker())


def _make_tool(source: object) -> Tool[Any, Any]:
    if isinstance(source, Tool):
        return source
    if not (isinstance(source, type) and issubclass(source, Tool)):
        raise TypeError(f"expected a Tool or a subclass of Tool, got {source!r}")
    try:
        return source()
    except TypeError as error:
        raise TypeError(
            f"{source.__qualname__} cannot be made without arguments; "
            f"give an instance instead of the class ({error})"
        ) from error


async def call_tool(
    served: ServedTool,
    request: mcp.CallToolRequest[Any],
    channel: Channel,
    invalid_arguments: InvalidArguments,
) -> mcp.Result | Stream[Any] | Error:
    """Run one `tools/call` on the tool it names.

    Raises:
        InvalidParams: the request state or the request itself is rejected.
        OutputMismatch, CallbackReturnError: the author's fault, for masking.
    """
    binding = RequestState("tools/call", served.name, request.params.arguments)
    request = binding.open(request, channel)
    try:
        request = await _validate(served, request)
    except ArgumentsError as error:
        _log.warning("tools/call %r: invalid arguments: %s", served.name, error.pointers)
        if invalid_arguments == "protocol_error":
            raise InvalidParams(str(error)) from None
        return mcp.call_tool_result(error=str(error))
    return await _run_hook(served, served.tool.call, (request,), (), channel, binding)


async def continue_tool(
    stream: ToolStream, message: object, channel: Channel
) -> mcp.Result | Stream[Any] | Error:
    """Hand a posted message to a streaming tool call."""
    served = stream.served
    return await _run_hook(
        served, served.tool.handle_message, (message,), (stream.state,), channel, stream.binding
    )


async def close_tool(stream: ToolStream, channel: Channel) -> None:
    """Let a streaming tool call that was cut off clean up."""
    await _run(stream.served.tool.handle_close, (), (stream.state,), channel)


async def _validate(
    served: ServedTool, request: mcp.CallToolRequest[Any]
) -> mcp.CallToolRequest[Any]:
    try:
        checked = served.tool.validate_request(request)
        if isinstance(checked, Awaitable):
            checked = await checked
    except ArgumentsError:
        raise
    except ValueError as error:
        raise InvalidParams(str(error)) from error
    if not isinstance(checked, mcp.CallToolRequest):
        raise CallbackReturnError(
            served.tool, "validate_request", checked, "the request, changed or not"
        )
    return checked


async def _run_hook(
    served: ServedTool,
    hook: Callable[..., Any],
    before: tuple[Any, ...],
    after: tuple[Any, ...],
    channel: Channel,
    binding: RequestState,
) -> mcp.Result | Stream[Any] | Error:
    try:
        answer = await _run(hook, before, after, channel)
    except (ToolError, BaseExceptionGroup) as error:
        leaf = find_sole_leaf(error)
        if not isinstance(leaf, ToolError):
            raise
        return mcp.call_tool_result(error=leaf.message)
    return _read_reply(served, hook, answer, channel, binding)


async def _run(
    hook: Callable[..., Any], before: tuple[Any, ...], after: tuple[Any, ...], channel: Channel
) -> Any:
    if inspect.iscoroutinefunction(hook):
        return await hook(*before, channel, *after)
    [answer] = await channel.run_in_thread(_box, hook, *before, channel.blocking(), *after)
    # A plain def may hand back what an async one would, through a decorator.
    return await answer if isinstance(answer, Awaitable) else answer


def _box(hook: Callable[..., Any], *args: Any) -> tuple[Any]:
    # Trio refuses a thread that returns a coroutine by itself.
    return (hook(*args),)


def _read_reply(
    served: ServedTool,
    hook: Callable[..., Any],
    answer: object,
    channel: Channel,
    binding: RequestState,
) -> mcp.Result | Stream[Any] | Error:
    match answer:
        case str():
            return _check_output(served, mcp.call_tool_result(text=answer))
        case mcp.CallToolResult():
            return _check_output(served, answer)
        case Stream() if type(served.tool).handle_message is not Tool.handle_message:
            return Stream(ToolStream(served, binding, answer.state))
        case Stream():
            raise CallbackReturnError(
                served.tool,
                hook.__name__,
                answer,
                "a Stream only if the class has a handle_message",
            )
        case InputRequired():
            return binding.seal(answer, channel)
        case Error():
            return answer
        case _:
            raise CallbackReturnError(served.tool, hook.__name__, answer, _EXPECTED)


def _check_output(served: ServedTool, result: mcp.CallToolResult) -> mcp.CallToolResult:
    checker = served.checker
    if checker is None or result.is_error:
        return result
    if result.structured_content is UNSET:
        raise CallbackReturnError(
            served.tool,
            "call",
            result,
            "structured content (data=...), because the tool has an output schema",
        )
    checker.check(result.structured_content)
    return result
