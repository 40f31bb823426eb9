"""A client that says exactly the bytes it is told to, and applications to say them to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import attrs
import h11
import trio

from genmcp.events import ClientGone
from genmcp.transport.exchange import BadBodyError, BodyStalledError, Exchange
from genmcp.transport.http1 import run_http1
from genmcp.transport.port_config import PortConfig
from genmcp.transport.reply import Chunk, End, Head, HeaderPairs, Part, Whole
from genmcp.transport.runner import run_asgi

App = Callable[[Any, Any, Any], Awaitable[None]]

HANG_GUARD_SECONDS = 60
"""How long a test may take before it counts as hanging; nothing here is measured by it."""

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


front = "hypercorn"
"""Which of the two servers `running` runs; see conftest."""


async def let_finish(_grace_seconds: float) -> None:
    """Drain nothing: what is open ends by itself, or is cut."""


class AsgiAnswer:
    """Lets an ASGI application answer on our own server, which speaks no ASGI."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, exchange: Exchange) -> None:
        head: list[Head] = []

        async def receive() -> dict[str, Any]:
            if exchange._body_read or exchange.client_left:
                await exchange.wait_until_gone()
            try:
                if not exchange.client_left:
                    body = await exchange._receive_piece()
                    more = not exchange._body_read
                    return {"type": "http.request", "body": body, "more_body": more}
            except (ClientGone, BadBodyError, BodyStalledError):
                exchange.client_left = True
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if not exchange.reachable:
                raise OSError("the client has left")
            if message["type"] == "http.response.start":
                head.append(Head(message["status"], tuple(message["headers"])))
                return
            parts: list[Part] = [*head]
            head.clear()
            if parts and not message.get("more_body"):
                [start] = cast("list[Head]", parts)
                headers = _with_length(start.headers, message)
                await exchange.send_whole(Whole(start.status, headers, message["body"]))
                return
            if message.get("body"):
                parts.append(Chunk(message["body"]))
            if not message.get("more_body"):
                parts.append(End())
            try:
                await exchange.send_parts(parts)
            except ClientGone as error:
                raise OSError("the client has left") from error

        try:
            await self._app(exchange.scope, receive, send)
        except* OSError:
            pass  # the client has left


def _with_length(headers: HeaderPairs, message: dict[str, Any]) -> HeaderPairs:
    if any(name == b"content-length" for name, _ in headers):
        return headers
    return (*headers, (b"content-length", b"%d" % len(message["body"])))


@attrs.frozen
class Running:
    """A server that runs, and the way to stop it."""

    urls: list[str]
    stop: trio.Event
    ended: trio.Event

    @property
    def port(self) -> int:
        return int(self.urls[0].rpartition(":")[2])


