"""A client in memory: the real transport, without a socket.

Layer: testing. Speaks protocol `2026-07-28` to a Suite (or any `StreamableHTTP`
app) as an official client does, headers and all, streams, and can hang up.

    async with Client(suite) as client:
        result = await client.call_tool("add", {"a": 1, "b": 2})
"""

from __future__ import annotations

import base64
import itertools
import secrets
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self, cast

import orjson

from genmcp.authorization import Authorization
from genmcp.errors import McpError, show
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.unset import UNSET
from genmcp.providers.param_headers import ParamHeader, read_param_headers, render_param
from genmcp.server import Server
from genmcp.testing.access import RESOURCE, FakeVerifier
from genmcp.testing.answering import ASKS_ANYTHING, AnsweringClient
from genmcp.testing.memory_http import MemoryResponse, exchange
from genmcp.testing.repo_methods import RepoMethods
from genmcp.testing.sse_reader import SSEReader
from genmcp.testing.subscription import Subscription
from genmcp.transport.asgi import StreamableHTTP
from genmcp.wire.codec import decode, encode

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
    from types import TracebackType

    from genmcp.access import Access
    from genmcp.testing.answering import AnsweringClient
from genmcp.testing.memory_http import ASGIApp

_PREFIX = "io.modelcontextprotocol/"
_SELF = mcp.Implementation(name="genmcp.testing", version="0")
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class ServerError(McpError):
    """A JSON-RPC error the server answered with, as the client sees it."""

    def __init__(self, code: int, message: str, data: Any) -> None:
        # Not through McpError: it refuses codes a server may not send, and a
        # client has to be able to see that one did.
        Exception.__init__(self, message)
        self.code = code
        self.message = message
        self.data = data


class Answer:
    """One request's answer while it arrives: iterate over its messages.

    The messages are JSON-RPC in wire form: notifications, then the response.

    Attributes:
        response: the HTTP response.
        request_id: the id the request was sent with.
    """

    def __init__(self, response: MemoryResponse, request_id: mcp.RequestId) -> None:
        self.response = response
        self.request_id = request_id
        self._streams = response.header("content-type") == "text/event-stream"
        self._parts = aiter(response)
        self._reader = SSEReader()
        self._ready: deque[dict[str, Any]] = deque()

    # Not an async generator: one that a test leaves half-way would have to be closed.
    def __aiter__(self) -> Answer:
        return self

    async def __anext__(self) -> dict[str, Any]:
        while not self._ready:
            try:
                part = await anext(self._parts)
            except StopAsyncIteration:
                self._reader.finish()
                raise
            if self._streams:
                self._ready += self._reader.feed(part)
            else:
                self._ready.append(orjson.loads(part + await self.response.read()))
        return self._ready.popleft()

    async def next_message(self) -> dict[str, Any]:
        """Wait for one message.

        Raises:
            AssertionError: the answer has ended.
        """
        message = await anext(self, None)
        assert message is not None, "the server ended its answer"
        return message

    async def disconnect(self) -> None:
        """Hang up, and wait until the server has cleaned up."""
        await self.response.disconnect()


