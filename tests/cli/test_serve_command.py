"""`genmcp serve` as a process: how it starts, and every way it ends."""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import attrs
import pytest

from genmcp.cli import main
from genmcp.cli.limit_settings import find_endpoint_limits, find_port_limits
from genmcp.cli.listen_settings import take_listening
from genmcp.cli.serve_command import split_grace
from genmcp.cli.settings import Settings, read_number, read_or_none, read_whole_number
from genmcp.cli.watchdog import Watchdog
from genmcp.limits import Limits, RateLimit
from genmcp.setting import name_flag
from genmcp.transport.asgi import StreamableHTTP
from genmcp.transport.serve import PortOptions
from tests.e2e.raw_http import HANG_GUARD_SECONDS

ROOT = Path(__file__).parents[2]
LONG_ENOUGH = "6"
"""Seconds of grace, half of which a busy machine may need for the last frame."""

APP = """
import threading, time, trio
from genmcp import Suite, Tool

class Wait(Tool, name="wait", description="Waits for ever, and says so."):
    async def call(self, request, channel):
        await channel.start_stream()
        try:
            await trio.sleep_forever()
        finally:
            print("cleaned up", flush=True)

class Refuse(Tool, name="refuse", description="Does not let itself be cancelled."):
    async def call(self, request, channel):
        await channel.start_stream()
        with trio.CancelScope(shield=True):
            await trio.sleep(3600)

class Block(Tool, name="block", description="Blocks the event loop."):
    async def call(self, request, channel):
        await channel.start_stream()
        time.sleep(3600)

class Leave(Tool, name="leave", description="Leaves a thread behind."):
    async def call(self, request, channel):
        threading.Thread(target=time.sleep, args=[3600], name="left behind").start()
        await channel.start_stream()

class Stick(Tool, name="stick", description="Does not come back."):
    def call(self, request, channel):
        channel.start_stream()
        time.sleep(3600)

suite = Suite(server_name="test", server_version="1", tools=[Wait, Stick, Refuse, Block, Leave])
"""

CALL = (
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","_meta":{'
    '"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    '"io.modelcontextprotocol/clientCapabilities":{}}}}'
)


@pytest.fixture(autouse=True)
def own_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("GENMCP_"):
            monkeypatch.delenv(name)
    (tmp_path / "served_app.py").write_text(APP, encoding="utf-8")


class Process:
    """A `genmcp serve` that runs."""

    def __init__(self, popen: subprocess.Popen[str], log: Path) -> None:
        self.popen = popen
        self.log = log
        self.port = int(self.wait_for(r"http://[^/]*:(\d+)/").group(1))

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until the log has it: another process has no event to wait for."""
        until = time.monotonic() + HANG_GUARD_SECONDS
        while time.monotonic() < until:
            # In this order: it may say so as the last thing before it ends.
            runs = self.popen.poll() is None
            if found := re.search(pattern, self.log.read_text(encoding="utf-8")):
                return found
            assert runs, self.log.read_text(encoding="utf-8")
            time.sleep(0.02)
        raise AssertionError(f"no {pattern} in: {self.log.read_text(encoding='utf-8')}")

    def open_stream(self, tool: str) -> socket.socket:
        """Call a tool and return the connection once its stream has begun."""
        stream = socket.create_connection(("127.0.0.1", self.port), HANG_GUARD_SECONDS)
        body = (CALL % tool).encode()
        stream.sendall(
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Accept: application/json, text/event-stream\r\nMcp-Method: tools/call\r\n"
            b"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Name: %s\r\nContent-Length: %d\r\n\r\n%s"
            % (tool.encode(), len(body), body)
        )
        assert stream.recv(17, socket.MSG_WAITALL) == b"HTTP/1.1 200 OK\r\n"
        return stream

    def ask_get(self, host: str, path: str) -> int:
        """Return the status that a GET under another host's name is answered with."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=HANG_GUARD_SECONDS)
        try:
            connection.request("GET", path, headers={"Host": host})
            return connection.getresponse().status
        finally:
            connection.close()

    def wait(self) -> int:
        return self.popen.wait(HANG_GUARD_SECONDS)


