"""One call of a tool: check, unseal, call, and read what came back.

Layer: suite. A station of a call's trail: `genmcp.suite.tools` has found the tool, and from
here it goes to the author's `Tool.call`.

Spec: server/tools#calling-tools
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import attrs

from genmcp.answers import NO_ANSWERS
from genmcp.errors import (
    CallbackReturnError,
    InvalidParams,
    ToolError,
    find_sole_leaf,
)
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.unset import UNSET
from genmcp.mcp.v2607.fields import with_members
from genmcp.outcome import Error, InputRequired, Stream
from genmcp.providers.hooks import run_hook
from genmcp.providers.tool import Tool
from genmcp.suite.client_capabilities import check_capabilities
from genmcp.suite.input_required import Conversation
from genmcp.suite.param_headers import check_param_headers
from genmcp.suite.scopes import check_scopes
from genmcp.value import Value
from genmcp.wire.arguments import ArgumentsError
from genmcp.wire.output import OutputMismatch

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from genmcp.channel import Channel
    from genmcp.suite.page import Answer
    from genmcp.suite.served_tool import ServedTool

InvalidArguments = Literal["tool_error", "protocol_error"]
"""How arguments that fail the generated check are answered: as a tool result with
`isError`, which a model can read and correct, or as -32602."""

_NO_TEXT: Final = mcp.TextContent(text="")
_NO_RESULT: Final = mcp.CallToolResult(content=[])

_EXPECTED: Final = "a CallToolResult, str, Stream, InputRequired or Error"


@attrs.frozen(eq=False, repr=False)
class ToolStream(Value):
    """The state of a streaming tool call: which call, and the author's own state."""

    call: ToolCall
    state: Any


