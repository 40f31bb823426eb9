"""Work: a single call that sends thousands of progress notifications."""

from __future__ import annotations

import socket
import time
from typing import Final

from bench.load import SILENCE_SECONDS
from bench.peers import Style
from bench.requests import WrongAnswer, ask_report
from bench.responses import find_last_event, read_response
from bench.server_process import ServerProcess
from bench.work import Effort, Figure, Sample, Work

COUNT: Final = 5_000

_METHOD: Final = b'"notifications/progress"'


class Progress(Work):
    """Notifications per second in one call, all of them received and counted."""

    name = "progress"
    title = f"progress notifications, {COUNT:,} in one call"
    figures = (
        Figure("rate", "per second", "1/s", more_is_better=True),
        Figure("cpu_us", "processor time each", "µs"),
    )
    style = Style.STREAMS

    def run(self, server: ServerProcess, effort: Effort) -> Sample:
        """Call as often as fits, the first time for nothing."""
        count = max(10, int(COUNT * effort.scale))
        with socket.create_connection(("127.0.0.1", server.port), SILENCE_SECONDS) as connection:
            _call(connection, server.port, count)
            sent, cpu, started = 0, server.read_cpu_seconds(), time.perf_counter()
            while (elapsed := time.perf_counter() - started) < effort.seconds or not sent:
                _call(connection, server.port, count)
                sent += count
            cpu_after = server.read_cpu_seconds()
        sample = {"rate": sent / elapsed}
        if cpu is not None and cpu_after is not None:
            sample["cpu_us"] = (cpu_after - cpu) / sent * 1e6
        return sample


def _call(connection: socket.socket, port: int, count: int) -> None:
    """Call once.

    Raises:
        LoadError, WrongAnswer: the answer is wrong, or notifications are missing.
    """
    question = ask_report(count)
    connection.sendall(question.render(port))
    response = read_response(connection)
    received = response.body.count(_METHOD)
    if received != count:
        raise WrongAnswer(f"{received} of {count} notifications came")
    question.check_body(find_last_event(response.body))
