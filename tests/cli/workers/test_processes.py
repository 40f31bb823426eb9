"""`genmcp serve --workers` as processes: who answers, who replaces whom, and who ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Self

import pytest

from genmcp.cli.workers.holding import _SHARES_OUT
from tests.e2e.raw_http import HANG_GUARD_SECONDS

ROOT = Path(__file__).parents[3]
LONG_ENOUGH = "6"
"""Seconds of grace, half of which a busy machine may need for the last frames."""

APP = """
import ctypes, os, time, trio
from genmcp import EventBus, EventSubscriptions, Suite, Tool

class Pid(Tool, name="pid", description="Says which process answers."):
    async def call(self, request, channel):
        return str(os.getpid())

class Wait(Tool, name="wait", description="Waits for ever, and says so."):
    async def call(self, request, channel):
        await channel.start_stream()
        await trio.sleep_forever()

class Block(Tool, name="block", description="Blocks the event loop."):
    async def call(self, request, channel):
        await channel.start_stream()
        time.sleep(3600)

class Hold(Tool, name="hold", description="Lets no thread run, as much of C may."):
    async def call(self, request, channel):
        await channel.start_stream()
        ctypes.PyDLL(None).sleep(3600)

class Environment(Tool, name="environment", description="Shows what a child would inherit."):
    async def call(self, request, channel):
        return " ".join(name for name in os.environ if name.startswith("GENMCP"))

