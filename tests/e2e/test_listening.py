"""Where `serve` listens: at a path, at sockets that others opened, beside other processes."""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import pytest
import trio

from genmcp.channel import Channel
from genmcp.providers import Tool
from genmcp.suite import Suite
from genmcp.transport.listeners import find_bound_host, name_url
from genmcp.transport.port_config import PortConfig
from genmcp.transport.serve import serve
from genmcp.transport.unix_socket import _locked
from tests.e2e.raw_http import HANG_GUARD_SECONDS

KEY = "k" * 32
BOTH = pytest.mark.parametrize("http", ["native", "hypercorn"])
Http = Literal["native", "hypercorn"]

CALL = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who","_meta":{'
    b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientCapabilities":{}}}}'
)


class Who(Tool[dict[str, Any]], name="who", description="Says where a call comes from."):
    async def call(self, request: Any, channel: Channel) -> str:
        return f"from {channel.client_address}"


@pytest.fixture
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose name is short: a Unix socket's path has a hundred characters."""
    return tmp_path_factory.mktemp("at")


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@asynccontextmanager
async def serving(**options: Any) -> AsyncGenerator[tuple[list[str], trio.Event, trio.Event]]:
    """Serve, yield the URLs, what stops it, and what tells that it has ended."""
    suite = Suite(server_name="test", server_version="1", tools=[Who])
    stop, ended = trio.Event(), trio.Event()

    async def run(task_status: trio.TaskStatus[list[str]]) -> None:
        await serve(suite, secret_key=KEY, stop=stop, task_status=task_status, **options)
        ended.set()

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            yield await nursery.start(run), stop, ended
            stop.set()


async def ask(stream: trio.abc.Stream, host: bytes = b"localhost", *, more: bytes = b"") -> bytes:
    """Call the tool; return all of the response."""
    async with stream:
        await stream.send_all(
            b"POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
            b"Accept: application/json, text/event-stream\r\nMcp-Method: tools/call\r\n"
            b"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Name: who\r\nConnection: close\r\n"
            b"%sContent-Length: %d\r\n\r\n%s" % (host, more, len(CALL), CALL)
        )
        return b"".join([piece async for piece in stream])


@BOTH
async def test_a_unix_socket_answers_and_is_gone_at_the_end(directory: Path, http: Http) -> None:
    path = directory / "x.sock"
    async with serving(unix_socket=path, http=http) as (urls, *_):
        assert urls == [f"http+unix://{quote(str(path), safe='')}/mcp"]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        answer = await ask(await trio.open_unix_socket(path))
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"from None" in answer
        refused = await ask(await trio.open_unix_socket(path), b"elsewhere.example")
        assert refused.startswith(b"HTTP/1.1 403")
        assert b"allowed_hosts" in refused
    assert names(directory) == []


async def test_the_permissions_are_what_was_asked_for(directory: Path) -> None:
    path = directory / "x.sock"
    async with serving(unix_socket=str(path), unix_socket_mode=0o660):
        assert stat.S_IMODE(path.stat().st_mode) == 0o660


async def test_a_socket_that_nobody_listens_at_is_replaced(directory: Path) -> None:
    path = directory / "x.sock"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    async with serving(unix_socket=path):
        assert b"from None" in await ask(await trio.open_unix_socket(path))


async def test_a_socket_that_somebody_listens_at_is_left_alone(directory: Path) -> None:
    path = directory / "x.sock"
    async with serving(unix_socket=path):
        with pytest.raises(OSError, match=re.escape(str(path))) as raised:
            await serve(Suite(server_name="b", server_version="1"), unix_socket=path)
        assert raised.value.errno == errno.EADDRINUSE
        assert b"from None" in await ask(await trio.open_unix_socket(path))


@pytest.mark.parametrize("kind", ["file", "directory", "link"])
async def test_what_is_no_socket_is_left_alone(directory: Path, kind: str) -> None:
    path = directory / "x.sock"
    target = directory / "target"
    target.write_text("mine", encoding="utf-8")
    if kind == "file":
        path.write_text("mine", encoding="utf-8")
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to(target)
    with pytest.raises(FileExistsError, match="no socket"):
        await serve(Suite(server_name="b", server_version="1"), unix_socket=path)
    assert names(directory) == ["target", "x.sock"]
    assert target.read_text(encoding="utf-8") == "mine"


