"""A server over stdio as a process, and a client that talks to it byte by byte."""

from __future__ import annotations

import json
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from tests.e2e.raw_http import HANG_GUARD_SECONDS

ROOT = Path(__file__).parents[2]

# What is printed waits in a buffer, as it does for users.
OURS = {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}

APP = """
import os, pathlib, subprocess, sys, threading, time
from functools import partial

import trio

from genmcp import Suite, Tool, serve_stdio

print("printed while it is imported")


class Noise(Tool, name="noise", description="Prints in every way there is."):
    async def call(self, request, channel):
        print("noise: print")
        sys.__stdout__.write("noise: original stdout\\n")
        sys.__stdout__.flush()
        os.write(1, b"noise: descriptor\\n")
        child = "import sys; print('noise: child', repr(sys.stdin.read()))"
        await trio.to_thread.run_sync(partial(subprocess.run, [sys.executable, "-c", child]))
        return "said " + repr(sys.stdin.read())


class Echo(Tool, name="echo", description="Says what it is told."):
    async def call(self, request, channel):
        return request.params.arguments["text"]


class Big(Tool, name="big", description="Says much."):
    async def call(self, request, channel):
        return "x" * request.params.arguments["size"]


class Wait(Tool, name="wait", description="Waits for ever, and says so in a file."):
    async def call(self, request, channel):
        await channel.send_progress(1)
        try:
            await trio.sleep_forever()
        finally:
            await trio.sleep(0.01)
            pathlib.Path(request.params.arguments["file"]).write_text("cleaned up")


class Stick(Tool, name="stick", description="A thread that does not come back."):
    def call(self, request, channel):
        channel.send_progress(1)
        time.sleep(3600)


class Block(Tool, name="block", description="Blocks the event loop."):
    async def call(self, request, channel):
        await channel.send_progress(1)
        await trio.sleep(0.05)
        time.sleep(3600)


suite = Suite(
    server_name="piped", server_version="1", tools=[Noise, Echo, Big, Wait, Stick, Block]
)

if __name__ == "__main__":
    print("printed before")
    trio.run(partial(serve_stdio, suite, handle_signals=True))
    print("printed after")
"""

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "progressToken": "p",
}


def call(request_id: Any, tool: str, **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments, "_meta": META}
    message = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}
    return json.dumps(message).encode() + b"\n"


def cancelled(request_id: Any) -> bytes:
    message = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": request_id},
    }
    return json.dumps(message).encode() + b"\n"


class Served:
    """The process, and its streams.

    Attributes:
        popen: the process.
        log: what it writes to stderr.
        lines: what it has written to stdout, line by line; `None` at its end.
    """

    def __init__(
        self, popen: subprocess.Popen[bytes], stdin: IO[bytes], stdout: IO[bytes], log: Path
    ) -> None:
        self.popen = popen
        self._stdout = stdout
        self.log = log
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self._stdin = stdin

    def start_reading(self) -> None:
        """Read its stdout from here on."""

        def read() -> None:
            try:
                for line in self._stdout:
                    self.lines.put(line)
            except OSError:  # how the end of a terminal looks
                pass
            self.lines.put(None)

        threading.Thread(target=read, daemon=True).start()

    def close_stdout(self) -> None:
        """Stop reading, for good."""
        self._stdout.close()

    def send(self, data: bytes) -> None:
        self._stdin.write(data)
        self._stdin.flush()

    def receive(self) -> dict[str, Any]:
        line = self.lines.get(timeout=HANG_GUARD_SECONDS)
        assert line is not None, self.log.read_text()
        assert line.endswith(b"\n")
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def receive_rest(self) -> list[dict[str, Any]]:
        """Return what comes until the process has closed its stdout."""
        messages = []
        while (line := self.lines.get(timeout=HANG_GUARD_SECONDS)) is not None:
            assert line.endswith(b"\n"), line
            messages.append(json.loads(line))
        return messages

    def end(self) -> int:
        """End its input, and return the exit status."""
        self._stdin.close()
        return self.wait()

    def wait(self) -> int:
        return self.popen.wait(HANG_GUARD_SECONDS)


def command(directory: Path, *flags: str) -> list[str]:
    return [sys.executable, "-m", "genmcp", "serve", *flags, "--stdio", f"{directory}/app.py:suite"]


@contextmanager
def served(
    directory: Path,
    *flags: str,
    how: str = "command",
    streams: str = "pipes",
    reading: bool = True,
    variables: Mapping[str, str] | None = None,
) -> Generator[Served]:
    """Run the server; the process has ended afterwards, whatever happened.

    Args:
        directory: has the application and the log.
        flags: of the command.
        how: by the `command`, or by a `script` that calls `serve_stdio`.
        streams: `pipes`, or `sockets` as Node.js gives them.
        reading: whether its stdout is read from the beginning.
        variables: more of the environment.
    """
    (directory / "app.py").write_text(APP, encoding="utf-8")
    log = directory / "log"
    script = [sys.executable, str(directory / "app.py")]
    stdin, stdout, ours_in, ours_out = _open_streams(streams)
    with log.open("wb") as stderr:
        popen = subprocess.Popen(
            command(directory, *flags) if how == "command" else script,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "PYTHONUNBUFFERED": "",
                **(variables or {}),
            },
        )
    for end in (stdin, stdout):
        os.close(end)
    process = Served(popen, ours_in, ours_out, log)
    if reading:
        process.start_reading()
    try:
        yield process
    finally:
        if popen.poll() is None:
            popen.kill()
        popen.wait()
        for stream in (ours_in, ours_out):
            with suppress(OSError):
                stream.close()


def _open_streams(streams: str) -> tuple[int, int, IO[bytes], IO[bytes]]:
    if streams == "pipes":
        stdin, ours_in = os.pipe()
        ours_out, stdout = os.pipe()
        return stdin, stdout, os.fdopen(ours_in, "wb"), os.fdopen(ours_out, "rb")
    (to_server, stdin_end), (from_server, stdout_end) = socket.socketpair(), socket.socketpair()
    return (
        stdin_end.detach(),
        stdout_end.detach(),
        os.fdopen(to_server.detach(), "wb"),
        os.fdopen(from_server.detach(), "rb"),
    )