suite = Suite(
    server_name="test", server_version="1", page_size=3,
    tools=[Pid, Wait, Block, Hold, Environment],
    subscription_handler=EventSubscriptions(EventBus()),
)
"""
BROKEN = 'raise RuntimeError("boom")\n'

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(autouse=True)
def own_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("GENMCP_"):
            monkeypatch.delenv(name)
    (tmp_path / "served_app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "broken_app.py").write_text(BROKEN, encoding="utf-8")


def wait_until(test: Callable[[], Any], what: object) -> Any:
    """Return what `test` returns once that is true: other processes have no event for us."""
    until = time.monotonic() + HANG_GUARD_SECONDS
    while time.monotonic() < until:
        if found := test():
            return found
        time.sleep(0.02)
    raise AssertionError(what() if callable(what) else what)


class Connection(HTTPConnection):
    """A connection to one of the workers, and so to that one only."""

    def __init__(self, address: tuple[str, int] | str) -> None:
        super().__init__("localhost", timeout=HANG_GUARD_SECONDS)
        if isinstance(address, str):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(HANG_GUARD_SECONDS)
            self.sock.connect(address)
        else:
            self.sock = socket.create_connection(address, HANG_GUARD_SECONDS)

    def post(self, method: str, **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Mcp-Method": method,
            "Mcp-Protocol-Version": "2026-07-28",
            **({"Mcp-Name": params["name"]} if "name" in params else {}),
        }
        self.request("POST", "/mcp", json.dumps(body), headers)
        return self.getresponse()

    def ask(self, method: str, **params: Any) -> Any:
        answer = json.loads(self.post(method, **params).read())
        return answer["result"]

    def call(self, tool: str) -> str:
        text: str = self.ask("tools/call", name=tool)["content"][0]["text"]
        return text


class Server:
    """A supervisor that runs. Its workers hold the other end of `alive`."""

    def __init__(self, popen: subprocess.Popen[bytes], log: Path) -> None:
        self.popen = popen
        self._log = log

    def read_log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def wait_for(self, pattern: str) -> re.Match[str]:
        def find() -> re.Match[str] | None:
            # In this order: it may say so as the last thing before it ends.
            runs = self.popen.poll() is None
            found = re.search(pattern, self.read_log())
            assert found or runs, self.read_log()
            return found

        found: re.Match[str] = wait_until(find, self.read_log)
        return found

    def wait_until_serving(self) -> Self:
        self.wait_for("workers answer")
        return self

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", int(self.wait_for(r"http://127[^/]*:(\d+)/").group(1))

    def connect_to_each(
        self, address: tuple[str, int] | str | None = None
    ) -> dict[int, Connection]:
        """Return a connection to each of two workers, by process."""
        found: dict[int, Connection] = {}

        def connect() -> bool:
            connection = Connection(address or self.address)
            pid = int(connection.call("pid"))
            if found.setdefault(pid, connection) is not connection:
                connection.close()
            return len(found) == 2

        wait_until(connect, "only one of the workers answers")
        return found

    def wait(self) -> int:
        return self.popen.wait(HANG_GUARD_SECONDS)

    def wait_until_nobody_is_left(self) -> None:
        """Wait for the end of the pipe that all of its processes hold, and hold alone."""
        out = self.popen.stdout
        assert out is not None
        os.set_blocking(out.fileno(), False)
        wait_until(lambda: out.read() == b"", "somebody is left")


@contextmanager
def serving(
    tmp_path: Path, *options: str, pass_fds: tuple[int, ...] = (), app: str = "served_app:suite"
) -> Generator[Server]:
    log = tmp_path / "log.txt"
    place = [] if {"--unix-socket", "--fd", "--port"} & {*options} else ["--port", "0"]
    with log.open("w", encoding="utf-8") as err:
        popen = subprocess.Popen(
            [sys.executable, "-m", "genmcp", "serve", app, "--workers", "2", *place, *options],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=err,
            pass_fds=pass_fds,
        )
    with popen:
        server = Server(popen, log)
        try:
            yield server
        finally:
            popen.kill()
            popen.wait()
            # Its workers notice, and are gone before the next test.
            server.wait_until_nobody_is_left()


def read_rest(stream: Any) -> bytes:
    rest: bytes = stream.read()
    return rest


def test_two_answer_as_one_server_and_one_that_is_killed_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path, "--grace-seconds", "60") as server:
        server.wait_until_serving()
        each = server.connect_to_each()
        assert server.popen.pid not in each
        (first_pid, first), (second_pid, second) = each.items()
        page = first.ask("tools/list")
        more = second.ask("tools/list", cursor=page["nextCursor"])
        names = [tool["name"] for tool in [*page["tools"], *more["tools"]]]
        assert names == ["pid", "wait", "block", "hold", "environment"]
        assert first.call("environment") == "GENMCP_SECRET_KEY"
        os.kill(first_pid, signal.SIGKILL)
        server.wait_for(rf"worker \d \(process {first_pid}\) was ended by SIGKILL; it is started")
        assert second.call("pid") == str(second_pid)
        # One that replaces it opens what the old one sealed.
        first.close()
        wait_until(lambda: f"process {first_pid}" in server.read_log(), "not noticed")
        again = server.connect_to_each()
        assert second_pid in again
        assert first_pid not in again
        [newcomer] = [one for pid, one in again.items() if pid != second_pid]
        more = newcomer.ask("tools/list", cursor=page["nextCursor"])
        assert [tool["name"] for tool in more["tools"]] == ["hold", "environment"]
        for connection in (second, *again.values()):
            connection.close()
        server.popen.send_signal(signal.SIGTERM)
        assert server.wait() == 0
        log = server.read_log()
    assert log.count("Serving MCP at") == 1
    assert log.count("random key") == 1
    assert log.count("An EventBus reaches") == 1
    assert log.count("Sessions of 2025 are remembered by each worker for itself") == 1
    assert "worker 2 genmcp" in log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda one: one.name)
def test_a_signal_ends_open_streams_whole_and_all_processes_with_0(
    tmp_path: Path, number: signal.Signals
) -> None:
    with serving(tmp_path, "--grace-seconds", LONG_ENOUGH) as server:
        server.wait_until_serving()
        each = server.connect_to_each()
        streams = [one.post("tools/call", name="wait") for one in each.values()]
        server.popen.send_signal(number)
        for stream in streams:
            assert b"The server is shutting down" in read_rest(stream)
        assert server.wait() == 0
        server.wait_until_nobody_is_left()
        for one in each.values():
            one.close()


@pytest.mark.parametrize("tool", ["block", "hold"])
def test_a_second_signal_ends_all_at_once(tmp_path: Path, tool: str) -> None:
    with serving(tmp_path, "--grace-seconds", "3600") as server:
        server.wait_until_serving()
        each = server.connect_to_each()
        streams = [one.post("tools/call", name=tool) for one in each.values()]
        server.popen.send_signal(signal.SIGTERM)
        server.wait_for("a second signal")
        server.popen.send_signal(signal.SIGTERM)
        assert server.wait() == -signal.SIGTERM
        server.wait_until_nobody_is_left()
        for one in [*streams, *each.values()]:
            one.close()


def test_a_worker_that_is_told_to_end_does_so_and_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path, "--grace-seconds", LONG_ENOUGH) as server:
        server.wait_until_serving()
        each = server.connect_to_each()
        pid, connection = next(iter(each.items()))
        stream = connection.post("tools/call", name="wait")
        os.kill(pid, signal.SIGTERM)
        assert b"The server is shutting down" in read_rest(stream)
        server.wait_for(rf"\(process {pid}\) ended with status 0; it is started again")
        again = server.connect_to_each()
        assert pid not in again
        for one in [*each.values(), *again.values()]:
            one.close()


@pytest.mark.parametrize("tool", ["wait", "block"])
def test_without_their_supervisor_the_workers_end(tmp_path: Path, tool: str) -> None:
    with serving(tmp_path, "--grace-seconds", "1") as server:
        server.wait_until_serving()
        each = server.connect_to_each()
        streams = [one.post("tools/call", name=tool) for one in each.values()]
        server.popen.kill()
        server.wait_until_nobody_is_left()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(server.address)
        for one in [*streams, *each.values()]:
            one.close()


@pytest.mark.parametrize(
    ("app", "options", "status", "said"),
    [
        ("broken_app:suite", [], 1, "RuntimeError: boom"),
        ("served_app:other", [], 2, "no 'other'"),
        ("served_app:suite", ["--path", "mcp"], 2, "--path must begin with a slash"),
        ("served_app:suite", ["--certfile", "a.pem", "--keyfile", "b.pem"], 1, "cannot be used"),
        ("served_app:suite", ["--max-connections", "0"], 2, "--max-connections must be greater"),
    ],
)
def test_what_cannot_start_says_so_once_and_ends(
    tmp_path: Path, app: str, options: list[str], status: int, said: str
) -> None:
    with serving(tmp_path, *options, app=app) as server:
        assert server.wait() == status
        assert server.read_log().count(said) == 1


def test_a_port_in_use_is_one_line_and_status_1(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with serving(tmp_path, "--port", port) as server:
            assert server.wait() == 1
            assert re.search(
                rf"cannot serve on 127.0.0.1, port {port}: .* in use", server.read_log()
            )


def test_two_supervisors_do_not_share_a_port(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "served_app.py").write_text(APP, encoding="utf-8")
    with serving(tmp_path) as server:
        server.wait_until_serving()
        with serving(other, "--port", str(server.address[1])) as second:
            assert second.wait() == 1
            assert "in use" in second.read_log()


def test_at_a_unix_socket_both_answer_and_it_is_gone_at_the_end(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    directory = tmp_path_factory.mktemp("at")
    (directory / "served_app.py").write_text(APP, encoding="utf-8")
    path = directory / "x.sock"
    with serving(directory, "--unix-socket", "x.sock", "--unix-socket-mode", "660") as server:
        server.wait_until_serving()
        server.wait_for(r"http\+unix://x\.sock/mcp")
        assert path.stat().st_mode & 0o777 == 0o660
        for one in server.connect_to_each(str(path)).values():
            one.close()
        server.popen.terminate()
        assert server.wait() == 0
        assert not path.exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_socket_that_was_handed_on_is_served(tmp_path: Path, workers: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        options = ["--fd", str(listener.fileno()), "--workers", str(workers)]
        with serving(tmp_path, *options, pass_fds=(listener.fileno(),)) as server:
            server.wait_for(rf"Serving MCP at http://127.0.0.1:{listener.getsockname()[1]}/mcp")
            with closing(Connection(listener.getsockname())) as connection:
                pid = int(connection.call("pid"))
            assert (pid == server.popen.pid) is (workers == 1)
            server.popen.terminate()
            assert server.wait() == 0


@pytest.mark.skipif(not _SHARES_OUT, reason="here the workers share one socket anyway")
def test_many_connections_come_to_both(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.wait_until_serving()
        pids: list[str] = []
        for _ in range(64):
            with closing(Connection(server.address)) as connection:
                pids.append(connection.call("pid"))
        assert sorted(pids.count(pid) > 8 for pid in set(pids)) == [True, True]
