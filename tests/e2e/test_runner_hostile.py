"""What must cost an attacker's connection, and nobody else's."""

from __future__ import annotations

import json
import random
import re
import sys
from contextlib import suppress
from typing import Any

import h2.config
import h2.connection
import pytest
import trio
import trio.testing

from tests.e2e.raw_http import (
    GET,
    Answer,
    Client,
    Running,
    Streaming,
    ask_anew,
    connect,
    hello,
    read_all,
    read_status,
    read_until,
    running,
    say,
)

WEBSOCKET = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
H2C = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\n"
    b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: %s\r\n\r\n"
)


def make_http2(*streams: list[tuple[bytes, bytes]], end: bool = True, data: bytes = b"") -> bytes:
    """Return what an HTTP/2 client sends that knows nothing of rules."""
    config = h2.config.H2Configuration(
        validate_outbound_headers=False, normalize_outbound_headers=False
    )
    connection = h2.connection.H2Connection(config)
    connection.initiate_connection()
    for number, headers in enumerate(streams):
        connection.send_headers(2 * number + 1, headers, end_stream=end)
        if data:
            connection.send_data(2 * number + 1, data)
    return connection.data_to_send()


def request(method: bytes | None = b"POST", path: bytes | None = b"/") -> list[tuple[bytes, bytes]]:
    fields = [(b":method", method), (b":scheme", b"http"), (b":authority", b"a"), (b":path", path)]
    return [(name, value) for name, value in fields if value is not None]