@attrs.frozen(eq=False, repr=False)
class ToolCall(Value):
    """A call of one tool by one caller, with the arguments as they came."""

    served: ServedTool
    channel: Channel
    arguments: Mapping[str, Any]

    @property
    def conversation(self) -> Conversation:
        """The questions and answers of this call."""
        return Conversation("tools/call", self.served.name, self.arguments, self.channel)

    def check(
        self, request: mcp.CallToolRequest[Any], invalid_arguments: InvalidArguments
    ) -> mcp.CallToolRequest[Any] | mcp.Result:
        """Return the request as the tool gets it, or what to answer at once.

        Raises:
            HeaderMismatch: a header does not say what the arguments say.
            InsufficientScope: the caller's access token allows less than the tool needs.
            LimitExceeded: this caller calls the tool more often than it may.
            InvalidParams: the request state or the request itself is rejected.
            MissingRequiredClientCapability: the client lacks what the tool needs.
            CallbackReturnError: the author's fault, for masking.
        """
        served, channel = self.served, self.channel
        if served.param_headers:
            sent = channel.caller.param_headers
            check_param_headers(served.param_headers, sent, request.params.arguments)
        if served.required_scopes:
            check_scopes(served.required_scopes, channel.caller)
        # Rounds of one conversation count one by one: a request state opens as often as
        # it is sent, and answers may come without one, so they would be ways round it.
        channel.check_rate(request.method, served.name, served.rate_limit)
        if request.params.request_state is not None or request.params.input_responses:
            unanswered = self.conversation.resume(request.params)
            if unanswered is not None:
                return unanswered
        if served.requires:
            check_capabilities(served.requires, channel.client_capabilities)
        try:
            return self._validate(self._with_answers(request))
        except ArgumentsError as error:
            channel.notes.problem = f"invalid arguments: {'; '.join(error.reasons)}"
            if invalid_arguments == "protocol_error":
                refused = InvalidParams(str(error))
                refused.log_message = channel.notes.problem
                raise refused from None
            return mcp.call_tool_result(error=str(error))
        except ToolError as error:
            return mcp.call_tool_result(error=error.message)

    def call(self, request: mcp.CallToolRequest[Any]) -> Awaitable[Answer]:
        """Hand a checked request to the tool.

        Raises:
            OutputMismatch, CallbackReturnError: the author's fault, for masking.
        """
        return self._run("call", request, self.channel)

    def go_on(self, message: object, state: Any) -> Awaitable[Answer]:
        """Hand a posted message to the tool. Raises as `call`."""
        return self._run("handle_message", message, self.channel, state)

    async def close(self, state: Any) -> None:
        """Let the tool clean up after a stream that was cut off."""
        await run_hook(self.channel, self.served.tool.handle_close, self.channel, state)

    def _with_answers(self, request: mcp.CallToolRequest[Any]) -> mcp.CallToolRequest[Any]:
        answers = self.channel.answers
        if answers is NO_ANSWERS:
            return request
        if answers.client_state is None and not answers:
            return request
        params = attrs.evolve(
            request.params,
            request_state=answers.client_state,
            input_responses=dict(answers) or None,
        )
        return attrs.evolve(request, params=params)

    def _validate(self, request: mcp.CallToolRequest[Any]) -> mcp.CallToolRequest[Any]:
        tool = self.served.tool
        try:
            checked = tool.validate_request(request)
        except ArgumentsError:
            raise
        except ValueError as error:
            raise InvalidParams(str(error)) from error
        # The author may return what the types forbid.
        if not isinstance(checked, mcp.CallToolRequest):  # pyright: ignore[reportUnnecessaryIsInstance]
            expected = "the request, changed or not"
            raise CallbackReturnError(tool, "validate_request", checked, expected)
        return checked

    async def _run(self, hook: Literal["call", "handle_message"], *args: Any) -> Answer:
        try:
            answer = await run_hook(self.channel, getattr(self.served.tool, hook), *args)
        except (ToolError, BaseExceptionGroup) as error:
            leaf = find_sole_leaf(error)
            if not isinstance(leaf, ToolError):
                raise
            return mcp.call_tool_result(error=leaf.message)
        return self._read_reply(hook, answer)

    def _read_reply(self, hook: str, answer: Any) -> Answer:
        tool = self.served.tool
        match answer:
            case str():
                return self._check_output(_make_result(answer))
            case mcp.CallToolResult():
                return self._check_output(answer)
            case Stream():
                if type(tool).handle_message is Tool.handle_message:
                    expected = "a Stream only if the class has a handle_message"
                    raise CallbackReturnError(tool, hook, cast("object", answer), expected)
                return Stream(ToolStream(self, cast("Stream[Any]", answer).state))
            case InputRequired():
                return self.conversation.ask(answer)
            case Error():
                return answer
            case _:
                raise CallbackReturnError(tool, hook, answer, _EXPECTED + _explain(answer))

    def _check_output(self, result: mcp.CallToolResult) -> mcp.CallToolResult:
        checker = self.served.checker
        if checker is None or result.is_error:
            return result
        if result.structured_content is UNSET:
            expected = "structured content (data=...), because the tool has an output schema"
            raise CallbackReturnError(self.served.tool, "call", result, expected)
        try:
            checker.check(result.structured_content)
        except OutputMismatch as error:
            raise OutputMismatch(error.violations, type(self.served.tool)) from None
        return result


def _explain(answer: object) -> str:
    """Say how what was returned is meant to be, where it can be guessed."""
    if answer is None:
        return "; mcp.call_tool_result() is a result that says nothing"
    if isinstance(answer, mcp.ElicitRequest | mcp.CreateMessageRequest | mcp.ListRootsRequest):
        return '; a question is asked as InputRequired({"a key": question})'
    if isinstance(answer, Mapping | list | tuple | set | int | float) or attrs.has(type(answer)):
        return "; mcp.call_tool_result takes content as it is, and a value as data=..."
    return ""


def _make_result(text: str) -> mcp.CallToolResult:
    if type(text) is not str:
        return mcp.call_tool_result(text=text)
    # Nothing is left to check.
    return with_members(_NO_RESULT, content=[with_members(_NO_TEXT, text=text)])
