"""The runner over TLS, and in HTTP/2 where that was asked for."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import attrs
import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings
import h11
import pytest
import trio
import trio.testing

from genmcp.transport.port_config import PortConfig, load_ssl_context
from genmcp.transport.runner import run_asgi
from tests.e2e.raw_http import (
    Client,
    Streaming,
    connect,
    hello,
    measure,
    read_all,
    running,
)
from tests.e2e.tls import connect_securely, use_tls

if TYPE_CHECKING:
    from pathlib import Path

MANY = 1001
"""Requests on one connection: after a thousand of them, Hypercorn by itself says goodbye."""
HEADERS = [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/")]


@attrs.define
class Http2Client:
    """Speaks HTTP/2; every method sends what the connection wants to say."""

    stream: trio.abc.Stream
    h2: h2.connection.H2Connection = attrs.field(factory=h2.connection.H2Connection)
    unread: list[Any] = attrs.field(factory=list[Any])

    async def start(self) -> None:
        self.h2.initiate_connection()
        await self.flush()

    async def flush(self) -> None:
        await self.stream.send_all(self.h2.data_to_send())

    async def ask(self, stream_id: int, *, end: bool = True) -> None:
        self.h2.send_headers(stream_id, HEADERS, end_stream=end)
        await self.flush()

    async def wait_for(self, kind: type[Any], stream_id: int | None = None) -> Any:
        """Return the next event of this kind, dropping what comes before it."""
        while True:
            while self.unread:
                event = self.unread.pop(0)
                if isinstance(event, kind) and (stream_id is None or event.stream_id == stream_id):
                    return event
            data = await self.stream.receive_some()
            assert data, "the server closed the connection"
            self.unread.extend(self.h2.receive_data(data))
            await self.flush()


async def test_over_tls_http_1_1_is_spoken_even_where_http2_is_offered(certificate: Path) -> None:
    async with running(measure, **use_tls(certificate)) as server:
        assert server.urls == [f"https://127.0.0.1:{server.port}"]
        stream = await connect_securely(server, certificate, "h2", "http/1.1")
        async with stream:
            assert stream.selected_alpn_protocol() == "http/1.1"
            client = Client(stream)
            assert (await client.ask("POST", b"x" * 50_000)).body == b"50000"
            assert (await client.ask()).body == b"0"


async def test_over_tls_http2_is_negotiated_where_it_was_asked_for(certificate: Path) -> None:
    async with running(hello, http2=True, **use_tls(certificate)) as server:
        stream = await connect_securely(server, certificate, "h2", "http/1.1")
        async with stream:
            assert stream.selected_alpn_protocol() == "h2"
            client = Http2Client(stream)
            await client.start()
            await client.ask(1)
            assert (await client.wait_for(h2.events.DataReceived)).data == b"hello"


async def test_a_plain_request_to_a_tls_port_costs_only_itself(certificate: Path) -> None:
    async with running(hello, **use_tls(certificate)) as server:
        async with await connect(server) as stream:
            await stream.send_all(b"GET / HTTP/1.1\r\n\r\n")
            await read_all(stream)
        async with await connect_securely(server, certificate, "http/1.1") as secure:
            assert (await Client(secure).ask()).body == b"hello"


async def test_a_handshake_that_stalls_is_cut(certificate: Path) -> None:
    options: dict[str, Any] = {
        "certfile": certificate,
        "keyfile": certificate,
        "read_timeout_seconds": 0.05,
    }
    async with running(hello, **options) as server, await connect(server) as stream:
        assert await read_all(stream) == b""


async def test_a_handshake_that_stalls_does_not_hold_up_a_shutdown(certificate: Path) -> None:
    options = use_tls(certificate, grace_seconds=3600)
    async with running(hello, **options) as server, await connect(server) as stream:
        await stream.send_all(b"\x16\x03\x01")
        async with await connect_securely(server, certificate, "http/1.1") as secure:
            assert (await Client(secure).ask()).body == b"hello"  # the other was accepted too
        server.stop.set()
        await server.ended.wait()


async def test_over_tls_a_client_that_stopped_reading_is_dropped(certificate: Path) -> None:
    app = Streaming(b"x" * 100_000, endless=True)
    options: dict[str, Any] = {
        "certfile": certificate,
        "keyfile": certificate,
        "write_timeout_seconds": 0.1,
    }
    async with running(app, **options) as server:
        async with await connect_securely(server, certificate, "http/1.1") as stream:
            await stream.send_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            await app.left.wait()
        assert app.told == "http.disconnect"


async def test_over_tls_a_drained_stream_ends_whole(certificate: Path) -> None:
    app = Streaming()
    options = use_tls(certificate)
    async with running(app, drain=app.drain, grace_seconds=3600, **options) as server:
        async with await connect_securely(server, certificate, "http/1.1") as stream:
            client = Client(stream)
            await stream.send_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            await app.started.wait()
            server.stop.set()
            assert (await client.read_answer()).body == b"tick\nbye"
        await server.ended.wait()


@pytest.mark.parametrize("front", ["http1", "hypercorn"], indirect=True)
async def test_a_context_is_used_and_offers_what_is_spoken_here(certificate: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificate))
    context.load_cert_chain(certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2"])
    async with running(hello, ssl_context=context) as server:
        assert server.urls[0].startswith("https://")
        async with await connect_securely(server, certificate, "http/1.1") as stranger:
            # In TLS 1.3 a client only learns of its refusal afterwards.
            with pytest.raises((trio.BrokenResourceError, h11.RemoteProtocolError)):
                await Client(stranger).ask("GET")
        known = ssl.create_default_context(cafile=str(certificate))
        known.load_cert_chain(certificate)
        known.set_alpn_protocols(["h2", "http/1.1"])
        async with trio.SSLStream(
            await connect(server), known, server_hostname="127.0.0.1", https_compatible=True
        ) as stream:
            assert (await Client(stream).ask("GET")).status == 200
            assert stream.selected_alpn_protocol() == "http/1.1"


async def test_old_tls_is_not_spoken(certificate: Path) -> None:
    context = load_ssl_context(PortConfig(certfile=certificate, keyfile=certificate))
    assert context is not None
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


async def test_a_file_that_is_no_certificate_is_an_os_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.pem"
    path.touch()
    with pytest.raises(OSError, match="PEM"):
        await run_asgi(hello, PortConfig(port=0, certfile=path, keyfile=path))


async def test_h2c_works_with_prior_knowledge_where_http2_was_asked_for() -> None:
    async with running(hello, http2=True) as server, await connect(server) as stream:
        client = Http2Client(stream)
        await client.start()
        for stream_id in (1, 3):
            await client.ask(stream_id)
            assert (await client.wait_for(h2.events.DataReceived)).data == b"hello"
            await client.wait_for(h2.events.StreamEnded, stream_id)


def once(app: Streaming) -> Any:
    """Let `app` answer the first request, and `hello` all others."""

    async def both(scope: Any, receive: Any, send: Any) -> None:
        await (hello if app.started.is_set() else app)(scope, receive, send)

    return both


async def test_data_on_an_answered_stream_leaves_the_other_streams_alone() -> None:
    app = Streaming()
    async with running(once(app), http2=True) as server, await connect(server) as stream:
        client = Http2Client(stream)
        await client.start()
        await client.ask(1)
        await app.started.wait()
        await client.ask(3, end=False)
        await client.wait_for(h2.events.StreamEnded, 3)
        # Until the server has done with it.
        await trio.testing.wait_all_tasks_blocked()
        client.h2.send_data(3, b"x" * 1000)
        await client.flush()
        await client.ask(5)
        assert (await client.wait_for(h2.events.DataReceived, 5)).data == b"hello"
        assert app.open == 1


async def test_the_thousandth_stream_does_not_silence_the_others() -> None:
    app = Streaming()
    async with running(once(app), http2=True) as server, await connect(server) as stream:
        client = Http2Client(stream)
        await client.start()
        await client.ask(1)
        await app.started.wait()
        for stream_id in range(3, 2 * MANY + 3, 2):
            await client.ask(stream_id)
            await client.wait_for(h2.events.StreamEnded, stream_id)
        app.draining.set()
        assert (await client.wait_for(h2.events.DataReceived, 1)).data.endswith(b"bye")
        await client.wait_for(h2.events.StreamEnded, 1)


async def test_a_stream_with_too_many_headers_is_reset() -> None:
    async with running(hello, http2=True) as server, await connect(server) as stream:
        client = Http2Client(stream)
        await client.start()
        client.h2.send_headers(1, [*HEADERS, *[("x", "y")] * 101], end_stream=True)
        await client.flush()
        reset = await client.wait_for(h2.events.StreamReset, 1)
        assert reset.error_code == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM
        client.h2.send_headers(3, [*HEADERS, *[("x", "y")] * 100], end_stream=True)
        await client.flush()
        assert (await client.wait_for(h2.events.DataReceived, 3)).data == b"hello"


async def test_a_refused_stream_leaves_its_connection_alone() -> None:
    config = h2.config.H2Configuration(
        validate_outbound_headers=False, normalize_outbound_headers=False, header_encoding=None
    )
    async with running(hello, http2=True) as server, await connect(server) as stream:
        client = Http2Client(stream, h2.connection.H2Connection(config))
        await client.start()
        client.h2.send_headers(1, [(":method", "CONNECT"), (":authority", "a")])
        reset = await client.wait_for(h2.events.StreamReset, 1)
        assert reset.error_code == h2.errors.ErrorCodes.PROTOCOL_ERROR
        await client.ask(3)
        assert (await client.wait_for(h2.events.DataReceived, 3)).data == b"hello"


async def test_a_client_that_opens_no_window_is_not_buffered_for() -> None:
    app = Streaming(b"x" * 10_000, endless=True)
    sent = 0

    async def count(scope: Any, receive: Any, send: Any) -> None:
        async def send_counted(message: Any) -> None:
            nonlocal sent
            await send(message)
            sent += len(message.get("body", b""))

        await app(scope, receive, send_counted)

    async with running(count, http2=True) as server, await connect(server) as stream:
        client = Http2Client(stream)
        await client.start()
        await client.ask(1)
        received = 0
        while received < 65_535:  # the window HTTP/2 begins with; it is never opened
            received += len((await client.wait_for(h2.events.DataReceived, 1)).data)
        before = -1
        while sent > before:
            before = sent
            await trio.sleep(0.1)
        assert sent < 65_535 + 100_000
        assert app.open == 1
    assert app.open == 0


async def test_over_http2_a_client_that_leaves_is_noticed() -> None:
    app = Streaming(b"x" * 10_000, endless=True)
    async with running(app, http2=True) as server:
        async with await connect(server) as stream:
            client = Http2Client(stream)
            await client.start()
            await client.ask(1)
            await app.started.wait()
        await app.left.wait()
        assert app.told == "http.disconnect"


async def test_over_http2_a_reset_stream_is_noticed() -> None:
    app = Streaming()
    async with running(app, http2=True) as server, await connect(server) as stream:
        client = Http2Client(stream)
        await client.start()
        await client.ask(1)
        await app.started.wait()
        client.h2.reset_stream(1)
        await client.flush()
        await app.left.wait()
        assert app.told == "http.disconnect"


async def test_over_http2_a_drained_stream_ends_whole() -> None:
    app = Streaming()
    async with running(app, http2=True, drain=app.drain, grace_seconds=3600) as server:
        async with await connect(server) as stream:
            client = Http2Client(stream)
            await client.start()
            await client.ask(1)
            await app.started.wait()
            server.stop.set()
            await client.wait_for(h2.events.StreamEnded, 1)
            await client.wait_for(h2.events.ConnectionTerminated)
        await server.ended.wait()


async def test_an_idle_http2_connection_is_closed_in_time() -> None:
    options: dict[str, Any] = {"http2": True, "idle_timeout_seconds": 0.5}
    async with running(hello, **options) as server, await connect(server) as stream:
        client = Http2Client(stream)
        await client.start()
        await client.ask(1)
        await client.wait_for(h2.events.StreamEnded, 1)
        await read_all(stream)


async def test_over_http2_a_cancelled_write_does_not_cut_the_other_streams() -> None:
    app = Streaming()
    cancelled = trio.Event()

    async def both(scope: Any, receive: Any, send: Any) -> None:
        if not app.started.is_set():
            await app(scope, receive, send)
            return
        with trio.CancelScope() as itself:
            itself.cancel()
            await send({"type": "http.response.start", "status": 200, "headers": []})
        cancelled.set()

    async with running(both, http2=True) as server, await connect(server) as stream:
        client = Http2Client(stream)
        await client.start()
        await client.ask(1)
        await client.wait_for(h2.events.DataReceived, 1)
        await client.ask(3)
        await cancelled.wait()
        app.draining.set()
        assert (await client.wait_for(h2.events.DataReceived, 1)).data == b"bye"


async def test_over_http2_a_client_that_stopped_reading_holds_up_nothing() -> None:
    app = Streaming(b"x" * 100_000, endless=True)
    async with running(app, http2=True, grace_seconds=0.1) as server:
        async with await connect(server) as stream:
            client = Http2Client(stream)
            await client.start()
            # With every window wide open, only the socket can stop the server.
            client.h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 2**31 - 1})
            client.h2.increment_flow_control_window(2**31 - 1 - 65_535)
            await client.ask(1)
            await app.started.wait()
            server.stop.set()
            await server.ended.wait()
        assert app.open == 0
