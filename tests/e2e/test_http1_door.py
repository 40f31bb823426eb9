"""Our own server's door: who is let in, who is refused, and what cannot close it."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from typing import Any

import pytest
import trio

from genmcp.transport.http1.door import Door
from genmcp.transport.http1.service import Service
from genmcp.transport.listeners import bind_port
from genmcp.transport.port_config import PortConfig
from tests.e2e.raw_http import (
    GET,
    HANG_GUARD_SECONDS,
    AsgiAnswer,
    Client,
    Running,
    Streaming,
    connect,
    hello,
    read_all,
    read_status,
    read_until,
    running,
)


def connect_all_at_once(server: Running, count: int) -> list[socket.socket]:
    """Connect so that one look of the server finds all of them waiting."""
    return [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]


def adopt(sock: socket.socket) -> trio.SocketStream:
    sock.setblocking(False)
    return trio.SocketStream(trio.socket.from_stdlib_socket(sock))


async def test_each_newcomer_of_a_burst_needs_an_idle_connection_of_its_own() -> None:
    async with running(hello, max_connections=3) as server:
        idle = [adopt(one) for one in connect_all_at_once(server, 3)]
        for one in idle:
            assert (await Client(one).ask()).status == 200
        newcomers = [adopt(one) for one in connect_all_at_once(server, 10)]
        statuses = [read_status(await ask_over(one)) for one in newcomers]
        assert sorted(statuses) == [200] * 3 + [503] * 7
        for one in [*idle, *newcomers]:
            await one.aclose()


async def ask_over(stream: trio.SocketStream) -> bytes:
    await stream.send_all(GET)
    return await read_until(stream, b"\r\n\r\n")


async def test_a_refusal_arrives_however_slowly_the_request_is_sent() -> None:
    app = Streaming()
    async with running(app, max_connections=1) as server, await connect(server) as busy:
        await busy.send_all(GET)
        await app.started.wait()
        async with await connect(server) as stream:
            told = await stream.receive_some(1)
            for _ in range(3):
                await stream.send_all(bytes(10_000))
                await trio.sleep(0.01)  # for a reset to come back, were there one
            told += b"".join([data async for data in stream])
            assert read_status(told) == 503
        app.draining.set()


async def test_only_so_many_newcomers_at_a_time_are_told_that_there_is_no_room() -> None:
    app = Streaming()
    async with running(app, max_connections=1) as server, await connect(server) as busy:
        await busy.send_all(GET)
        await app.started.wait()
        # They stay, as whoever wants to take up the server's time would.
        newcomers = [adopt(one) for one in connect_all_at_once(server, 70)]
        told = [await one.receive_some() for one in newcomers]
        assert [read_status(one) for one in told if one] == [503] * 64
        for one in newcomers:
            await one.aclose()
        app.draining.set()


class Flaky(socket.socket):
    """A listener, or a connection, that fails as a system does now and then."""

    failures: Sequence[int] = ()
    to_come: Sequence[int] = ()

    def accept(self) -> tuple[Any, Any]:
        if self.failures:
            code, *self.failures = self.failures
            raise OSError(code, "accept")
        return super().accept()

    def setsockopt(self, *args: Any) -> None:
        if self.failures:
            code, *self.failures = self.failures
            raise OSError(code, "setsockopt")
        super().setsockopt(*args)


async def listen() -> Flaky:
    [sock] = await bind_port("127.0.0.1", 0)
    sock.listen()
    return Flaky(fileno=sock.detach())


def make_door(nursery: trio.Nursery) -> Door:
    return Door(Service(AsgiAnswer(hello), PortConfig(port=0), 1), None, nursery)


async def get_from(listener: socket.socket) -> int:
    async with await trio.open_tcp_stream(*listener.getsockname()) as stream:
        return (await Client(stream).ask()).status


@pytest.mark.parametrize("code", [errno.EPROTO, errno.EPERM, errno.ENETDOWN, errno.EMFILE])
async def test_an_accept_that_fails_costs_one_connection_at_most(code: int) -> None:
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            listener = await listen()
            listener.failures = [code]
            nursery.start_soon(make_door(nursery).accept, listener)
            assert await get_from(listener) == 200
            assert not listener.failures
            nursery.cancel_scope.cancel()
        listener.close()


async def test_a_connection_that_broke_before_it_was_let_in_costs_no_other() -> None:
    class Listener(Flaky):
        def accept(self) -> tuple[Any, Any]:
            sock, address = super().accept()
            broken = Flaky(fileno=sock.detach())
            broken.failures, self.to_come = self.to_come, []
            return broken, address

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            listener = Listener(fileno=(await listen()).detach())
            listener.to_come = [errno.EINVAL]
            nursery.start_soon(make_door(nursery).accept, listener)
            async with await trio.open_tcp_stream(*listener.getsockname()) as first:
                assert await read_all(first) == b""
            assert await get_from(listener) == 200
            nursery.cancel_scope.cancel()
        listener.close()


class Resolver(trio.abc.HostnameResolver):
    """Resolves every name to the addresses it is given."""

    def __init__(self, *addresses: tuple[socket.AddressFamily, tuple[Any, ...]]) -> None:
        self.addresses = addresses

    async def getaddrinfo(self, *args: Any, **kwargs: Any) -> Any:
        kind = socket.SOCK_STREAM
        return [(family, kind, 6, "", address) for family, address in self.addresses]

    async def getnameinfo(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


NOT_HERE = (socket.AF_INET, ("192.0.2.1", 0))
HERE = (socket.AF_INET, ("127.0.0.1", 0))


@pytest.mark.parametrize("found", [[NOT_HERE, HERE], [HERE, NOT_HERE]])
async def test_an_address_of_a_name_that_this_machine_lacks_is_left_out(found: Any) -> None:
    trio.socket.set_custom_hostname_resolver(Resolver(*found))
    [sock] = await bind_port("some.name", 0)
    assert sock.getsockname()[0] == "127.0.0.1"
    sock.close()


async def test_a_name_without_an_address_of_this_machine_cannot_be_bound() -> None:
    trio.socket.set_custom_hostname_resolver(Resolver(NOT_HERE))
    with pytest.raises(OSError, match=rf"\[Errno {errno.EADDRNOTAVAIL}\]"):
        await bind_port("some.name", 0)


async def test_over_ipv6_it_answers_at_a_free_port() -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with (
        running(hello, host="::1") as server,
        await trio.open_tcp_stream("::1", server.port) as stream,
    ):
        assert (await Client(stream).ask()).body == b"hello"


async def test_time_is_not_wasted_on_a_head_that_is_not_complete_at_the_end() -> None:
    async with running(hello, grace_seconds=3600) as server, await connect(server) as stream:
        assert (await Client(stream).ask()).status == 200
        await stream.send_all(GET[:10])
        await trio.sleep(0.05)  # for it to be read before the end begins
        server.stop.set()
        await server.ended.wait()
