"""Work: thousands of streams that are open while nothing happens on them."""

from __future__ import annotations

import selectors
import socket
import sys
import time
from typing import Final

from bench.load import SILENCE_SECONDS, Load
from bench.peers import Peer, Style
from bench.requests import ADD, LISTEN, WAIT
from bench.responses import OK, LoadError
from bench.server_process import ServerProcess
from bench.work import Effort, Figure, Sample, Work

if sys.platform != "win32":
    import resource

MEMORY: Final = Figure("kib", "memory each", "KiB", digits=1)
IDLE: Final = Figure("idle_percent", "processor, of one core", "%", digits=2, compared=False)

_WARM_UP: Final = 10
"""Few: the memory they leave behind is there for the first of those that count."""
_AT_ONCE: Final = 100
_NOTIFICATION: Final = b'"method":"notifications/'
_READ_BYTES: Final = 64 * 1024
_SPARE_FILES: Final = 200


class Parked(Work):
    """Memory of a stream, and what all of them cost while idle.

    Args:
        kind: `"listen"` for `subscriptions/listen`, `"wait"` for a call that has sent a
            notification and goes on.
        count: how many streams.
    """

    style = Style.STREAMS
    setting = "alone"
    figures = (MEMORY, IDLE)

    def __init__(self, kind: str, count: int) -> None:
        self.name = f"parked-{kind}-{count}"
        what = "listen streams" if kind == "listen" else "calls with an open stream"
        self.title = f"{count:,} parked {what}"
        self._question = LISTEN if kind == "listen" else WAIT
        self._listens = kind == "listen"
        self._count = count

    def suits(self, peer: Peer) -> bool:
        """Say whether `peer` can do it."""
        return super().suits(peer) and (peer.listens or not self._listens)

    def run(self, server: ServerProcess, effort: Effort) -> Sample:
        """Open all, look, wait, look again; then call, as the server has to be well."""
        count = max(10, int(self._count * effort.scale))
        allow_open_files(count + _SPARE_FILES)
        request = self._question.render(server.port)
        # What is loaded and allocated once must not count as the streams'.
        _close_all(_open_all(server.port, request, min(_WARM_UP, count)))
        time.sleep(effort.settle_seconds)
        before = server.read_memory_kib()
        streams = _open_all(server.port, request, count)
        try:
            time.sleep(effort.settle_seconds)
            after, cpu = server.read_memory_kib(), server.read_cpu_seconds()
            started = time.perf_counter()
            time.sleep(effort.idle_seconds)
            cpu_after, elapsed = server.read_cpu_seconds(), time.perf_counter() - started
            with Load(server.port, ADD, 1):  # which asks once
                pass
        finally:
            _close_all(streams)
        sample: dict[str, float] = {}
        if before is not None and after is not None:
            sample[MEMORY.key] = (after - before) / count
        if cpu is not None and cpu_after is not None:
            sample[IDLE.key] = (cpu_after - cpu) / elapsed * 100
        return sample


def allow_open_files(count: int) -> None:
    """Let this process, and those it starts, have so many files open.

    Raises:
        LoadError: the system does not allow it.
    """
    if sys.platform == "win32":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        if hard != resource.RLIM_INFINITY and hard < count:
            raise LoadError(f"{count} files would be open, and `ulimit -n` allows {hard}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def _open_all(port: int, request: bytes, count: int) -> list[socket.socket]:
    """Open the streams, so many at once; each has sent a notification then.

    Raises:
        LoadError: one was refused, ended, or said nothing.
    """
    streams: list[socket.socket] = []
    try:
        while len(streams) < count:
            some: list[socket.socket] = []
            for _ in range(min(_AT_ONCE, count - len(streams))):
                some.append(socket.create_connection(("127.0.0.1", port), SILENCE_SECONDS))
                streams.append(some[-1])
                some[-1].sendall(request)
            _hear_all(some)
    except BaseException as error:
        _close_all(streams)
        if isinstance(error, OSError):
            raise LoadError(f"stream {len(streams)} of {count}: {error}") from error
        raise
    return streams


def _hear_all(streams: list[socket.socket]) -> None:
    received = dict.fromkeys(streams, b"")
    with selectors.DefaultSelector() as selector:
        for each in streams:
            selector.register(each, selectors.EVENT_READ, each)
        while selector.get_map():
            ready = selector.select(SILENCE_SECONDS)
            if not ready:
                raise LoadError(f"{len(selector.get_map())} streams said nothing")
            for key, _ in ready:
                stream: socket.socket = key.data
                data = stream.recv(_READ_BYTES)
                received[stream] += data
                if not data or not received[stream].startswith(OK[: len(received[stream])]):
                    raise LoadError(f"a stream did not open: {received[stream][:300]!r}")
                if _NOTIFICATION in received[stream]:
                    selector.unregister(stream)


def _close_all(streams: list[socket.socket]) -> None:
    for stream in streams:
        stream.close()