async def run_port(
    app: App,
    config: PortConfig,
    *,
    drain: Callable[[float], Awaitable[None]] | None = None,
    stop: trio.Event | None = None,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run `app` on the server that `front` names, in the task that calls this."""
    # Only one of them speaks HTTP/2.
    if front == "hypercorn" or config.http2:
        await run_asgi(app, config, drain=drain, stop=stop, task_status=task_status)
    else:
        await run_http1(
            AsgiAnswer(app),
            config,
            cleanup_seconds=5,
            drain=drain or let_finish,
            stop=trio.Event() if stop is None else stop,
            task_status=task_status,
        )


@asynccontextmanager
async def running(
    app: App,
    *,
    drain: Callable[[float], Awaitable[None]] | None = None,
    **options: Any,
) -> AsyncGenerator[Running]:
    """Run `app` for the time of the block, on a free port; cancel it at the end."""
    stop, ended = trio.Event(), trio.Event()

    async def run(task_status: trio.TaskStatus[list[str]]) -> None:
        config = PortConfig(port=0, **options)
        try:
            await run_port(app, config, drain=drain, stop=stop, task_status=task_status)
        finally:
            ended.set()

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            urls = await nursery.start(run)
            yield Running(urls, stop, ended)
            nursery.cancel_scope.cancel()


async def connect(server: Running) -> trio.SocketStream:
    return await trio.open_tcp_stream("127.0.0.1", server.port)


@attrs.frozen
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """One keep-alive connection."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self._h11 = h11.Connection(h11.CLIENT)

    async def ask(
        self, method: str = "GET", body: bytes = b"", headers: dict[str, str] | None = None
    ) -> Answer:
        fields = {"host": "localhost", "content-length": str(len(body)), **(headers or {})}
        request = h11.Request(method=method, target="/", headers=list(fields.items()))
        events = (request, h11.Data(data=body), h11.EndOfMessage())
        data = b"".join(self._h11.send(event) or b"" for event in events)
        await self.stream.send_all(data)
        return await self.read_answer()

    async def ask_raw(self, data: bytes) -> Answer:
        """Ask for `/` with GET in exactly these bytes."""
        self._h11.send(h11.Request(method="GET", target="/", headers=[("host", "localhost")]))
        self._h11.send(h11.EndOfMessage())
        await self.stream.send_all(data)
        return await self.read_answer()

    async def read_answer(self) -> Answer:
        """Read one response to its end and make ready for the next."""
        response = await self._next()
        assert isinstance(response, h11.Response)
        body = b""
        while isinstance(event := await self._next(), h11.Data):
            body += bytes(event.data)
        assert isinstance(event, h11.EndOfMessage)
        if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()
        headers = {name.decode(): value.decode() for name, value in response.headers}
        return Answer(response.status_code, headers, body)

    async def _next(self) -> Any:
        while (event := self._h11.next_event()) is h11.NEED_DATA:
            self._h11.receive_data(bytes(await self.stream.receive_some()))
        return event


async def ask_anew(server: Running) -> Answer:
    """Ask on a connection of its own, as proof that the server lives."""
    async with await connect(server) as stream:
        return await Client(stream).ask()


async def read_all(stream: trio.abc.ReceiveStream) -> bytes:
    """Read until the server closes; a reset ends it too."""
    received = b""
    try:
        async for data in stream:
            received += data
    except trio.BrokenResourceError:
        pass
    return received


async def read_until(stream: trio.abc.ReceiveStream, end: bytes) -> bytes:
    """Read until `end` has come, in however many pieces it does."""
    received = b""
    while end not in received:
        piece = await stream.receive_some()
        assert piece, f"the server hung up after {received!r}"
        received += piece
    return received


async def say(server: Running, data: bytes) -> bytes:
    """Send `data` and nothing more; return all that comes back."""
    async with await connect(server) as stream:
        try:
            await stream.send_all(data)
            await stream.send_eof()
        except trio.BrokenResourceError:
            return b""
        return await read_all(stream)


def read_status(response: bytes) -> int:
    return int(response.split(b" ", 2)[1])


# -- applications --------------------------------------------------------------------


async def hello(scope: Any, receive: Any, send: Any) -> None:
    """Answer everything with five bytes, whatever the body; no lifespan."""
    assert scope["type"] == "http"
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]}
    )
    await send({"type": "http.response.body", "body": b"hello"})


async def measure(scope: Any, receive: Any, send: Any) -> None:
    """Read the whole body and answer how many bytes it had."""
    assert scope["type"] == "http"
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message["body"])
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"%d" % size})


class Streaming:
    """Answers with a stream that does not end by itself.

    Attributes:
        piece: what is sent over and over; sent once and then nothing if `endless` is
            false.
        open: how many streams are open.
        left: set when a stream ended, of whatever.
        told: what `receive` returned last on the last stream that ended.
    """

    def __init__(self, piece: bytes = b"tick\n", *, endless: bool = False) -> None:
        self.piece = piece
        self.endless = endless
        self.open = 0
        self.started = trio.Event()
        self.left = trio.Event()
        self.told: str | None = None
        self.draining = trio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        self.open += 1
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch, receive, nursery.cancel_scope)
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await self._send_pieces(send)
                await send({"type": "http.response.body", "body": b"bye"})
                nursery.cancel_scope.cancel()
        finally:
            self.open -= 1
            self.left.set()

    async def _send_pieces(self, send: Any) -> None:
        piece = {"type": "http.response.body", "body": self.piece, "more_body": True}
        await send(piece)
        self.started.set()
        while self.endless and not self.draining.is_set():
            await send(piece)
        await self.draining.wait()

    async def _watch(self, receive: Any, scope: trio.CancelScope) -> None:
        while (message := await receive())["type"] == "http.request":
            pass
        self.told = message["type"]
        scope.cancel()

    async def drain(self, _grace_seconds: float) -> None:
        self.draining.set()