CONNECT = [(b":method", b"CONNECT"), (b":authority", b"a")]
KILLERS = {
    "a WebSocket upgrade and a stray byte": [WEBSOCKET + b"x"],
    "HTTP/2: data on a stream that was answered": [
        make_http2(request(), end=False),
        make_http2(request(), end=False, data=b"x")[len(make_http2(request(), end=False)) :],
    ],
    "HTTP/2: a hundred streams, then gone": [make_http2(*[request()] * 100)],
    "HTTP/2: a path outside ASCII": [make_http2(request(path=b"/\xff"))],
    "HTTP/2: a method outside ASCII": [make_http2(request(method=b"G\xffT"))],
    "HTTP/2: CONNECT without a path": [
        make_http2([(b":method", b"CONNECT"), (b":authority", b"a")])
    ],
    "HTTP/2: no method": [make_http2(request(None))],
    "HTTP/2: a WebSocket": [make_http2([*request(b"CONNECT"), (b":protocol", b"websocket")])],
    "an upgrade to h2c with broken settings": [H2C % b"%%%"],
    "an upgrade to h2c with settings out of range": [H2C % b"AAIAAAAF"],
    "an upgrade to h2c, then noise": [H2C % b"AAMAAABkAAQAAP__", b"\xff" * 100],
    "bytes that mean nothing": [bytes(range(256))],
    "nothing at all": [b""],
    "a head that is cut": [GET[:-3]],
    "a chunk without a size": [CHUNKED + b"none\r\n"],
    "an endless head": [GET[:-2] + b"x: " + b"y" * 200_000],
    "a request behind CONNECT": [b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n" + GET],
}


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
@pytest.mark.parametrize("pieces", KILLERS.values(), ids=KILLERS.keys())
async def test_a_hostile_connection_costs_nobody_else_anything(
    pieces: list[bytes], caplog: pytest.LogCaptureFixture, *, http2: bool
) -> None:
    stream_app = Streaming()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await (stream_app if scope["raw_path"] == b"/stream" else hello)(scope, receive, send)

    async with running(app, http2=http2) as server, await connect(server) as other:
        await other.send_all(GET.replace(b"/", b"/stream", 1))
        await stream_app.started.wait()
        for _ in range(3):
            await _attack(server, pieces)
        assert (await ask_anew(server)).body == b"hello"
        assert stream_app.open == 1
    # Not even its own connection fails: what it does is foreseen, not only survived.
    assert [one.getMessage() for one in caplog.records if one.levelname == "ERROR"] == []


async def _attack(server: Running, pieces: list[bytes]) -> None:
    async with await connect(server) as stream:
        try:
            await stream.send_all(pieces[0])
            for piece in pieces[1:]:
                received = b""
                while b"hello" not in received and (data := await stream.receive_some()):
                    received += data
                # Until the server has done with what it answered.
                await trio.testing.wait_all_tasks_blocked()
                await stream.send_all(piece)
            await stream.send_eof()
            await read_all(stream)
        except trio.BrokenResourceError:
            return


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
async def test_random_bytes_never_end_the_server(*, http2: bool) -> None:
    dice = random.Random(20260728)  # noqa: S311 - repeatable is what it must be
    seeds = [
        GET,
        CHUNKED + b"3\r\nabc\r\n0\r\n\r\n",
        WEBSOCKET + b"\x81\x85\x00\x00\x00\x00hello",
        H2C % b"AAMAAABkAAQAAP__" + make_http2(request()),
        make_http2(request(), request(), end=False, data=b"body"),
    ]
    async with running(hello, http2=http2) as server:
        for _ in range(300):
            await say(server, _mutate(dice, dice.choice(seeds)))
        assert (await ask_anew(server)).body == b"hello"


def _mutate(dice: random.Random, seed: bytes) -> bytes:
    data = bytearray(seed)
    for _ in range(dice.randint(1, 8)):
        at = dice.randrange(len(data))
        match dice.randrange(4):
            case 0:
                data[at] = dice.randrange(256)
            case 1:
                del data[at : at + dice.randint(1, 4)]
            case 2:
                data[at:at] = dice.randbytes(dice.randint(1, 4))
            case _:
                data[at:at] = data[: dice.randint(1, 40)]
        data = data or bytearray(b"\n")
    return bytes(data)


async def ask_raw(server: Running, data: bytes) -> Answer:
    async with await connect(server) as stream:
        await stream.send_all(data)
        received = await read_all(stream)
    head, _, body = received.partition(b"\r\n\r\n")
    return Answer(read_status(head), {}, body)


@pytest.mark.parametrize(
    ("data", "status", "names"),
    [
        (b"what\r\n\r\n", 400, "HTTP"),
        (b"GET / HTTP/1.1\r\n\r\n", 400, "HTTP"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400, "HTTP"),
        (
            CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Length: 3\r\n\r\n") + b"0\r\n\r\n",
            400,
            "HTTP",
        ),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: zip\r\n\r\n", 501, "Transfer-Encoding"),
        (GET[:-2] + b"x: " + b"y" * 40_000 + b"\r\n\r\n", 431, "max_header_bytes"),
        (GET[:-2] + b"x: y\r\n" * 6_000 + b"\r\n", 431, "max_header_bytes"),
        (GET[:-2] + b"x: y\r\n" * 100 + b"\r\n", 431, "max_headers"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "HTTP/1.1"),
        (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505, "HTTP/1.1"),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 405, "CONNECT"),
    ],
    ids=[
        "no HTTP",
        "no Host",
        "no number",
        "two framings",
        "foreign coding",
        "long header",
        "headers that are too large together",
        "many headers",
        "HTTP/2 preface",
        "HTTP/3",
        "CONNECT",
    ],
)
async def test_a_refusal_is_a_json_rpc_error_that_says_why(
    data: bytes, status: int, names: str
) -> None:
    async with running(hello) as server:
        answer = await ask_raw(server, data)
    assert answer.status == status
    error = json.loads(answer.body)
    assert error["error"]["code"] == -32600
    assert names in error["error"]["message"]
    assert "id" not in error


