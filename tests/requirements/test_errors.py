"""Errors: which codes there are, whose they are, and what they may say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from genmcp import (
    ArgumentsError,
    CallbackReturnError,
    Channel,
    EncodeError,
    Error,
    MailboxFull,
    McpError,
    SchemaError,
    TokenError,
    Tool,
    ToolError,
    errors,
    mcp,
)
from genmcp.errors import ALLOCATED_CODES
from genmcp.testing import Client, ServerError
from genmcp.transport.inbound import Refusal
from tests.requirements.whole_server import make_app, make_suite
from tests.suite.repos import Prompts, Texts
from tests.transport.test_inbound import ROWS, Bad, receive

OWN = st.integers().filter(lambda code: not -32768 <= code <= -32000)


@given(st.integers(-32768, -32000))
@example(-32768)
@example(-32000)
def test_reserved_code_is_taken_only_if_the_protocol_gives_it_a_meaning(code: int) -> None:
    if code in ALLOCATED_CODES:
        assert McpError("m", code=code).code == code
    else:
        with pytest.raises(ValueError, match="use a code outside -32768"):
            McpError("m", code=code)


@given(OWN)
@example(-32769)
@example(-31999)
@example(0)
def test_codes_of_the_application_lie_outside_the_reserved_range(code: int) -> None:
    assert McpError("m", code=code).code == code


def test_codes_with_a_meaning_are_the_eight_of_this_revision() -> None:
    assert sorted(ALLOCATED_CODES) == [
        -32700,
        -32603,
        -32602,
        -32601,
        -32600,
        -32022,
        -32021,
        -32020,
    ]


@pytest.mark.parametrize("code", [-32001, -32002, -32003, -32042, -32023, -32099, -32000])
def test_code_that_is_retired_or_never_was_is_refused(code: int) -> None:
    with pytest.raises(ValueError, match="reserved"):
        McpError("m", code=code)


@pytest.mark.parametrize("code", [-32002, -32042, -32050])
async def test_no_way_around_the_check_reaches_the_client(code: int) -> None:
    class Evades(Tool, name="evades"):
        async def call(self, request: Any, channel: Channel) -> Any:
            return Error(McpError("m", code=code))

    async with Client(make_suite(tools=[Evades])) as client:
        with pytest.raises(ServerError) as caught:
            await client.call_tool("evades")
    assert caught.value.code == -32603


def test_every_error_of_the_library_for_clients_has_a_code_with_a_meaning() -> None:
    classes = [
        one
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, McpError) and hasattr(one, "fixed_code")
    ]
    assert len(classes) > 8
    assert {one.fixed_code for one in classes} <= ALLOCATED_CODES


# -- which errors are whose ------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        ArgumentsError,
        CallbackReturnError,
        EncodeError,
        MailboxFull,
        SchemaError,
        TokenError,
        ToolError,
        TimeoutError,
        OSError,
    ],
)
def test_error_of_this_side_is_no_error_of_the_protocol(error: type[Exception]) -> None:
    assert not issubclass(error, McpError)


async def test_client_tells_an_error_of_the_server_from_its_own() -> None:
    async def broken(_scope: Any, _receive: Any, _send: Any) -> None:
        raise ConnectionResetError("-32603")

    with pytest.raises(ServerError) as theirs:
        await Client(make_app()).call_tool("no such tool")
    assert theirs.value.code == -32602
    with pytest.raises(BaseException) as ours:  # noqa: PT011 - a group or not
        await Client(broken).call_tool("any")
    assert not find_leaves(ours.value, McpError)
    assert find_leaves(ours.value, ConnectionResetError)


def find_leaves(error: BaseException, kind: type[Exception]) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for one in error.exceptions for leaf in find_leaves(one, kind)]
    return [error] if isinstance(error, kind) else []


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "fails"}),
        ("prompts/get", {"name": "fails"}),
        ("resources/read", {"uri": "a:fails"}),
        ("prompts/list", {}),
        ("resources/list", {}),
        (
            "completion/complete",
            {
                "ref": {"type": "ref/resource", "uri": "a:fails"},
                "argument": {"name": "x", "value": ""},
            },
        ),
    ],
)
async def test_crash_of_a_provider_is_an_internal_error_that_tells_nothing(
    method: str, params: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    def crash(*_: Any) -> Any:
        raise ConnectionError("password=hunter2 at 10.0.0.7")

    class Fails(Tool, name="fails"):
        async def call(self, request: Any, channel: Channel) -> Any:
            crash()

    class FailingPrompts(Prompts):
        async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
            return crash() if method == "prompts/list" else [mcp.Prompt(name="fails")]

        async def get(self, name: str, arguments: Any, channel: Channel) -> Any:
            crash()

    class FailingTexts(Texts):
        async def list_resources(self, cursor: Any, channel: Channel) -> Any:
            crash()

        async def read(self, target: Any, channel: Channel) -> Any:
            crash()

        async def complete(self, argument: Any, context: Any, channel: Channel) -> Any:
            crash()

    suite = make_suite(tools=[Fails], prompts=[FailingPrompts("")], resources=[FailingTexts("a:")])
    async with Client(suite).open(method, params) as answer:
        message = await answer.next_message()
    assert answer.response.status == 500
    assert message["error"]["code"] == -32603
    assert "hunter2" not in str(message)
    assert "10.0.0.7" not in str(message)
    assert "hunter2" in caplog.text


# -- what they say ---------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_message_of_a_refusal_is_one_short_sentence(row: Bad) -> None:
    refusal = receive(row.body, row.headers, row.verb)
    assert isinstance(refusal, Refusal)
    message = refusal.error.message
    assert message == message.strip()
    assert message.isprintable()
    assert 0 < len(message) < 250