async def test_one_that_took_its_place_is_not_removed(directory: Path) -> None:
    path = directory / "x.sock"
    async with serving(unix_socket=path):
        path.unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
    assert path.is_socket()


async def test_one_that_is_about_to_be_replaced_is_not_removed(directory: Path) -> None:
    path = directory / "x.sock"
    async with serving(unix_socket=path) as (_, stop, ended):
        with _locked(str(path)):
            stop.set()
            await ended.wait()
    assert path.is_socket()


async def test_two_that_start_at_once_do_not_both_get_it(
    directory: Path, autojump_clock: trio.abc.Clock
) -> None:
    path = directory / "x.sock"
    with _locked(str(path)), pytest.raises(OSError, match="lock") as raised:
        await serve(Suite(server_name="b", server_version="1"), unix_socket=path)
    assert raised.value.filename == str(path)
    assert not path.exists()


async def test_a_path_that_is_too_long_is_named(directory: Path) -> None:
    path = directory / ("x" * 120)
    with pytest.raises(OSError, match="x" * 120):
        await serve(Suite(server_name="b", server_version="1"), unix_socket=path)


@BOTH
@pytest.mark.parametrize("given", ["socket", "descriptor"])
async def test_a_listening_socket_is_taken_over(http: Http, given: str) -> None:
    sock = socket.create_server(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    one = sock if given == "socket" else sock.detach()
    async with serving(sockets=[one], http=http) as (urls, *_):
        assert urls == [f"http://127.0.0.1:{port}/mcp"]
        assert b"from 127.0.0.1" in await ask(await trio.open_tcp_stream("127.0.0.1", port))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


@BOTH
async def test_a_bound_socket_is_made_to_listen_and_a_path_of_others_is_kept(
    directory: Path, http: Http
) -> None:
    path = directory / "x.sock"
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(path))
    async with serving(sockets=[sock], http=http) as (urls, *_):
        assert urls == [f"http+unix://{quote(str(path), safe='')}/mcp"]
        assert b"from None" in await ask(await trio.open_unix_socket(path))
    assert path.is_socket()


async def test_what_cannot_be_listened_at_is_named() -> None:
    suite = Suite(server_name="b", server_version="1")
    reading, writing = os.pipe()
    os.close(writing)
    with pytest.raises(OSError, match=rf"descriptor {reading} is no socket"):
        await serve(suite, sockets=[reading])
    os.close(reading)
    with pytest.raises(OSError, match="no stream socket"):
        await serve(suite, sockets=[socket.socket(socket.AF_INET, socket.SOCK_DGRAM)])
    with pytest.raises(OSError, match="bound nowhere"):
        await serve(suite, sockets=[socket.socket()])
    closed = socket.socket()
    closed.close()
    with pytest.raises(OSError, match=r"closed.* is no socket: Bad file descriptor"):
        await serve(suite, sockets=[closed])


@BOTH
async def test_a_connection_is_named_as_one(http: Http) -> None:
    suite = Suite(server_name="b", server_version="1")
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        descriptor = listener.accept()[0].detach()
        with pytest.raises(OSError, match=rf"descriptor {descriptor} cannot be listened at"):
            await serve(suite, sockets=[descriptor], http=http)


def test_a_socket_that_is_given_twice_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        number = sock.fileno()
        twice: list[list[socket.socket | int]] = [[number, number], [sock, sock], [sock, number]]
        for given in twice:
            with pytest.raises(ValueError, match=rf"file descriptor {number} is given twice"):
                PortConfig(sockets=given)