HEAD = b"POST / HTTP/1.1\r\nHost: a\r\n"
AMBIGUOUS = {
    "both lengths": HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
    "a signed length": HEAD + b"Content-Length: +2\r\n\r\nab",
    "a folded line": HEAD + b"X: a\r\n b\r\n\r\n",
    "a line folded with a tab": HEAD + b"X: a\r\n\tb\r\n\r\n",
    "a folded length": HEAD + b"Content-Length:\r\n 2\r\n\r\nab",
    "a bare LF after the line": HEAD.replace(b"\r\n", b"\n", 1) + b"\r\n",
    "a bare LF after a header": HEAD + b"X: a\nContent-Length: 2\r\n\r\nab",
    "a bare LF at the end": HEAD + b"X: a\r\n\n",
    "a bare CR in a header": HEAD + b"X: a\rY: b\r\n\r\n",
    "a space before the colon": HEAD + b"Content-Length : 2\r\n\r\nab",
    "two hosts": HEAD + b"Host: b\r\n\r\n",
    "two equal hosts": HEAD + b"Host: a\r\n\r\n",
}
AMBIGUOUS_BODIES = {
    "a chunk size that is no number": b"zz\r\n",
    "a chunk size with 0x": b"0x2\r\nab\r\n0\r\n\r\n",
    "a negative chunk size": b"-1\r\nab\r\n0\r\n\r\n",
    "no chunk size": b"\r\nab\r\n0\r\n\r\n",
    "a chunk size ended by LF": b"2\nab\r\n0\r\n\r\n",
    "LF in a chunk extension": b"2;a\nab\r\n0\r\n\r\n",
    "a chunk longer than it says": b"2\r\nabX\r\n0\r\n\r\n",
    "a chunk ended by other bytes": b"2\r\nabXX0\r\n\r\n",
    "a bare LF in the trailer": b"0\r\nX: a\nY: b\r\n\r\n",
    "a bare LF at the end of the trailer": b"0\r\nX: a\r\n\n",
    "a folded line in the trailer": b"0\r\nX: a\r\n b\r\n\r\n",
}