class Client(RepoMethods):
    """Talks to a server in this process.

    Arguments that a tool wants repeated in headers (`x-mcp-header`) are, as an official
    client does it: for the tools it has listed. `call_tool` lists them when it has to.

    Args:
        server: a `Server` such as a Suite, or an ASGI app that serves MCP.
        capabilities: what the client declares on every request; with `answers`,
            by default, that it can be asked anything.
        answers: answers what tools, prompts and resources ask for; without it, what
            asks is returned as an `InputRequiredResult`.
        info: how it names itself; `None` to leave that out.
        path: where the app serves MCP.
        token: an access token that is sent with every request, to an app that checks it.
        access: what its access token allows, for a `Server`: scopes are checked then. An
            app checks tokens itself, so give it a `token`.

    Raises:
        TypeError: `access` for an app, or `token` alone for a `Server`; or it is neither.
    """

    def __init__(
        self,
        server: Server | ASGIApp,
        *,
        capabilities: mcp.ClientCapabilities | None = None,
        answers: AnsweringClient | None = None,
        info: mcp.Implementation | None = _SELF,
        path: str = "/mcp",
        token: str | None = None,
        access: Access | None = None,
    ) -> None:
        if isinstance(server, Server):
            if token is not None and access is None:
                raise TypeError(
                    "token is for an app, which checks it; for a Server, give access= to say "
                    "what the token allows"
                )
            token = secrets.token_urlsafe() if token is None and access is not None else token
            server = _make_endpoint(server, token, access)
        elif isinstance(server, type) or not callable(server):
            raise TypeError(
                "Client takes a Server, such as a Suite, or an ASGI application, got "
                f"{show(server)}; a tool is listed in a Suite, or called with call_tool"
            )
        elif access is not None:
            raise TypeError("access is for a Server; an app checks tokens itself: give token=")
        self._token = token
        self.app: ASGIApp = server
        self._answers = answers
        if capabilities is None:
            capabilities = mcp.ClientCapabilities() if answers is None else ASKS_ANYTHING
        self._capabilities = capabilities
        self._info = info
        self._path = path
        self._ids = itertools.count(1)
        self._param_headers: dict[str, tuple[ParamHeader, ...]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass  # every exchange ends with its own block; there is nothing to close

    # -- the methods of the protocol ---------------------------------------------

    async def discover(self) -> mcp.DiscoverResult:
        """Ask what the server is and can do.

        Raises:
            ServerError: the server answered with an error.
        """
        return decode(mcp.DiscoverResult, await self.request("server/discover"))

    async def list_tools(self, cursor: str | None = None) -> mcp.ListToolsResult:
        """Ask for one page of the tools. Raises as `discover`."""
        params = {} if cursor is None else {"cursor": cursor}
        page = decode(mcp.ListToolsResult, await self.request("tools/list", params))
        self._param_headers |= {tool.name: _read_param_headers(tool) for tool in page.tools}
        return page

    async def list_all_tools(self) -> Sequence[mcp.Tool]:
        """Ask for all pages of the tools. Raises as `discover`."""
        tools: list[mcp.Tool] = []
        cursor: str | None = None
        while True:
            page = await self.list_tools(cursor)
            tools.extend(page.tools)
            cursor = page.next_cursor
            if cursor is None:
                return tools

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        on_progress: Callable[[mcp.ProgressNotificationParams], None] | None = None,
        on_log: Callable[[mcp.LoggingMessageNotificationParams], None] | None = None,
        log_level: mcp.LoggingLevel = "debug",
    ) -> mcp.CallToolResult | mcp.InputRequiredResult:
        """Call a tool and wait for its result.

        Progress is asked for when `on_progress` is given, logs from `log_level`
        when `on_log` is. Refused because headers do not repeat the arguments, it
        lists the tools and tries once more. Raises as `discover`.
        """
        params: dict[str, Any] = {"name": name, "arguments": dict(arguments or {})}
        meta: dict[str, Any] = {}
        if on_progress is not None:
            meta["progressToken"] = name
        if on_log is not None:
            meta[_PREFIX + "logLevel"] = log_level

        def hear(message: dict[str, Any]) -> None:
            if message["method"] == "notifications/progress" and on_progress is not None:
                on_progress(decode(mcp.ProgressNotificationParams, message["params"]))
            elif message["method"] == "notifications/message" and on_log is not None:
                on_log(decode(mcp.LoggingMessageNotificationParams, message["params"]))
            else:
                raise AssertionError(f"nobody asked for {message!r}")

        known = self._param_headers.get(name, ())
        try:
            result = await self.request_answered("tools/call", params, meta=meta, hear=hear)
        except ServerError as error:
            if error.code != mcp.HEADER_MISMATCH:
                raise
            await self.list_all_tools()
            if self._param_headers.get(name, ()) == known:
                raise
            result = await self.request_answered("tools/call", params, meta=meta, hear=hear)
        if result.get("resultType") == "input_required":
            return decode(mcp.InputRequiredResult, result)
        return decode(mcp.CallToolResult, result)

    @asynccontextmanager
    async def listen(
        self,
        *,
        tools_list_changed: bool = False,
        prompts_list_changed: bool = False,
        resources_list_changed: bool = False,
        resource_subscriptions: Sequence[str] = (),
    ) -> AsyncGenerator[Subscription]:
        """Listen for changes; the block begins when the server has acknowledged.

        Leaving the block hangs up.

        Raises:
            ServerError: the server answered with an error.
            AssertionError: it did not acknowledge first.
        """
        wanted = mcp.SubscriptionFilter(
            tools_list_changed=tools_list_changed or None,
            prompts_list_changed=prompts_list_changed or None,
            resources_list_changed=resources_list_changed or None,
            resource_subscriptions=resource_subscriptions or None,
        )
        params = {"notifications": encode(wanted)}
        async with self.open(mcp.SubscriptionsListenRequest.method, params) as answer:
            first = await answer.next_message()
            if "method" not in first:
                result = _read_response(first, answer.request_id)
                raise AssertionError(f"the server ended before it acknowledged: {result!r}")
            yield Subscription(answer, first, _read_response)

    # -- any request -------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        hear: Callable[[dict[str, Any]], None] | None = None,
    ) -> dict[str, Any]:
        """Send a request in wire form; return its result in wire form.

        Notifications that come before it go to `hear`.

        Raises:
            ServerError: the server answered with an error.
            AssertionError: it answered with something else than its request's
                response, or with no response at all.
        """
        async with self.open(method, params, meta=meta) as answer:
            async for message in answer:
                if "method" not in message:
                    return _read_response(message, answer.request_id)
                assert "id" not in message, f"a server must not send requests: {message!r}"
                if hear is not None:
                    hear(message)
        raise AssertionError("the stream ended without a response")

    @asynccontextmanager
    async def open(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Answer]:
        """Send a request and watch its answer arrive. Leaving the block hangs up."""
        request_id = next(self._ids)
        full = {**(params or {}), "_meta": {**self._meta(), **(meta or {})}}
        body = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": full}
        headers = self.headers(method, full)
        async with self.post(orjson.dumps(body), headers) as response:
            yield Answer(response, request_id)

    def post(self, body: bytes, headers: Sequence[tuple[bytes, bytes]]) -> Any:
        """Send these very bytes; give a `MemoryResponse`. An async context manager."""
        return exchange(self.app, path=self._path, headers=headers, body=body)

    def headers(self, method: str, params: Mapping[str, Any]) -> list[tuple[bytes, bytes]]:
        """Return the headers a client sends with this request."""
        fields = [
            ("host", "127.0.0.1:8000"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", mcp.PROTOCOL_VERSION),
            ("mcp-method", method),
        ]
        if method in _NAMED:
            fields.append(("mcp-name", encode_header_value(str(params[_NAMED[method]]))))
        if self._token is not None:
            fields.append(("authorization", f"Bearer {self._token}"))
        if method == mcp.CallToolRequest.method:
            fields += self._render_params(params)
        return [(name.encode("ascii"), value.encode("ascii")) for name, value in fields]

    def _render_params(self, params: Mapping[str, Any]) -> list[tuple[str, str]]:
        fields: list[tuple[str, str]] = []
        for header in self._param_headers.get(params["name"], ()):
            text = render_param(header.find_value(params.get("arguments") or {}))
            if text is not None:
                fields.append((f"mcp-param-{header.key}", encode_header_value(text)))
        return fields

    def _meta(self) -> dict[str, Any]:
        meta = {
            _PREFIX + "protocolVersion": mcp.PROTOCOL_VERSION,
            _PREFIX + "clientCapabilities": encode(self._capabilities),
        }
        if self._info is not None:
            meta[_PREFIX + "clientInfo"] = encode(self._info)
        return meta


def _make_endpoint(server: Server, token: str | None, access: Access | None) -> StreamableHTTP:
    secret_key = secrets.token_bytes(32)
    if token is None or access is None:
        return StreamableHTTP(server, secret_key=secret_key)
    authorization = Authorization(
        FakeVerifier({token: access}),
        authorization_servers=["https://auth.example.com"],
        # Whomever it is for: what is tested here is what it allows.
        extra_audiences=access.audiences,
    )
    return StreamableHTTP(
        server,
        public_url=RESOURCE,
        path="/mcp",
        authorization=authorization,
        secret_key=secret_key,
    )


def encode_header_value(value: str) -> str:
    """Write `value` as a header: as it is, or in Base64 where it could not travel.

    Spec: basic/transports/streamable-http#value-encoding
    """
    plain = value.isascii() and value.isprintable() and value == value.strip()
    if plain and not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    return "=?base64?" + base64.b64encode(value.encode("utf-8")).decode("ascii") + "?="


def _read_param_headers(tool: mcp.Tool) -> tuple[ParamHeader, ...]:
    try:
        return read_param_headers(tool.input_schema)
    except ValueError:
        return ()  # an official client would not even show such a tool


def _read_response(message: dict[str, Any], request_id: mcp.RequestId) -> dict[str, Any]:
    if "error" in message:
        given: Any = message["error"]
        assert isinstance(given, dict), f"this is no error of JSON-RPC: {message!r}"
        error = cast("dict[str, Any]", given)
        assert {"code", "message"} <= error.keys(), f"this is no error of JSON-RPC: {message!r}"
        raise ServerError(error["code"], error["message"], error.get("data", UNSET))
    assert message.get("jsonrpc") == "2.0"
    assert isinstance(message.get("result"), dict), f"this is no response: {message!r}"
    assert message.get("id") == request_id, f"this answers another request: {message!r}"
    result: dict[str, Any] = message["result"]
    return result
