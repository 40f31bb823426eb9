"""What genmcp ships for testing your own classes. The project tests with it too.

Layer: above everything but the command line. Needs no test framework and no
mocks, and works with `trio.testing.MockClock`.

    call_tool       call a tool in a plain test, and get its result
    stream_tool     run a call beside the test: post, disconnect, wait
    FakeChannel     for calling a hook directly: records what is sent
    fake_request    the request for it
    Client          a client in memory, over the real transport
    check_tool      finds what is wrong with a tool before a client does
"""

from genmcp.testing.checks import check_tool
from genmcp.testing.client import Answer, Client, ServerError
from genmcp.testing.fake_channel import FakeChannel
from genmcp.testing.memory_http import MemoryResponse, exchange
from genmcp.testing.requests import fake_caller, fake_request
from genmcp.testing.sink import RecordingSink
from genmcp.testing.sse_reader import read_messages
from genmcp.testing.tool_calls import ToolStream, call_tool, call_tool_async, stream_tool

__all__ = [
    "Answer",
    "Client",
    "FakeChannel",
    "MemoryResponse",
    "RecordingSink",
    "ServerError",
    "ToolStream",
    "call_tool",
    "call_tool_async",
    "check_tool",
    "exchange",
    "fake_caller",
    "fake_request",
    "read_messages",
    "stream_tool",
]