@pytest.mark.parametrize("how", ["whole", "byte by byte"])
@pytest.mark.parametrize("data", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
async def test_a_head_that_two_readers_could_cut_differently_is_refused(
    data: bytes, how: str
) -> None:
    async with running(hello) as server, await connect(server) as stream:
        for piece in [data + GET] if how == "whole" else cut(data):
            await stream.send_all(piece)
        received = await read_all(stream)
    assert re.findall(rb"HTTP/1\.1 (\d+)", received) == [b"400"]


@pytest.mark.parametrize("how", ["whole", "byte by byte"])
@pytest.mark.parametrize("body", AMBIGUOUS_BODIES.values(), ids=AMBIGUOUS_BODIES.keys())
async def test_a_body_that_two_readers_could_cut_differently_ends_the_connection(
    body: bytes, how: str
) -> None:
    whole: list[bytes] = []

    async def read(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        message = await receive()
        while message["type"] == "http.request" and message["more_body"]:
            message = await receive()
        if message["type"] == "http.request":
            whole.append(scope["raw_path"])
        await hello(scope, receive, send)

    async with running(read) as server, await connect(server) as stream:
        with suppress(trio.BrokenResourceError):  # it may be cut off before the end
            for piece in [CHUNKED + body + GET] if how == "whole" else [CHUNKED, *cut(body)]:
                await stream.send_all(piece)
        received = await read_all(stream)
    assert whole == []
    # Neither that request nor what looks like the next one was answered as if all was well.
    assert re.findall(rb"HTTP/1\.1 (\d+)", received) in ([], [b"400"])


def cut(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


async def test_a_refusal_of_head_has_no_body() -> None:
    async with running(hello) as server:
        answer = await ask_raw(
            server, b"HEAD / HTTP/1.1\r\nHost: a\r\nx: " + b"y" * 40_000 + b"\r\n\r\n"
        )
    assert (answer.status, answer.body) == (431, b"")


async def test_a_head_that_drips_is_cut(front: str) -> None:
    async def drip(stream: trio.SocketStream) -> None:
        try:
            while True:
                await stream.send_all(b"x: y\r\n")
                await trio.sleep(0.01)
        except trio.BrokenResourceError:
            return

    async with (
        running(hello, read_timeout_seconds=0.1) as server,
        await connect(server) as stream,
        trio.open_nursery() as nursery,
    ):
        await stream.send_all(GET[:-2])
        nursery.start_soon(drip, stream)
        told = await read_all(stream)
        assert told == b"" if front == "hypercorn" else read_status(told) == 408
        nursery.cancel_scope.cancel()


async def test_a_body_that_stalls_is_a_client_that_left() -> None:
    app = Streaming()
    async with running(app, read_timeout_seconds=0.1) as server, await connect(server) as stream:
        await stream.send_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf")
        await app.left.wait()
        assert app.told == "http.disconnect"


@pytest.mark.asgi_only
@pytest.mark.usefixtures("unhurried_answers")
async def test_an_answer_that_has_begun_arrives_whole_though_the_body_ends_early() -> None:
    ended = trio.Event()

    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        head = [(b"content-length", b"5"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 400, "headers": head})
        await ended.wait()
        # Until the server has seen that nothing more comes.
        await trio.testing.wait_all_tasks_blocked(0.01)
        await send({"type": "http.response.body", "body": b"wrong"})

    async with running(refuse) as server, await connect(server) as stream:
        await stream.send_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf")
        told = await read_until(stream, b"\r\n\r\n")
        await stream.send_eof()
        ended.set()
        assert (told + await read_all(stream)).endswith(b"\r\n\r\nwrong")


@pytest.mark.parametrize(
    "behind",
    [b"", b"\r\n", GET, GET * 20, b"x" * 1000],
    ids=["nothing", "an empty line", "a request", "many requests", "noise"],
)
async def test_a_client_that_leaves_is_noticed_behind_whatever_it_sent(behind: bytes) -> None:
    app = Streaming()
    async with running(app) as server:
        async with await connect(server) as stream:
            await stream.send_all(GET + behind)
            await app.started.wait()
        await app.left.wait()
        assert app.told == "http.disconnect"


async def test_a_client_that_leaves_behind_an_offer_to_upgrade_is_noticed() -> None:
    app = Streaming()
    async with running(app) as server:
        async with await connect(server) as stream:
            await stream.send_all(WEBSOCKET)
            await app.started.wait()
        await app.left.wait()
        assert app.told == "http.disconnect"


async def test_a_reset_is_noticed() -> None:
    app = Streaming()
    async with running(app) as server:
        stream = await connect(server)
        await stream.send_all(GET)
        await app.started.wait()
        stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, bytes([1] + [0] * 7))
        await stream.aclose()
        await app.left.wait()
        assert app.told == "http.disconnect"


async def test_receive_tells_of_the_disconnect_every_time() -> None:
    told: list[str] = []
    done = trio.Event()

    async def ask_often(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        while (await receive())["type"] != "http.disconnect":
            pass
        with trio.CancelScope() as scope_of_a_poll:
            scope_of_a_poll.cancel()
            await receive()
        told.extend([(await receive())["type"] for _ in range(2)])
        done.set()

    async with running(ask_often) as server:
        await say(server, GET)
        await done.wait()
    assert told == ["http.disconnect"] * 2


async def test_a_queued_disconnect_is_seen_by_a_poll_in_a_cancelled_scope() -> None:
    polled = trio.Event()

    async def poll(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await receive()
        while not polled.is_set():
            await trio.sleep(0.01)
            with trio.CancelScope() as cancelled:
                cancelled.cancel()
                if (await receive())["type"] == "http.disconnect":
                    polled.set()

    async with running(poll) as server:
        await say(server, GET)
        await polled.wait()


async def test_sending_to_a_client_that_left_raises_os_error() -> None:
    raised = trio.Event()

    async def insist(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while True:
                await send({"type": "http.response.body", "body": b"x", "more_body": True})
        except OSError:
            raised.set()
            raise

    async with running(insist) as server:
        async with await connect(server) as stream:
            await stream.send_all(GET)
            await stream.receive_some()
        await raised.wait()


async def test_a_body_nobody_reads_does_not_keep_the_connection() -> None:
    # More pieces than the application's inbox has room for, and all in one packet each.
    ended = trio.Event()

    async def deaf(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await trio.sleep(0.1)
        await hello(scope, receive, send)
        ended.set()

    async with running(deaf, max_connections=1) as server:
        async with await connect(server) as stream:
            await stream.send_all(
                b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            for _ in range(30):
                await stream.send_all(b"1\r\nx\r\n")
            received = await read_all(stream)
            assert received.endswith(b"hello")
        assert ended.is_set()
        assert (await ask_anew(server)).status == 200


async def test_the_longest_idle_connection_makes_room_for_a_newcomer() -> None:
    async with running(hello, max_connections=2) as server:
        first, second = await connect(server), await connect(server)
        async with first, second:
            assert (await Client(first).ask()).status == 200
            client = Client(second)
            assert (await client.ask()).status == 200
            assert (await ask_anew(server)).body == b"hello"
            assert await read_all(first) == b""
            assert (await client.ask()).status == 200


async def test_one_address_has_only_so_many_connections() -> None:
    async with running(hello, max_connections_per_address=2) as server:
        first, second = Client(await connect(server)), Client(await connect(server))
        assert [(await one.ask()).status for one in (first, second)] == [200, 200]
        async with await connect(server) as third:
            head, _, body = (await read_all(third)).partition(b"\r\n\r\n")
        assert read_status(head) == 503
        assert b"\r\nretry-after: 1\r\n" in head
        assert "max_connections_per_address" in json.loads(body)["error"]["message"]
        await first.stream.aclose()
        await _ask_until_let_in(server)
        assert (await second.ask()).status == 200
        await second.stream.aclose()


async def _ask_until_let_in(server: Running) -> None:
    while True:
        try:
            if (await ask_anew(server)).status == 200:
                return
        except trio.BrokenResourceError:
            pass


async def test_as_many_headers_as_are_allowed_are_taken() -> None:
    async with running(hello) as server, await connect(server) as stream:
        await stream.send_all(GET[:-2] + b"x: y\r\n" * 99 + b"\r\n")
        assert read_status(await read_until(stream, b"\r\n\r\n")) == 200


async def test_a_newcomer_is_answered_503_when_all_connections_are_busy(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = Streaming()
    async with running(app, max_connections=1) as server, await connect(server) as stream:
        await stream.send_all(GET)
        await app.started.wait()
        for _ in range(3):
            answer = await ask_anew(server)
            assert answer.status == 503
            error = json.loads(answer.body)["error"]
            assert error["code"] == -32603
            assert error["data"] == {
                "setting": "max_connections",
                "flag": "--max-connections",
                "variable": "GENMCP_MAX_CONNECTIONS",
                "limit": 1,
                "retryAfterSeconds": 1,
            }
        app.draining.set()
        assert (await Client(stream).read_answer()).body == b"tick\nbye"
        app.draining = trio.Event()
        assert sum("max_connections" in record.message for record in caplog.records) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
async def test_no_room_for_a_file_descriptor_is_said_once_and_survived(
    caplog: pytest.LogCaptureFixture,
) -> None:
    import resource  # noqa: PLC0415 - not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with running(hello) as server:
        sockets = [trio.socket.socket() for _ in range(5)]
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (sockets[0].fileno(), hard))
            for one in sockets:
                await one.connect(("127.0.0.1", server.port))
            await trio.sleep(0.5)  # several tries to accept
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for one in sockets:
            async with trio.SocketStream(one) as stream:
                assert (await Client(stream).ask()).body == b"hello"
    (error,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "Too many open files" in error.message


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
async def test_room_for_one_file_descriptor_at_a_time_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    import resource  # noqa: PLC0415 - not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with running(hello) as server:
        room = trio.socket.socket()
        sockets = [trio.socket.socket() for _ in range(5)]
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (sockets[0].fileno(), hard))
            room.close()
            for one in sockets:
                await one.connect(("127.0.0.1", server.port))
            for one in sockets[:-1]:
                # It has room because the one before it, which idled, was closed.
                assert await one.recv(1) == b""
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for one in sockets:
            one.close()
    (error,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "Too many open files" in error.message
