"""Our own server over TLS, where what ends a connection ends differently."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio
from cryptography.hazmat.primitives import serialization
from trio.testing import wait_all_tasks_blocked

from genmcp.transport.http1.wire import SecureWire
from genmcp.transport.port_config import PortConfig, load_ssl_context
from tests.e2e.raw_http import (
    GET,
    HANG_GUARD_SECONDS,
    Client,
    Streaming,
    connect,
    hello,
    measure,
    read_all,
    read_status,
    running,
)
from tests.e2e.tls import connect_securely, use_tls

HANDSHAKE_SECONDS = 1
"""A limit that a test waits for, and that a handshake stays within on a busy machine."""


async def test_requests_on_one_connection_are_answered(certificate: Path) -> None:
    async with (
        running(measure, **use_tls(certificate)) as server,
        await connect_securely(server, certificate, "h2", "http/1.1") as stream,
    ):
        assert stream.selected_alpn_protocol() == "http/1.1"
        client = Client(stream)
        assert (await client.ask("POST", b"x" * 300_000)).body == b"300000"
        assert (await client.ask()).body == b"0"


async def test_a_response_larger_than_all_buffers_arrives_whole(certificate: Path) -> None:
    body = bytes(3_000_000)

    async def large(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async with (
        running(large, **use_tls(certificate)) as server,
        await connect_securely(server, certificate) as stream,
    ):
        assert (await Client(stream).ask()).body == body


@pytest.mark.parametrize("said", [GET[:-2], GET[:5]])
async def test_a_head_that_is_late_is_told_so(certificate: Path, said: bytes) -> None:
    options = use_tls(certificate, read_timeout_seconds=HANDSHAKE_SECONDS)
    async with (
        running(hello, **options) as server,
        await connect_securely(server, certificate) as stream,
    ):
        await stream.send_all(said)
        assert read_status(await read_all(stream)) == 408


async def test_a_connection_that_idles_is_closed(certificate: Path) -> None:
    options = use_tls(certificate, idle_timeout_seconds=HANDSHAKE_SECONDS)
    async with (
        running(hello, **options) as server,
        await connect_securely(server, certificate) as stream,
    ):
        assert (await Client(stream).ask()).status == 200
        assert await read_all(stream) == b""


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01", GET])
async def test_whoever_does_not_shake_hands_is_cut_and_costs_nothing(
    certificate: Path, said: bytes
) -> None:
    options = use_tls(certificate, read_timeout_seconds=HANDSHAKE_SECONDS)
    async with running(hello, **options) as server, await connect(server) as stream:
        await stream.send_all(said)
        await read_all(stream)
        async with await connect_securely(server, certificate) as secure:
            assert (await Client(secure).ask()).body == b"hello"


async def test_a_newcomer_is_told_when_there_is_no_room(certificate: Path) -> None:
    app = Streaming()
    async with (
        running(app, **use_tls(certificate, max_connections=1)) as server,
        await connect_securely(server, certificate) as busy,
    ):
        await busy.send_all(GET)
        await app.started.wait()
        async with await connect_securely(server, certificate) as stream:
            assert read_status(await read_all(stream)) == 503
        app.draining.set()


@pytest.mark.parametrize("behind", [b"", GET, GET * (400_000 // len(GET))])
async def test_a_client_that_leaves_is_noticed(certificate: Path, behind: bytes) -> None:
    app = Streaming()
    async with running(app, **use_tls(certificate)) as server:
        stream = await connect_securely(server, certificate)
        await stream.send_all(GET)
        await app.started.wait()
        await stream.send_all(behind)
        await trio.aclose_forcefully(stream)
        await app.left.wait()
        assert app.told == "http.disconnect"


async def test_a_client_that_stopped_reading_is_dropped(certificate: Path) -> None:
    app = Streaming(b"x" * 100_000, endless=True)
    options = use_tls(certificate, write_timeout_seconds=0.1)
    async with (
        running(app, **options) as server,
        await connect_securely(server, certificate) as stream,
    ):
        await stream.send_all(GET)
        await app.left.wait()


async def test_a_drained_stream_ends_whole_and_an_idle_connection_at_once(
    certificate: Path,
) -> None:
    app = Streaming()
    options = use_tls(certificate, grace_seconds=3600)
    async with (
        running(app, drain=app.drain, **options) as server,
        await connect_securely(server, certificate) as stream,
        await connect_securely(server, certificate) as idle,
        await connect(server) as half_way,
    ):
        await half_way.send_all(b"\x16\x03\x01")
        client = Client(stream)
        await stream.send_all(GET)
        await app.started.wait()
        server.stop.set()
        assert (await client.read_answer()).body == b"tick\nbye"
        assert await read_all(idle) == b""
        await server.ended.wait()


@pytest.mark.usefixtures("unhurried_answers")
async def test_a_client_that_has_said_all_gets_its_answer(certificate: Path) -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await trio.sleep(0.02)
        await hello(scope, receive, send)

    context = ssl.create_default_context(cafile=str(certificate))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    async with running(slow, **use_tls(certificate)) as server, await connect(server) as stream:

        async def retry(step: Callable[[], Any]) -> Any:
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    await stream.send_all(outgoing.read())
                    incoming.write(await stream.receive_some())

        await retry(tls.do_handshake)
        tls.write(GET)
        with pytest.raises(ssl.SSLWantReadError):
            tls.unwrap()  # which would wait for the server to say the same
        await stream.send_all(outgoing.read())
        await stream.send_eof()
        received = b""
        while not received.endswith(b"hello"):
            data = await stream.receive_some()
            assert data
            incoming.write(data)
            with suppress(ssl.SSLWantReadError, ssl.SSLZeroReturnError):
                received += tls.read()


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(
    certificate: Path, tmp_path: Path
) -> None:
    key = serialization.load_pem_private_key(certificate.read_bytes(), None)
    sealed = tmp_path / "sealed.pem"
    sealed.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(OSError, match=r"sealed.pem cannot be used: .* password.* ssl_context"):
        load_ssl_context(PortConfig(certfile=certificate, keyfile=sealed))


class _StopsBeforeStep(trio.abc.Instrument):
    """Tells a wire to stop when a task has been woken, and so waits for nothing any more."""

    def __init__(self, wire: SecureWire, task: trio.lowlevel.Task) -> None:
        self._wire = wire
        self._task = task

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is self._task:
            self._wire.stop_reading()


@pytest.fixture
async def pair(certificate: Path) -> AsyncGenerator[tuple[SecureWire, socket.socket]]:
    """Return our end of a connection, and the client's."""
    ours, theirs = socket.socketpair()
    with theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        context = load_ssl_context(PortConfig(**use_tls(certificate)))
        assert context is not None
        wire = SecureWire(ours, context)
        yield wire, theirs
        wire.close()