@contextmanager
def serving(tmp_path: Path, *options: str) -> Generator[Process]:
    log = tmp_path / "log.txt"
    with log.open("w", encoding="utf-8") as out:
        popen = subprocess.Popen(
            [sys.executable, "-m", "genmcp", "serve", "served_app:suite", "--port", "0", *options],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            text=True,
        )
        try:
            yield Process(popen, log)
        finally:
            popen.kill()
            popen.wait()


def read_rest(stream: socket.socket) -> bytes:
    received = b""
    while data := stream.recv(65_536):
        received += data
    return received


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_a_signal_ends_open_streams_whole_and_the_process_with_0(
    tmp_path: Path, number: signal.Signals
) -> None:
    with serving(tmp_path, "--grace-seconds", LONG_ENOUGH) as process:
        with process.open_stream("wait") as stream:
            process.popen.send_signal(number)
            received = read_rest(stream)
        assert process.wait() == 0
        log = process.log.read_text(encoding="utf-8")
    assert b'"code":-32603' in received
    assert received.endswith(b"\r\n0\r\n\r\n")
    assert "cleaned up" in log
    assert "Traceback" not in log


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, "--grace-seconds", "3600") as process, process.open_stream("wait"):
        process.popen.send_signal(signal.SIGINT)
        process.wait_for("Stopping")
        process.popen.send_signal(signal.SIGINT)
        assert process.wait() == -signal.SIGINT


@pytest.mark.parametrize(
    ("tool", "named"),
    [
        ("stick", "tools/call 'stick' (request 1)"),
        ("refuse", "tools/call 'refuse' (request 1)"),
        ("block", "tools/call 'block' (request 1)"),
        ("leave", "thread left behind"),
    ],
)
def test_what_does_not_end_is_named_and_does_not_hold_it_up(
    tmp_path: Path, tool: str, named: str
) -> None:
    with serving(tmp_path, "--grace-seconds", "1") as process:
        with process.open_stream(tool):
            process.popen.send_signal(signal.SIGTERM)
            assert process.wait() == 0
        assert f"this still runs: {named}." in process.log.read_text(encoding="utf-8")


@pytest.mark.parametrize("seconds", [1, 10, 3600])
def test_all_of_the_shutdown_is_within_the_grace_time(seconds: float) -> None:
    serving_ends, process_ends = split_grace(seconds)
    assert seconds * 0.85 < serving_ends < process_ends < seconds


def test_in_a_process_of_others_the_end_is_called_off() -> None:
    watchdog = Watchdog(0.1, str)
    watchdog.call_off()
    watchdog.begin()
    watchdog.thread.join(HANG_GUARD_SECONDS)
    assert not watchdog.thread.is_alive()


def test_options_reach_the_endpoint(tmp_path: Path) -> None:
    options = ["--path", "/other", "--allowed-host", "mcp.example.com"]
    with serving(tmp_path, *options) as process:
        process.wait_for(rf"http://127\.0\.0\.1:{process.port}/other\n")
        assert process.ask_get("mcp.example.com", "/other") == 405  # let in; only POST is served
        assert process.ask_get("other.example.com", "/other") == 403
        assert process.ask_get("mcp.example.com", "/mcp") == 404


def test_the_public_url_and_limits_reach_the_endpoint(tmp_path: Path) -> None:
    options = ["--public-url", "https://mcp.example.com/tools", "--max-body-bytes", "1"]
    with serving(tmp_path, *options) as process:
        process.wait_for(r"clients that connect to https://mcp\.example\.com/tools \(public_url\)")
        process.wait_for(r"Host to loopback, mcp\.example\.com \(public_url\)")
        assert process.ask_get("mcp.example.com", "/tools") == 405
        assert process.ask_get("other.example.com", "/tools") == 403
        connection = HTTPConnection("127.0.0.1", process.port, timeout=HANG_GUARD_SECONDS)
        connection.request("POST", "/tools", b"{}")
        response = connection.getresponse()
        assert response.status == 413
        assert b"--max-body-bytes" in response.read()
        connection.close()


