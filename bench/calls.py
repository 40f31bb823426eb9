"""Work: the same request over and over, on so many connections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.load import Load
from bench.peers import Peer, Style
from bench.requests import Question
from bench.server_process import ServerProcess
from bench.work import Effort, Figure, Sample, Work

RATE: Final = Figure("rate", "per second", "1/s", more_is_better=True)
P50: Final = Figure("p50_ms", "latency p50", "ms", digits=2)
P99: Final = Figure("p99_ms", "latency p99", "ms", digits=2)
CPU: Final = Figure("cpu_us", "processor time each", "µs")
LOAD_CPU: Final = Figure("load_cpu_us", "processor time of the load", "µs", compared=False)

P50_SHARE: Final = 0.5
P99_SHARE: Final = 0.99


class Calls(Work):
    """One request, in a closed loop.

    Args:
        name: see `Work`, as for `title` and `style`.
        question: what is asked.
        connections: how many connections ask at the same time.
        figures: which of the figures are shown.
        shared: whether all peers take part, `calls_only` or not.
    """

    def __init__(
        self,
        name: str,
        title: str,
        question: Question,
        connections: int,
        figures: Sequence[Figure],
        *,
        style: Style = Style.CALLS,
        shared: bool = False,
    ) -> None:
        self.name = name
        self.title = title
        self.figures = figures
        self.style = style
        self._question = question
        self._connections = connections
        self._shared = shared

    def suits(self, peer: Peer) -> bool:
        """Say whether `peer` is to do it."""
        return self._shared or super().suits(peer)

    def run(self, server: ServerProcess, effort: Effort) -> Sample:
        """Warm up, then count."""
        with Load(server.port, self._question, self._connections) as load:
            load.run(effort.warm_up_seconds)
            cpu = server.read_cpu_seconds()
            result = load.run(effort.seconds)
            cpu_after = server.read_cpu_seconds()
        sample = {
            RATE.key: result.rate,
            P50.key: result.find_latency_ms(P50_SHARE),
            P99.key: result.find_latency_ms(P99_SHARE),
            LOAD_CPU.key: result.cpu_seconds / result.total * 1e6,
        }
        if cpu is not None and cpu_after is not None:
            sample[CPU.key] = (cpu_after - cpu) / result.total * 1e6
        return sample
