"""What genmcp ships for testing your own classes. The project tests with it too.

Layer: above everything but the command line. Needs no test framework and no
mocks, and works with `trio.testing.MockClock`.

    call_tool       call a tool in a plain test, and get its result
    stream_tool     run a call beside the test: post, disconnect, wait
    FakeChannel     for calling a hook directly: records what is sent
    fake_request    the request for it
    fake_access     what an access token allows, for tools that require scopes
    FakeVerifier    knows a few access tokens
    Client          a client in memory, over the real transport
    AnsweringClient answers what a tool asks: accept(...), decline(), cancel()
    RecordingBus    an event bus that remembers what was published
    check_tool      finds what is wrong with a tool before a client does;
                    likewise check_prompt_repo and check_resource_repo
    check_session_store, check_replay_store
                    find what is wrong with a store before two processes do
"""

from genmcp.testing.access import FakeVerifier, fake_access
from genmcp.testing.answering import AnsweringClient, accept, cancel, decline
from genmcp.testing.checks import check_tool
from genmcp.testing.client import Answer, Client, ServerError
from genmcp.testing.fake_channel import FakeChannel
from genmcp.testing.memory_http import MemoryResponse, exchange
from genmcp.testing.repo_checks import check_prompt_repo, check_resource_repo
from genmcp.testing.requests import fake_caller, fake_request
from genmcp.testing.sink import RecordingSink
from genmcp.testing.sse_reader import SSEReader
from genmcp.testing.store_checks import check_replay_store, check_session_store
from genmcp.testing.subscription import RecordingBus, Subscription
from genmcp.testing.tool_calls import ToolStream, call_tool, call_tool_async, stream_tool

__all__ = [
    "Answer",
    "AnsweringClient",
    "Client",
    "FakeChannel",
    "FakeVerifier",
    "MemoryResponse",
    "RecordingBus",
    "RecordingSink",
    "SSEReader",
    "ServerError",
    "Subscription",
    "ToolStream",
    "accept",
    "call_tool",
    "call_tool_async",
    "cancel",
    "check_prompt_repo",
    "check_replay_store",
    "check_resource_repo",
    "check_session_store",
    "check_tool",
    "decline",
    "exchange",
    "fake_access",
    "fake_caller",
    "fake_request",
    "stream_tool",
]