@pytest.mark.parametrize(
    ("flags", "variable", "served"),
    [([], None, True), (["--no-legacy"], None, False), ([], "no", False), ([], "Yes", True)],
)
def test_clients_of_2025_can_be_switched_off(
    flags: list[str], variable: str | None, served: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {}

    async def record(app: StreamableHTTP, **options: Any) -> None:
        told.update(app=app)

    monkeypatch.setattr("genmcp.cli.serve_command.serve", record)
    if variable is not None:
        monkeypatch.setenv("GENMCP_LEGACY", variable)
    assert main(["serve", "served_app:suite", *flags]) == 0
    assert (told["app"]._legacy is not None) is served


def test_variables_say_what_flags_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}

    async def record(app: StreamableHTTP, **options: Any) -> None:
        told.update(options, app=app)

    monkeypatch.setattr("genmcp.cli.serve_command.serve", record)
    for name, value in {
        "GENMCP_PUBLIC_URL": "https://one.example/a",
        "GENMCP_PATH": "/b",
        "GENMCP_ALLOWED_HOSTS": "two.example, three.example:8443,",
        "GENMCP_ALLOWED_ORIGINS": "https://four.example",
        "GENMCP_MAX_BODY_BYTES": "10",
        "GENMCP_CLEANUP_SECONDS": "1.5",
        "GENMCP_RATE_LIMIT": "5/s",
        "GENMCP_MAX_THREADS": "",
        "GENMCP_MAX_CONNECTIONS": "7",
        "GENMCP_READ_TIMEOUT_SECONDS": "8",
    }.items():
        monkeypatch.setenv(name, value)
    assert main(["serve", "served_app:suite", "--max-body-bytes", "11"]) == 0
    app = told["app"]
    assert app.public_url.url == "https://one.example/a"
    assert app.path == "/b"
    assert app.senders.allowed_hosts == ["two.example", "three.example:8443", "127.0.0.1"]
    assert app.senders.allowed_origins == ["https://four.example"]
    given = Limits(max_body_bytes=11, cleanup_seconds=1.5, rate_limit=RateLimit(5, 1))
    assert app._limits == given.fill_in(limited_by_default=True)
    assert (told["max_connections"], told["read_timeout_seconds"]) == (7, 8)


def test_every_limit_has_a_flag_that_says_what_it_is_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = {limit.name: limit for limit in [*find_endpoint_limits(), *find_port_limits()]}
    limits = {field.name for field in attrs.fields(Limits)}
    port = set(PortOptions.__annotations__) - {"http2", "certfile", "keyfile", "ssl_context"}
    assert set(settings) == limits | port | {"keepalive_seconds"}
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--help"])
    assert ended.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    for limit in settings.values():
        assert 10 < len(limit.description) < 250
        assert f"{name_flag(limit.name)} {limit.metavar} {limit.description}" in shown
    assert "--max-body-bytes N the largest request body read (4194304)" in shown
    assert "--rate-limit RATE how often one caller may call one tool" in shown
    assert "By default 1000/60s where strangers may call (none: no limit)" in shown
    assert "--idle-timeout-seconds N how long a connection may be open with nothing asked (75)" in (
        shown
    )


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3), ("none", None), (" None ", None), ("0.5", 0.5)]
)
def test_a_limit_that_may_be_none_can_be_told_so(text: str, value: float | None) -> None:
    assert read_or_none(read_number)(text) == value


def test_a_limit_that_may_be_none_says_so() -> None:
    with pytest.raises(ValueError, match=r"^a whole number or none, not 'x, y'$"):
        read_or_none(read_whole_number)("x, y")


def test_the_log_level_is_set_before_the_server_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "level", logging.INFO)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        main(["serve", "served_app:suite", "--port", port, "--log-level", "error"])
    assert logging.root.level == logging.ERROR


def test_a_port_in_use_is_one_line_and_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "served_app:suite", "--port", str(port)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "in use" in line
    assert str(port) in line