async def stop_and_feed(wire: SecureWire, client: socket.socket, read: Any, piece: bytes) -> None:
    """Let `read` wait, and stop it as it wakes because `piece` comes."""

    async def begin(task_status: trio.TaskStatus[trio.lowlevel.Task]) -> None:
        task_status.started(trio.lowlevel.current_task())
        await read()

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            task = await nursery.start(begin)
            await wait_all_tasks_blocked()
            stopper = _StopsBeforeStep(wire, task)
            trio.lowlevel.add_instrument(stopper)
            client.send(piece)
    trio.lowlevel.remove_instrument(stopper)


async def test_a_handshake_that_is_told_to_stop_while_bytes_come_ends(
    pair: tuple[SecureWire, socket.socket],
) -> None:
    wire, client = pair

    async def shake_hands() -> None:
        with pytest.raises(trio.ClosedResourceError):
            await wire.shake_hands()

    await stop_and_feed(wire, client, shake_hands, b"\x16\x03\x01\x40\x00\x01")


async def test_a_record_that_is_not_complete_keeps_no_reader_that_is_told_to_stop(
    pair: tuple[SecureWire, socket.socket], certificate: Path
) -> None:
    wire, client = pair
    context = ssl.create_default_context(cafile=str(certificate))
    stream = trio.SocketStream(trio.socket.from_stdlib_socket(client))
    secure = trio.SSLStream(stream, context, server_hostname="127.0.0.1", https_compatible=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wire.shake_hands)
        await secure.do_handshake()

    async def receive() -> None:
        assert await wire.receive() == b""

    await stop_and_feed(wire, client, receive, b"\x17\x03\x03\x40\x00\x01")
    await wire.send(b"still")
    assert await secure.receive_some() == b"still"
