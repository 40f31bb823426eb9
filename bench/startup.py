"""Work: how long it takes until there is anything to measure."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Sequence
from typing import Final

from bench.load import Load
from bench.peers import INSTALLED, ROOT, Peer, Style, make_variables
from bench.requests import ADD
from bench.responses import LoadError
from bench.server_process import ServerProcess
from bench.work import Effort, Figure, Sample, Work

IMPORT_SECONDS: Final = 60.0


class Import(Work):
    """Importing the framework in a new process, its bytecode compiled already.

    One import comes before those that are timed, and compiles what is not: an installer
    does that to what it installs, and nobody to what is checked out.
    """

    name = "import"
    title = "import"
    figures = (Figure("wall_ms", "time", "ms"), Figure("cpu_ms", "processor time", "ms"))
    setting = "none"

    def find_command(self, peer: Peer) -> Sequence[str]:
        """Return what does it once, and prints how long that took."""
        return peer.find_runtime().import_command

    def run(self, server: ServerProcess, effort: Effort) -> Sample:
        """Import a few times; the medians make one sample."""
        command = self.find_command(server.peer)
        _time_once(server.peer, command)
        runs = [_time_once(server.peer, command) for _ in range(effort.starts)]
        walls, cpus = zip(*runs, strict=True)
        return {
            "wall_ms": statistics.median(walls) * 1e3,
            "cpu_ms": statistics.median(cpus) * 1e3,
        }


class Definition(Import):
    """Importing what a server takes, and defining one with a single tool.

    What a framework puts off until then is in it, which `import` alone does not see.
    """

    name = "define"
    title = "import, and a server with one tool"

    def find_command(self, peer: Peer) -> Sequence[str]:
        """Return what does it once, and prints how long that took."""
        return peer.find_runtime().definition_command


def _time_once(peer: Peer, command: Sequence[str]) -> tuple[float, float]:
    """Return the seconds it took, by the clock and on the processor."""
    variables = make_variables()
    if peer.environment:
        variables.pop("PYTHONPATH", None)
    try:
        ran = subprocess.run(
            command,
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
        """Start a few; the median makes one sample. One before them, as in `Import`."""
        _start_once(server.peer)
        seconds = [_start_once(server.peer) for _ in range(effort.starts)]
        return {"wall_ms": statistics.median(seconds) * 1e3}


def _start_once(peer: Peer) -> float:
    with ServerProcess(peer, Style.CALLS) as started:
        started.wait_until_open()
        with Load(started.port, ADD, 1):  # which asks once
            return time.perf_counter() - started.started_at