@pytest.mark.parametrize(
    ("options", "variables", "says"),
    [
        (["--port", "x"], {}, "--port must be a number"),
        ([], {"PORT": "70000"}, "GENMCP_PORT must be a number"),
        (["--grace-seconds", "-1"], {}, "--grace-seconds must be a number"),
        ([], {"GRACE_SECONDS": "soon"}, "GENMCP_GRACE_SECONDS must be a number"),
        ([], {"LOG_LEVEL": "loud"}, "GENMCP_LOG_LEVEL must be one of"),
        ([], {"PATH": "mcp"}, "GENMCP_PATH must begin with a slash"),
        (["--path", "mcp"], {"PATH": "/mcp"}, "--path must begin with a slash"),
        (["--allowed-host", "http://x"], {}, "--allowed-host: 'http://x' is not a host"),
        (
            [],
            {"ALLOWED_HOSTS": "one.example, http://x"},
            "GENMCP_ALLOWED_HOSTS: 'http://x' is not a host",
        ),
        (["--allowed-origin", "x"], {}, "--allowed-origin: 'x' is not an origin"),
        ([], {"ALLOWED_ORIGINS": "null"}, 'GENMCP_ALLOWED_ORIGINS: "null"'),
        (["--public-url", "http://mcp.example.com"], {}, "--public-url must begin with https://"),
        ([], {"PUBLIC_URL": "mcp.example.com"}, "GENMCP_PUBLIC_URL must begin with https://"),
        (["--max-body-bytes", "4M"], {}, "--max-body-bytes must be a whole number, not '4M'"),
        (["--max-body-bytes", "1.5"], {}, "--max-body-bytes must be a whole number"),
        (["--max-body-bytes", "-1"], {}, "--max-body-bytes must be a positive whole number"),
        (["--max-body-bytes", "9" * 5000], {}, "--max-body-bytes must be a whole number"),
        ([], {"MAX_JSON_DEPTH": "0"}, "GENMCP_MAX_JSON_DEPTH must be a positive whole number"),
        ([], {"BODY_TIMEOUT_SECONDS": "nan"}, "GENMCP_BODY_TIMEOUT_SECONDS must be a number"),
        ([], {"LEGACY": "maybe"}, "GENMCP_LEGACY must be yes or no, not 'maybe'"),
        (["--keepalive-seconds", "0"], {}, "--keepalive-seconds must be positive"),
        (["--max-connections", "0"], {}, "--max-connections must be greater than 0"),
        (
            ["--rate-limit", "0/60s"],
            {},
            "--rate-limit must be a rate limit or none, such as",
        ),
        ([], {"BACKLOG": "many"}, "GENMCP_BACKLOG must be a whole number"),
        ([], {"SECRET_KEY": "0123456789abcdef0123456789abcdef short"}, "16 bytes"),
        (["--certfile", "cert.pem"], {}, "certfile and keyfile"),
        (["--workers", "0"], {}, "--workers must be a number from 1 to 1000"),
        ([], {"WORKERS": "many"}, "GENMCP_WORKERS must be a whole number"),
        (["--workers", "2", "--max-connections", "0"], {}, "--max-connections must be greater"),
        (["--unix-socket", "x", "--port", "1"], {}, "--unix-socket and --port exclude each other"),
        (["--host", "::1", "--fd", "3"], {}, "--fd and --host exclude each other"),
        (["--unix-socket", "x", "--fd", "3"], {}, "--unix-socket and --fd exclude each other"),
        ([], {"UNIX_SOCKET": "x", "FDS": "3"}, "GENMCP_UNIX_SOCKET and GENMCP_FDS exclude"),
        (["--fd", "x"], {}, "--fd (GENMCP_FDS) must be the number of a file descriptor, not 'x'"),
        ([], {"FDS": "3, -1"}, "must be the number of a file descriptor, not '-1'"),
        (["--unix-socket-mode", "rw"], {}, "--unix-socket-mode must be permissions in three octal"),
        ([], {"UNIX_SOCKET_MODE": "0o888"}, "GENMCP_UNIX_SOCKET_MODE must be permissions"),
        (["--trusted-proxy", "*"], {}, "--trusted-proxy: '*' is no address and no network"),
        ([], {"TRUSTED_PROXIES": "::1, 0.0.0.0/0"}, "GENMCP_TRUSTED_PROXIES: '0.0.0.0/0' trusts"),
        ([], {"PROXY_HEADERS": "x-real-ip"}, "GENMCP_PROXY_HEADERS must be"),
    ],
    ids=str,
)
def test_a_setting_that_makes_no_sense_is_named_with_status_2(
    options: list[str],
    variables: dict[str, str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"GENMCP_{name}", value)
    assert main(["serve", "served_app:suite", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("genmcp serve: error: ")
    assert says in line
    assert "short" not in line  # secrets are not repeated


def test_a_descriptor_that_is_no_socket_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for workers in ("1", "2"):
        assert main(["serve", "served_app:suite", "--fd", "9999", "--workers", workers]) == 1
        assert capsys.readouterr().err.endswith(
            "cannot serve on file descriptor 9999: sockets: file descriptor 9999 is no socket: "
            "Bad file descriptor\n"
        )


@pytest.mark.parametrize(
    ("flags", "place"),
    [
        ({}, {"unix_socket": "/run/x.sock", "unix_socket_mode": 0o660}),
        ({"unix_socket": "y.sock"}, {"unix_socket": "y.sock", "unix_socket_mode": 0o660}),
        ({"fd": ["3", "4"]}, {"sockets": [3, 4], "unix_socket_mode": 0o660}),
        ({"port": "80"}, {"unix_socket_mode": 0o660}),
        ({"host": "::1"}, {"unix_socket_mode": 0o660}),
    ],
)
def test_a_flag_for_one_place_overrules_a_variable_for_another(
    flags: dict[str, Any], place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GENMCP_UNIX_SOCKET", "/run/x.sock")
    monkeypatch.setenv("GENMCP_UNIX_SOCKET_MODE", "0o660")
    unset = dict.fromkeys(("host", "port", "unix_socket", "unix_socket_mode", "fd"))
    options: dict[str, Any] = {}
    take_listening(Settings(argparse.Namespace(**{**unset, **flags})), options)
    assert options == place


def test_a_file_that_cannot_be_read_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--certfile", "no.pem", "--keyfile", "none.pem"]
    assert main(["serve", "served_app:suite", *options]) == 1
    assert "no.pem" in capsys.readouterr().err


def test_options_of_a_ready_endpoint_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = APP + "\nfrom genmcp import StreamableHTTP\napp = StreamableHTTP(suite)\n"
    (tmp_path / "ready_app.py").write_text(text, encoding="utf-8")
    for flag, value in (
        ("--allowed-host", "one.example"),
        ("--public-url", "https://one.example"),
        ("--max-body-bytes", "10"),
    ):
        assert main(["serve", "ready_app:app", flag, value]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line == (
            f"genmcp serve: error: {flag}: ready_app:app is a StreamableHTTP, set it there"
        )


def test_variables_a_ready_endpoint_cannot_use_are_pointed_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    text = APP + "\nfrom genmcp import StreamableHTTP\napp = StreamableHTTP(suite)\n"
    (tmp_path / "told_app.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv("GENMCP_PUBLIC_URL", "https://one.example")
    monkeypatch.setenv("GENMCP_CERTFILE", "no.pem")
    monkeypatch.setenv("GENMCP_KEYFILE", "no.pem")
    assert main(["serve", "told_app:app"]) == 1  # for want of the certificate
    warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == [
        "told_app:app is a StreamableHTTP, set it there; ignored: GENMCP_PUBLIC_URL"
    ]


def test_a_misspelled_variable_is_named_with_what_was_meant(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("ALLOWED_ORIGIN", "PUBLIC_ULR", "COFFEE", "TOKEN", "CERTFILE", "KEYFILE"):
        monkeypatch.setenv(f"GENMCP_{name}", "no.pem")
    monkeypatch.setenv("GENMCP_EMPTY", "")
    monkeypatch.setenv("GENMCP_SECRET_KEY", "k" * 32)
    assert main(["serve", "served_app:suite"]) == 1  # for want of the certificate
    [warning] = [record for record in caplog.records if record.levelname == "WARNING"]
    assert warning.message == (
        "there are no such settings, so these are ignored: "
        "GENMCP_ALLOWED_ORIGIN (did you mean GENMCP_ALLOWED_ORIGINS?), GENMCP_COFFEE, "
        "GENMCP_PUBLIC_ULR (did you mean GENMCP_PUBLIC_URL?)"
    )


def test_the_log_can_be_json(tmp_path: Path) -> None:
    with serving(tmp_path, "--log-format", "json") as process:
        process.wait_for("Serving MCP at")
        assert process.ask_get("other.example.com", "/mcp") == 403
        process.wait_for("refused with 403")
        lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    [refused] = [line for line in lines if line["logger"] == "genmcp.refusals"]
    assert (refused["level"], refused["status"], refused["reason"]) == ("INFO", 403, "host")
    assert refused["message"].startswith("refused with 403 (host): ")
