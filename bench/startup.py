"""Work: how long it takes until there is anything to measure."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from typing import Final

from bench.load import Load
from bench.peers import INSTALLED, ROOT, Peer, Style
from bench.requests import ADD
from bench.responses import LoadError
from bench.server_process import ServerProcess
from bench.work import Effort, Figure, Sample, Work

IMPORT_SECONDS: Final = 60.0


class Import(Work):
    """Importing the framework in a new process, its bytecode compiled already."""

    name = "import"
    title = "import"
    figures = (Figure("wall_ms", "time", "ms"), Figure("cpu_ms", "processor time", "ms"))
    setting = "none"

    def run(self, server: ServerProcess, effort: Effort) -> Sample:
        """Import a few times; the medians make one sample."""
        runs = [_import_once(server.peer) for _ in range(effort.starts)]
        walls, cpus = zip(*runs, strict=True)
        return {
            "wall_ms": statistics.median(walls) * 1e3,
            "cpu_ms": statistics.median(cpus) * 1e3,
        }


def _import_once(peer: Peer) -> tuple[float, float]:
    """Return the seconds it took, by the clock and on the processor."""
    variables = dict(os.environ)
    if peer.environment:
        variables.pop("PYTHONPATH", None)
    try:
        ran = subprocess.run(
            peer.find_runtime().import_command,
            # Both Python and node look for what is imported here.
            cwd=INSTALLED / peer.environment if peer.environment else ROOT,
            env=variables,
            check=True,
            timeout=IMPORT_SECONDS,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
    except subprocess.SubprocessError as error:
        raise LoadError(f"importing failed: {error}") from error
    wall, cpu = ran.stdout.split()
    return float(wall), float(cpu)


class ColdStart(Work):
    """Starting a server, until it has answered its first call."""

    name = "start"
    title = "start to first answer"
    figures = (Figure("wall_ms", "time", "ms"),)
    setting = "none"

    def run(self, server: ServerProcess, effort: Effort) -> Sample:
        """Start a few; the median makes one sample."""
        seconds = [_start_once(server.peer) for _ in range(effort.starts)]
        return {"wall_ms": statistics.median(seconds) * 1e3}


def _start_once(peer: Peer) -> float:
    with ServerProcess(peer, Style.CALLS) as started:
        started.wait_until_open()
        with Load(started.port, ADD, 1):  # which asks once
            return time.perf_counter() - started.started_at
