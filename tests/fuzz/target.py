"""The server under attack, those who use it meanwhile, and what must be left at the end."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any, Literal

import attrs
import h11
import trio

from genmcp import EventBus, StreamableHTTP
from genmcp.transport.serve import serve
from tests.fuzz.corpus import make_call, make_message, render_post
from tests.fuzz.judge import judge_message
from tests.fuzz.suite import make_suite

Front = Literal["native", "hypercorn"]

_LOGGERS = ("genmcp", "hypercorn", "trio")
_SETTLE_SECONDS = 20.0


class CanaryError(Exception):
    """Whoever uses the server noticed the attack."""


class ErrorLog(logging.Handler):
    """Keeps what is logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it, with its traceback."""
        self.errors.append(self.format(record))


@attrs.frozen
class Resources:
    """What a server holds."""

    tasks: int
    descriptors: int
    calls: int


@attrs.define
class Target:
    """A server that runs.

    Attributes:
        app: its endpoint.
        port: where it listens.
        log: the errors it has logged.
        calls_made: how many calls the canaries have made.
        heard: how many events the open stream has had.
    """

    app: StreamableHTTP
    bus: EventBus
    port: int
    log: ErrorLog
    calls_made: int = 0
    heard: int = 0

    def count(self) -> Resources:
        """Count what is open now."""
        gc.collect()
        tasks = trio.lowlevel.current_statistics().tasks_living
        return Resources(tasks, count_descriptors(), self.app.mux.open_calls)

    async def settle(self, at_most: Resources) -> Resources:
        """Wait until no more is open than that; return what is."""
        with trio.move_on_after(_SETTLE_SECONDS):
            while not is_within(self.count(), at_most):  # noqa: ASYNC110 - counts
                await trio.sleep(0.05)
        return self.count()

    async def live(self) -> None:
        """Make good calls on a connection that is kept, until cancelled.

        Raises:
            CanaryError: one went wrong.
        """
        connection = await Canary.connect(self.port)
        number = 0
        try:
            while True:
                number += 1
                message = make_call("add", number, a=number, b=1)
                answer = await connection.ask(render_post(message))
                content = answer.get("result", {}).get("content")
                if answer.get("id") != number or content != [
                    {"type": "text", "text": str(number + 1)}
                ]:
                    raise CanaryError(f"call {number} was answered {answer}")
                self.calls_made += 1
                await trio.sleep(0.002)
        finally:
            await trio.aclose_forcefully(connection.stream)

    async def listen(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Hold a listen stream open, and hear of every change, until cancelled.

        Raises:
            CanaryError: it ended.
        """
        connection = await Canary.connect(self.port)
        listen = make_message("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        try:
            await connection.stream.send_all(render_post(listen))
            async for _ in connection.read_events():
                self.heard += 1
                task_status.started() if self.heard == 1 else None
            raise CanaryError("the open stream ended")
        finally:
            await trio.aclose_forcefully(connection.stream)


@attrs.define
class Canary:
    """One connection of a client that does nothing wrong."""

    stream: trio.SocketStream
    reader: h11.Connection

    @classmethod
    async def connect(cls, port: int) -> Canary:
        return cls(await trio.open_tcp_stream("127.0.0.1", port), h11.Connection(h11.CLIENT))

    async def ask(self, request: bytes) -> dict[str, Any]:
        """Return the JSON that a request is answered with."""
        await self.stream.send_all(request)
        body = b"".join([piece async for piece in self._read_body()])
        return judge_message(body)

    async def read_events(self) -> AsyncGenerator[dict[str, Any]]:
        """Yield the messages of a stream of events as they come."""
        rest = b""
        async with aclosing(self._read_body()) as pieces:
            async for piece in pieces:
                *events, rest = (rest + piece).split(b"\n\n")
                for line in b"\n".join(events).split(b"\n"):
                    if line.startswith(b"data:"):
                        yield judge_message(line.removeprefix(b"data:"))

    async def _read_body(self) -> AsyncGenerator[bytes]:
        reader = self.reader
        reader.send(h11.Request(method="POST", target="/", headers=[("host", "a")]))
        reader.send(h11.EndOfMessage())
        while True:
            event: Any = reader.next_event()
            match event:
                case h11.NEED_DATA:
                    data = bytes(await self.stream.receive_some())
                    if not data:
                        raise CanaryError("the server closed the connection")
                    reader.receive_data(data)
                case h11.Response(status_code=status) if status != 200:
                    raise CanaryError(f"a good call was answered with {event!r}")
                case h11.Data():
                    yield bytes(event.data)
                case h11.EndOfMessage():
                    reader.start_next_cycle()
                    return
                case h11.ConnectionClosed():
                    raise CanaryError("the server closed the connection")
                case _:
                    pass


@asynccontextmanager
async def under_attack(front: Front, **options: Any) -> AsyncGenerator[Target]:
    """Serve for the time of the block; afterwards the server has ended, and by itself.

    The time limits are short, so that nothing is held for longer than the block.
    """
    bus, log, stop = EventBus(), ErrorLog(), trio.Event()
    app = StreamableHTTP(make_suite(bus), secret_key="k" * 32, body_timeout_seconds=3)
    # Not the second that the rest of a refused body is read for: a body that stalls would
    # be refused and cut at the same moment.
    limits = {"read_timeout_seconds": 2, "idle_timeout_seconds": 3, "write_timeout_seconds": 1}
    run = partial(
        serve,
        app,
        port=0,
        http=front,
        http2=front == "hypercorn",
        stop=stop,
        grace_seconds=5,
        **{**limits, **options},
    )
    for name in _LOGGERS:
        logging.getLogger(name).addHandler(log)
    try:
        async with trio.open_nursery() as nursery:
            (url,) = await nursery.start(run)
            yield Target(app, bus, int(url.split(":")[2].split("/")[0]), log)
            stop.set()
    finally:
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(log)


def is_within(now: Resources, bounds: Resources) -> bool:
    """Tell whether nothing is open that was not."""
    return all(a <= b for a, b in zip(attrs.astuple(now), attrs.astuple(bounds), strict=True))


def count_descriptors() -> int:
    """Count the open file descriptors of this process, where the system tells."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        if os.path.isdir(folder):  # noqa: PTH112 - no Path, which would be garbage
            return len(os.listdir(folder))  # noqa: PTH208 - likewise
    return 0