@pytest.mark.parametrize("path", ["", "\0abstract", "a\0b"])
def test_what_is_no_path_is_not_listened_at(
    directory: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The empty one is a name of the current directory, whose permissions stay.
    monkeypatch.chdir(directory)
    directory.chmod(0o750)
    suite = Suite(server_name="b", server_version="1")
    with pytest.raises(ValueError, match="unix_socket must be a path"):
        trio.run(partial(serve, suite, unix_socket=path))
    assert stat.S_IMODE(directory.stat().st_mode) == 0o750


def test_the_host_of_a_socket_is_the_one_it_is_bound_to(directory: Path) -> None:
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.3", 0))
        unix.bind(str(directory / "x.sock"))
        assert find_bound_host(PortConfig(sockets=[unix, tcp])) == "127.0.0.3"
        assert find_bound_host(PortConfig(sockets=[unix, tcp.fileno()])) == "127.0.0.3"
        assert find_bound_host(PortConfig(sockets=[unix])) is None
        assert tcp.fileno() != -1
    assert find_bound_host(PortConfig(unix_socket="x.sock")) is None
    assert find_bound_host(PortConfig(host="::1")) == "::1"


def test_urls_of_every_family() -> None:
    assert name_url("http", ("127.0.0.1", 8000)) == "http://127.0.0.1:8000"
    assert name_url("https", ("::1", 8000, 0, 0)) == "https://[::1]:8000"
    assert name_url("http", "/run/a b.sock") == "http+unix://%2Frun%2Fa%20b.sock"
    assert name_url("http", b"\0abstract") == "http+unix://%00abstract"


@BOTH
@pytest.mark.parametrize("trusted", [True, False])
async def test_proxies_are_believed_where_they_are_trusted(
    directory: Path, http: Http, trusted: bool
) -> None:
    path = directory / "x.sock"
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(str(path))
    tcp = socket.create_server(("127.0.0.1", 0))
    address = tcp.getsockname()
    said = b"X-Forwarded-For: 198.51.100.1\r\nX-Forwarded-For: 192.0.2.7, 127.0.0.1\r\n"
    proxies = ["unix", "127.0.0.1"] if trusted else ["192.0.2.99"]
    async with serving(sockets=[unix, tcp], trusted_proxies=proxies, http=http):
        through_unix = await ask(await trio.open_unix_socket(path), more=said)
        through_tcp = await ask(await trio.open_tcp_stream(*address), more=said)
    assert (b"from 192.0.2.7" if trusted else b"from None") in through_unix
    assert (b"from 192.0.2.7" if trusted else b"from 127.0.0.1") in through_tcp


@BOTH
async def test_a_port_is_shared_where_both_say_so(http: Http) -> None:
    async with serving(port=0, reuse_port=True, http=http) as ([url], *_):
        port = int(url.split(":")[2].partition("/")[0])
        async with serving(port=port, reuse_port=True, http=http) as (urls, *_rest):
            assert urls == [url]
        with pytest.raises(OSError, match="in use"):
            await serve(Suite(server_name="b", server_version="1"), port=port)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sockets": [3], "unix_socket": "x"}, ValueError, "sockets and unix_socket"),
        ({"sockets": []}, ValueError, "sockets must name at least one"),
        ({"sockets": 3}, TypeError, "sockets must be a list"),
        ({"sockets": ["3"]}, TypeError, "sockets must be sockets or"),
        ({"sockets": [True]}, TypeError, "sockets must be sockets or"),
        ({"unix_socket": "x", "unix_socket_mode": 0o1777}, ValueError, "unix_socket_mode"),
        ({"unix_socket": "x", "reuse_port": True}, ValueError, "reuse_port"),
        ({"sockets": [3], "reuse_port": True}, ValueError, "reuse_port"),
        ({"ssl_context": "cert.pem"}, TypeError, "ssl_context must be an ssl.SSLContext"),
        (
            {"ssl_context": ssl.create_default_context()},
            ValueError,
            "ssl_context is one for clients",
        ),
        (
            {
                "ssl_context": ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
                "certfile": "a",
                "keyfile": "b",
            },
            ValueError,
            "ssl_context holds certificate and key",
        ),
    ],
    ids=str,
)
def test_what_excludes_each_other_is_named(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        PortConfig(**options)
