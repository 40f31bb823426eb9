"""`serve`: a server on a port, and its shutdown."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import signal
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import attrs
import pytest
import trio

from genmcp.authorization import Authorization
from genmcp.channel import Channel
from genmcp.cli.remote import RemoteEndpoint
from genmcp.limits import PER_CALLER, LimitOptions, Limits, RateLimit
from genmcp.providers import Tool
from genmcp.suite import Suite
from genmcp.testing import Client, FakeVerifier
from genmcp.transport.announcement import describe_limits, describe_senders, find_warning
from genmcp.transport.asgi import StreamableHTTP
from genmcp.transport.port_config import PortConfig
from genmcp.transport.serve import EndpointOptions, ListenOptions, PortOptions, serve
from genmcp.transport.serving import make_endpoint
from genmcp.transport.stdio.serve import serve_stdio
from tests.e2e.raw_http import HANG_GUARD_SECONDS, read_status, read_until

KEY = "k" * 32
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Echo(Tool[dict[str, Any]], name="echo", description="Says it again."):
    async def call(self, request: Any, channel: Channel) -> str:
        return str(request.params.arguments)


class Wait(Tool[dict[str, Any]], name="wait", description="Waits for ever."):
    def __init__(self) -> None:
        self.waiting = trio.Event()
        self.cleaned = False

    async def call(self, request: Any, channel: Channel) -> str:
        await channel.start_stream()
        self.waiting.set()
        try:
            await trio.sleep_forever()
        finally:
            self.cleaned = True
        return "never"


class Flood(Tool[dict[str, Any]], name="flood", description="Reports without end."):
    def __init__(self) -> None:
        self.flooding = trio.Event()
        self.ended = trio.Event()

    async def call(self, request: Any, channel: Channel) -> str:
        try:
            for step in range(1, 1_000_000):
                await channel.send_progress(step, message="x" * 100_000)
                self.flooding.set()
        finally:
            self.ended.set()
        return "never"


def make_suite(*tools: Tool[Any, Any]) -> Suite:
    return Suite(server_name="test", server_version="1", tools=[Echo(), *tools])


SUITE = make_suite()
EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - nothing here is bound to it


@attrs.frozen
class Serving:
    urls: list[str]
    stop: trio.Event
    ended: trio.Event

    @property
    def client(self) -> Client:
        return Client(RemoteEndpoint(self.urls[0]))


@asynccontextmanager
async def serving(server: Suite | StreamableHTTP, **options: Any) -> AsyncGenerator[Serving]:
    stop, ended = trio.Event(), trio.Event()
    if isinstance(server, Suite):
        options.setdefault("secret_key", KEY)

    options.setdefault("port", 0)

    async def run(task_status: trio.TaskStatus[list[str]]) -> None:
        await serve(server, stop=stop, task_status=task_status, **options)
        ended.set()

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            yield Serving(await nursery.start(run), stop, ended)
            nursery.cancel_scope.cancel()


async def test_start_returns_the_urls_of_the_endpoint() -> None:
    async with serving(make_suite()) as server:
        (url,) = server.urls
        assert url.startswith("http://127.0.0.1:")
        assert url.endswith("/mcp")
        assert (await server.client.call_tool("echo", {"a": 1})).result_type == "complete"


@pytest.mark.parametrize(("path", "end"), [("/api/mcp/", "/api/mcp"), ("/", "/")])
async def test_the_path_is_what_was_asked_for(path: str, end: str) -> None:
    async with serving(make_suite(), path=path) as server:
        assert server.urls[0].split("/", 3)[3] == end[1:]
        assert [tool.name for tool in (await server.client.list_tools()).tools] == ["echo"]


async def test_a_ready_endpoint_is_served_where_it_says() -> None:
    app = StreamableHTTP(make_suite(), path="/elsewhere", secret_key=KEY)
    async with serving(app) as server:
        assert server.urls[0].endswith("/elsewhere")
        assert [tool.name for tool in (await server.client.list_tools()).tools] == ["echo"]


async def test_what_is_served_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "genmcp.transport")
    async with serving(make_suite()) as server:
        assert [record.message for record in caplog.records] == [
            f"Serving MCP at {server.urls[0]}",
            "Answering as Host to loopback; as Origin to loopback",
        ]


async def test_what_is_derived_from_the_public_url_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "genmcp.transport")
    options = {"public_url": "https://MCP.example.com/tools/", "allowed_hosts": ["10.0.0.7"]}
    async with serving(make_suite(), **options) as server:
        assert server.urls[0].endswith("/tools")
        assert [record.message for record in caplog.records] == [
            (
                f"Serving MCP at {server.urls[0]}, for clients that connect to "
                "https://mcp.example.com/tools (public_url)"
            ),
            (
                "Answering as Host to loopback, mcp.example.com (public_url), 10.0.0.7 "
                "(allowed_hosts); as Origin to loopback, https://mcp.example.com (public_url)"
            ),
            (
                "Limits of each caller, told by network address, which behind a proxy is the "
                "proxy's: max_calls_per_caller 100, max_streams_per_caller 100, "
                "rate_limit 1000/60s, completion_rate_limit 1000/60s "
                "(on because of public_url)"
            ),
        ]


async def test_stopped_an_open_call_gets_a_last_frame_and_cleans_up() -> None:
    tool = Wait()
    async with serving(make_suite(tool), grace_seconds=2) as server:
        async with server.client.open("tools/call", {"name": "wait"}) as answer:
            await tool.waiting.wait()
            server.stop.set()
            messages = [message async for message in answer]
        await server.ended.wait()
    assert [message["error"]["code"] for message in messages] == [-32603]
    assert tool.cleaned


async def test_cancelled_an_open_call_gets_a_last_frame_and_cleans_up() -> None:
    tool = Wait()
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as outer, trio.open_nursery() as nursery:
            start = partial(serve, make_suite(tool), port=0, secret_key=KEY)
            (url,) = await nursery.start(start)
            messages: list[Any] = []

            async def listen() -> None:
                client = Client(RemoteEndpoint(url))
                async with client.open("tools/call", {"name": "wait"}) as answer:
                    messages.extend([message async for message in answer])

            outer.start_soon(listen)
            await tool.waiting.wait()
            nursery.cancel_scope.cancel()
    assert [message["error"]["code"] for message in messages] == [-32603]
    assert tool.cleaned


async def stall(url: str, tool: Flood) -> trio.SocketStream:
    """Return a client that has called the tool and reads nothing of what it says."""
    client = Client(RemoteEndpoint(url))
    params: dict[str, Any] = {"name": "flood", "_meta": {**META, "progressToken": 1}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(call).encode()
    fields = [*client.headers("tools/call", params), (b"content-length", b"%d" % len(body))]
    head = b"".join(b"%s: %s\r\n" % field for field in fields)
    host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
    stream = await trio.open_tcp_stream(host, int(port))
    await stream.send_all(b"POST /mcp HTTP/1.1\r\n" + head + b"\r\n" + body)
    await tool.flooding.wait()
    return stream


async def test_a_client_that_stopped_reading_does_not_hold_up_a_shutdown() -> None:
    tool = Flood()
    async with serving(make_suite(tool), grace_seconds=0.3) as server:
        stream = await stall(server.urls[0], tool)
        server.stop.set()
        await server.ended.wait()
        await stream.aclose()
    assert tool.ended.is_set()


async def test_a_client_that_stopped_reading_does_not_hold_up_cancellation() -> None:
    tool = Flood()
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            start = partial(serve, make_suite(tool), port=0, secret_key=KEY, grace_seconds=3600)
            (url,) = await nursery.start(start)
            stream = await stall(url, tool)
            nursery.cancel_scope.cancel()
    assert tool.ended.is_set()
    await stream.aclose()


async def test_a_client_that_stopped_reading_loses_its_call() -> None:
    tool = Flood()
    async with serving(make_suite(tool), write_timeout_seconds=0.1) as server:
        stream = await stall(server.urls[0], tool)
        await tool.ended.wait()
        await stream.aclose()


async def test_a_port_in_use_raises_the_bare_os_error_which_notes_where() -> None:
    async with serving(make_suite()) as server:
        port = int(server.urls[0].split(":")[2].partition("/")[0])
        with pytest.raises(OSError, match="in use") as caught:
            await serve(make_suite(), port=port, secret_key=KEY)
    assert caught.value.__notes__ == [f"It was to listen at 127.0.0.1, port {port}."]


@pytest.mark.parametrize(
    ("host", "allowed", "refused"),
    [
        ("192.0.2.7", ["192.0.2.7", "192.0.2.7:8000", "127.0.0.1:8000"], ["192.0.2.8"]),
        ("2001:db8::7", ["[2001:db8::7]:8000", "[2001:DB8:0::7]", "[::1]"], ["[2001:db8::8]"]),
        ("mcp.example.com", ["mcp.example.com", "MCP.example.com.:80"], ["example.com"]),
        (EVERY_ADDRESS, ["127.0.0.1", "localhost"], ["0.0.0.0:8000", "192.0.2.7"]),
        ("::", ["[::1]", "localhost:1"], ["[::]", "192.0.2.7"]),
        ("fe80::1%eth0", ["localhost"], ["[fe80::1]"]),
    ],
)
async def test_the_bound_host_is_allowed_unless_it_is_a_wildcard(
    host: str, allowed: list[str], refused: list[str]
) -> None:
    app = make_endpoint(make_suite(), host, None, {"secret_key": KEY})
    for name, status in [*((name, 200) for name in allowed), *((name, 403) for name in refused)]:
        assert (name, await _ask_under(app, name)) == (name, status)


async def _ask_under(app: StreamableHTTP, host: str) -> int:
    class Renamed(Client):
        def headers(self, method: str, params: Any) -> list[tuple[bytes, bytes]]:
            fields = super().headers(method, params)
            return [(b"host", host.encode()), *(one for one in fields if one[0] != b"host")]

    async with Renamed(app).open("tools/list") as answer:
        return answer.response.status


@pytest.mark.parametrize(
    ("host", "options", "warned"),
    [
        ("127.0.0.1", {}, False),
        ("127.8.8.8", {}, False),
        ("localhost", {}, False),
        ("::1", {}, False),
        (EVERY_ADDRESS, {}, True),
        ("::", {}, True),
        ("192.0.2.7", {}, True),
        ("192.0.2.7", {"allowed_hosts": ["mcp.example.com"]}, False),
        ("192.0.2.7", {"public_url": "https://mcp.example.com/mcp"}, False),
        (EVERY_ADDRESS, {"allowed_hosts": ["*"]}, False),
        (EVERY_ADDRESS, {"public_url": "https://mcp.example.com/mcp"}, False),
    ],
)
def test_a_host_others_reach_without_a_public_url_is_warned_about(
    host: str, options: dict[str, Any], *, warned: bool
) -> None:
    app = make_endpoint(make_suite(), host, None, {"secret_key": KEY, **options})
    warning = find_warning(app, host)
    assert (warning is not None) is warned
    assert warning is None or ("public_url" in warning and "--allowed-host" in warning)


@pytest.mark.parametrize("host", ["192.0.2.7", EVERY_ADDRESS])
def test_a_ready_endpoint_is_warned_about_as_well(host: str) -> None:
    warning = find_warning(StreamableHTTP(make_suite(), secret_key=KEY), host)
    assert warning is not None
    assert "only to loopback:" in warning


@pytest.mark.parametrize(
    ("host", "options", "said"),
    [
        ("127.0.0.1", {}, "as Host to loopback; as Origin to loopback"),
        ("192.0.2.7", {}, "as Host to loopback, 192.0.2.7 (bound); as Origin to loopback"),
        (
            "2001:db8::7",
            {"allowed_origins": ["https://app.example.com"]},
            (
                "as Host to loopback, [2001:db8::7] (bound); as Origin to loopback, "
                "https://app.example.com (allowed_origins)"
            ),
        ),
    ],
)
def test_who_is_answered_is_said_with_the_reason(
    host: str, options: dict[str, Any], said: str
) -> None:
    app = make_endpoint(make_suite(), host, None, {"secret_key": KEY, **options})
    assert describe_senders(app, host) == f"Answering {said}"


async def find_nobody(scope: Any) -> str | None:
    return None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, None),
        ({"public_url": "https://a.example", **dict.fromkeys(PER_CALLER)}, None),
        (
            {"max_calls_per_caller": 3},
            (
                "told by network address, which behind a proxy is the proxy's: "
                "max_calls_per_caller 3 (given)"
            ),
        ),
        (
            {"principal": find_nobody, "rate_limit": RateLimit(5, 1)},
            (
                "told by principal: max_calls_per_caller 100, max_streams_per_caller 100, "
                "rate_limit 5/1s, completion_rate_limit 1000/60s (on because of principal)"
            ),
        ),
        (
            {
                "public_url": "https://a.example",
                "authorization": Authorization(
                    FakeVerifier({}), authorization_servers=["https://auth.example.com"]
                ),
                "max_streams_per_caller": None,
                "rate_limit": None,
                "completion_rate_limit": None,
            },
            (
                "told by authorization: max_calls_per_caller 100 "
                "(on because of public_url and authorization)"
            ),
        ),
    ],
)
def test_which_limits_callers_have_is_said_with_the_reason(
    options: dict[str, Any], said: str | None
) -> None:
    app = StreamableHTTP(make_suite(), secret_key=KEY, **options)
    assert describe_limits(app) == (said and f"Limits of each caller, {said}")


def test_the_options_are_those_of_the_endpoint_and_the_port() -> None:
    limits = {field.name for field in attrs.fields(Limits)}
    endpoint = set(inspect.signature(StreamableHTTP).parameters) - {"server", "path", "limits"}
    port = {field.name for field in attrs.fields(PortConfig)} - {"host", "port", "grace_seconds"}
    assert LimitOptions.__optional_keys__ == limits
    assert EndpointOptions.__optional_keys__ == endpoint | limits
    assert set(ListenOptions.__annotations__) | set(PortOptions.__annotations__) == port


@pytest.mark.parametrize(
    ("server", "options", "error", "names"),
    [
        (SUITE, {"colour": "red"}, TypeError, "colour"),
        (SUITE, {"prt": 8000}, TypeError, "no option 'prt'; did you mean port?"),
        (SUITE, {"max_call": 8}, TypeError, "no option 'max_call'; did you mean max_calls?"),
        (SUITE, {"port": -1}, ValueError, "port"),
        (SUITE, {"port": "8000"}, ValueError, "port must be 0 to 65535, got '8000'"),
        (SUITE, {"path": "mcp"}, ValueError, "path"),
        (SUITE, {"public_url": "http://mcp.example.com"}, ValueError, "public_url"),
        (SUITE, {"allowed_hosts": "one.example"}, TypeError, "allowed_hosts"),
        (SUITE, {"max_connections": 0}, ValueError, "max_connections"),
        (Suite, {}, TypeError, "Suite"),
        (None, {}, TypeError, "None"),
        (StreamableHTTP(make_suite(), secret_key=KEY), {"path": "/x"}, TypeError, "path"),
        (
            StreamableHTTP(make_suite(), secret_key=KEY),
            {"public_url": "https://mcp.example.com"},
            TypeError,
            "public_url",
        ),
        (
            StreamableHTTP(make_suite(), secret_key=KEY),
            {"secret_key": KEY},
            TypeError,
            "secret_key",
        ),
    ],
    ids=str,
)
async def test_what_makes_no_sense_is_named(
    server: Any, options: dict[str, Any], error: type[Exception], names: str
) -> None:
    if server is SUITE:
        options = {"secret_key": KEY, **options}
    with pytest.raises(error, match=re.escape(names)):
        await serve(server, **options)


@pytest.mark.parametrize("function", [serve, serve_stdio], ids=lambda one: one.__name__)
def test_another_event_loop_is_told_how_to_start_it(function: Any) -> None:
    with pytest.raises(RuntimeError, match=rf"with trio.run\({function.__name__}, suite\)"):
        asyncio.run(function(make_suite()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
async def test_a_signal_stops_it_and_the_handlers_are_given_back(number: signal.Signals) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    async with serving(make_suite(), handle_signals=True) as server:
        signal.raise_signal(number)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL  # a second one ends all
        await server.ended.wait()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


async def test_signals_are_left_alone_unless_asked_for() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    async with serving(make_suite()):
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_signals_cannot_be_handled_outside_of_the_main_thread() -> None:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            trio.run(partial(serve, make_suite(), port=0, handle_signals=True, secret_key=KEY))
        except RuntimeError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(HANG_GUARD_SECONDS)
    assert ["main thread" in str(error) for error in raised] == [True]


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://localhost/mcp", "localhost", 200),
        ("http://127.0.0.1:1/mcp", "evil.example", 200),
        ("http://evil.example/mcp", "localhost", 403),
    ],
)
async def test_the_host_in_the_target_is_the_one_that_counts(
    target: str, host: str, status: int
) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":%s}}' % (
        json.dumps(META).encode()
    )
    async with serving(make_suite()) as server:
        fields = dict(server.client.headers("tools/list", {"_meta": META}))
        fields |= {b"host": host.encode(), b"content-length": b"%d" % len(body)}
        head = b"".join(b"%s: %s\r\n" % field for field in fields.items())
        port = int(server.urls[0].split(":")[2].partition("/")[0])
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(b"POST %s HTTP/1.1\r\n%s\r\n" % (target.encode(), head) + body)
            answer = await read_until(stream, b"\r\n\r\n")
    assert read_status(answer) == status
