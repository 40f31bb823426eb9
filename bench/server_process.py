"""A server in a process of its own: started, watched from outside, ended.

Processor time and memory are the system's account of the process and its children, which
a busy machine does not distort as it does rates. Linux only; elsewhere they are `None`.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from bench.peers import INSTALLED, ROOT, Peer, Style, make_variables
from bench.responses import LoadError

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 5.0

_PROC: Final = Path("/proc")
_POLL_SECONDS: Final = 0.002
_KIB: Final = 1024


class ServerProcess:
    """One server. A context manager: entered, it is being started; left, it is gone."""

    def __init__(self, peer: Peer, style: Style) -> None:
        self.peer = peer
        self.style = style
        self.port = _find_free_port()
        self.started_at = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    def __enter__(self) -> Self:
        log = INSTALLED / "logs" / f"{self.peer.name}-{self.style.value}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log = log.open("wb")
        runtime = self.peer.find_runtime()
        command = [*runtime.command, "--port", str(self.port)]
        if runtime.takes_style:
            command += ["--style", self.style.value]
        self.started_at = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=make_variables(),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._process is not None
        assert self._log is not None
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def wait_until_open(self) -> None:
        """Wait until the port is open.

        Raises:
            LoadError: the process ended, or took too long.
        """
        assert self._process is not None
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                pass
            else:
                return
            late = time.perf_counter() > self.started_at + START_SECONDS
            if late or self._process.poll() is not None:
                raise LoadError(f"{self.peer.title} did not start; see {INSTALLED.name}/logs")
            time.sleep(_POLL_SECONDS)

    def read_cpu_seconds(self) -> float | None:
        """Return how long it has been on a processor, children included."""
        if sys.platform != "linux":
            return None
        # How clock_getcpuclockid makes a clock of a process id. Nanoseconds, where the
        # fields of /proc count in hundredths of a second.
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in self._find_processes())

    def read_memory_kib(self) -> float | None:
        """Return how much memory is its own: not files, nor what the kernel holds for it."""
        if sys.platform != "linux":
            return None
        return sum(_read_anonymous_kib(pid) for pid in self._find_processes())

    def _find_processes(self) -> list[int]:
        assert self._process is not None
        found = [self._process.pid]
        for pid in found:  # which grows meanwhile
            for children in _PROC.glob(f"{pid}/task/*/children"):
                found += [int(child) for child in children.read_text().split()]
        return found


def _read_anonymous_kib(pid: int) -> int:
    for line in (_PROC / str(pid) / "status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "RssAnon":
            return int(value.split()[0])
    return 0


def _find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
