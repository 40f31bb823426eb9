"""Our own server in a shutdown that nothing may hold up."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio

from genmcp.server import Server
from genmcp.transport.http1 import run_http1
from genmcp.transport.port_config import PortConfig
from genmcp.transport.serve import serve
from tests.e2e.raw_http import GET, HANG_GUARD_SECONDS, AsgiAnswer, Streaming
from tests.e2e.test_serve_shutdown import make_suite

NOTIFICATION = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'


def post(body: bytes) -> bytes:
    return (
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        b"Mcp-Method: notifications/cancelled\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    )


class Absorbed(Server):
    """Never comes back from a notification."""

    def __init__(self) -> None:
        self._suite = make_suite()
        self.told = trio.Event()

    def methods(self) -> Any:
        return self._suite.methods()

    async def handle_request(self, *args: Any) -> Any:
        return await self._suite.handle_request(*args)

    async def handle_notification(self, notification: Any) -> None:
        self.told.set()
        await trio.sleep_forever()


@pytest.mark.parametrize("how", ["stopped", "cancelled"])
async def test_a_notification_that_nobody_finishes_holds_up_nothing(how: str) -> None:
    server, stop = Absorbed(), trio.Event()
    start = partial(serve, server, port=0, secret_key="k" * 32, stop=stop, grace_seconds=0.2)
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            (url,) = await nursery.start(start)
            port = int(url.split(":")[2].split("/")[0])
            stream = await trio.open_tcp_stream("127.0.0.1", port)
            await stream.send_all(post(NOTIFICATION))
            await server.told.wait()
            if how == "stopped":
                stop.set()
            else:
                nursery.cancel_scope.cancel()
    await stream.aclose()


async def test_an_interrupt_in_the_shutdown_waits_for_no_connection() -> None:
    async def drain(_grace_seconds: float) -> None:
        raise KeyboardInterrupt

    app, stop = Streaming(), trio.Event()
    start = partial(
        run_http1,
        AsgiAnswer(app),
        PortConfig(port=0, grace_seconds=3600),
        cleanup_seconds=5,
        drain=drain,
        stop=stop,
    )
    with pytest.RaisesGroup(KeyboardInterrupt, flatten_subgroups=True):
        with trio.fail_after(HANG_GUARD_SECONDS):
            async with trio.open_nursery() as nursery:
                (url,) = await nursery.start(start)
                port = int(url.rpartition(":")[2])
                stream = await trio.open_tcp_stream("127.0.0.1", port)
                await stream.send_all(GET)
                await app.started.wait()
                stop.set()
    assert app.open == 0
    await stream.aclose()
