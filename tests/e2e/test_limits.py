"""Limits on a real port: one caller at its limit, and another beside it."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from typing import Any

import attrs
import trio

from genmcp.channel import Channel
from genmcp.limits import RateLimit
from genmcp.mcp import v2607 as mcp
from genmcp.providers import Tool
from genmcp.suite import Suite
from genmcp.transport.asgi import StreamableHTTP
from tests.e2e.raw_http import Answer, Client, Running, connect, running

META: dict[str, Any] = {
    mcp.PROTOCOL_VERSION_KEY: mcp.PROTOCOL_VERSION,
    mcp.CLIENT_CAPABILITIES_KEY: {},
}


class Hello(Tool[dict[str, Any]], name="hello", description="Says hello."):
    async def call(self, request: Any, channel: Channel) -> str:
        return "hello"


@attrs.frozen(eq=False)
class Wait(Tool[dict[str, Any]], name="wait", description="Waits until it may go."):
    entered: trio.Semaphore = attrs.field(factory=lambda: trio.Semaphore(0))
    go: trio.Event = attrs.field(factory=trio.Event)

    async def call(self, request: Any, channel: Channel) -> str:
        self.entered.release()
        await self.go.wait()
        return "done"


def read_user(scope: Any) -> str | None:
    user = dict(scope["headers"]).get(b"x-user")
    return None if user is None else user.decode()


def make_app(wait: Wait | None = None, **limits: Any) -> StreamableHTTP:
    suite = Suite(server_name="s", server_version="1", tools=[Hello, wait or Wait()])
    return StreamableHTTP(suite, path="/", secret_key="k" * 32, principal=read_user, **limits)


async def call(client: Client, user: str, tool: str, request_id: mcp.RequestId = 1) -> Answer:
    message = {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": "tools/call",
        "params": {"name": tool, "_meta": META},
    }
    headers = {
        "content-type": "application/json",
        "mcp-protocol-version": mcp.PROTOCOL_VERSION,
        "mcp-method": "tools/call",
        "mcp-name": tool,
        "x-user": user,
    }
    return await client.ask("POST", json.dumps(message).encode(), headers)


class Callers:
    """Opens a connection for each call, and keeps the answers by who called."""

    def __init__(self, server: Running, connections: AsyncExitStack, nursery: trio.Nursery) -> None:
        self.answers: list[tuple[str, int]] = []
        self._server = server
        self._connections = connections
        self._nursery = nursery

    async def connect(self) -> Client:
        stream = await connect(self._server)
        return Client(await self._connections.enter_async_context(stream))

    async def begin(self, user: str, tool: str) -> None:
        self._nursery.start_soon(self._run, await self.connect(), user, tool)

    async def _run(self, client: Client, user: str, tool: str) -> None:
        self.answers.append((user, (await call(client, user, tool)).status))


async def test_the_third_call_of_one_caller_is_429_while_another_goes_on() -> None:
    wait = Wait()
    app = make_app(wait, max_calls_per_caller=2)
    async with (
        running(app, drain=app.drain) as server,
        AsyncExitStack() as connections,
        trio.open_nursery() as nursery,
    ):
        callers = Callers(server, connections, nursery)
        for _ in range(2):
            await callers.begin("ada", "wait")
            await wait.entered.acquire()
        third = await callers.connect()
        refused = await call(third, "ada", "hello", "the third")
        assert refused.status == 429
        assert refused.headers["retry-after"] == "1"
        said = json.loads(refused.body)
        assert said["id"] == "the third"
        assert said["error"]["data"] == {
            "setting": "max_calls_per_caller",
            "flag": "--max-calls-per-caller",
            "variable": "GENMCP_MAX_CALLS_PER_CALLER",
            "limit": 2,
            "retryAfterSeconds": 1,
        }
        # On that very connection: the refusal was about who called, and is over.
        assert (await call(third, "bob", "hello")).status == 200
        await callers.begin("bob", "wait")
        await wait.entered.acquire()
        assert (await call(third, "ada", "hello")).status == 429
        wait.go.set()
    assert sorted(callers.answers) == [("ada", 200), ("ada", 200), ("bob", 200)]
    assert app.mux.admission.taken == 0


async def test_a_caller_that_hangs_up_may_call_again() -> None:
    wait = Wait()
    app = make_app(wait, max_calls_per_caller=1)
    async with running(app, drain=app.drain) as server:
        for _ in range(3):
            async with await connect(server) as stream, trio.open_nursery() as nursery:
                nursery.start_soon(call, Client(stream), "ada", "wait")
                await wait.entered.acquire()
                nursery.cancel_scope.cancel()
            # The server hears of it when its socket does.
            while app.mux.open_calls:
                await trio.lowlevel.checkpoint()
        async with await connect(server) as stream:
            assert (await call(Client(stream), "ada", "hello")).status == 200


async def test_the_rate_is_one_over_connections_and_over_one_that_is_kept() -> None:
    # A day: no test takes so long that a token flows back.
    app = make_app(rate_limit=RateLimit(calls=3, per_seconds=86_400))
    async with running(app, drain=app.drain) as server:
        async with await connect(server) as stream:
            client = Client(stream)
            kept = [(await call(client, "ada", "hello")).status for _ in range(2)]
        async with await connect(server) as stream:
            client = Client(stream)
            again = [await call(client, "ada", "hello", number) for number in range(3)]
            assert (await call(client, "bob", "hello")).status == 200
    assert kept == [200, 200]
    assert [answer.status for answer in again] == [200, 429, 429]
    assert json.loads(again[2].body)["id"] == 2
    assert 0 < int(again[2].headers["retry-after"]) <= 28_800
    assert json.loads(again[2].body)["error"]["data"]["setting"] == "rate_limit"


async def test_callers_that_nobody_authenticated_are_one_by_their_address() -> None:
    suite = Suite(server_name="s", server_version="1", tools=[Hello])
    app = StreamableHTTP(suite, path="/", rate_limit=RateLimit(calls=1, per_seconds=86_400))
    async with running(app, drain=app.drain) as server:
        statuses = []
        for user in ("ada", "bob"):
            async with await connect(server) as stream:
                statuses.append((await call(Client(stream), user, "hello")).status)
    assert statuses == [200, 429]
