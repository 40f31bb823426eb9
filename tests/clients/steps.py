"""What each client does, step by step, and what has to come of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from genmcp.transport.serve import serve
from tests.clients.server import NOTE, make_suite

ROOT: Final = Path(__file__).parents[2]
SECONDS: Final = 300
"""When a client is given up that does not end. Nothing is measured by it."""

SERVER: Final = "tests.clients.server:make_suite"
STDIO_COMMAND: Final = (sys.executable, "-m", "genmcp", "serve", SERVER, "--stdio")
"""Starts the server that a client has to itself."""

STEPS: Final[Mapping[str, Any]] = {
    "lists the tools": ["add", "change", "count", "greet", "hang", "look", "think", "work"],
    "calls": {"total": 5},
    "is told what is wrong": True,
    "hears of progress": [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]],
    "hears what is logged": [["info", {"step": step}] for step in (1, 2, 3)],
    "is asked by form": "Ada Lovelace",
    "is asked for its model": "Paris",
    "is asked for its folders": "file:///home/ada",
    "reads": "Buy tea.",
    "gets a prompt": "Hail, Ada",
    "completes": ["ada", "eve"],
    "hears of a change": NOTE,
    "cancels": "1",
    "closes": True,
}
"""The steps in every mode, and what the client must have found."""


def expect(version: str, more: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what must be found where this version is spoken; `more` is not found elsewhere."""
    return {"opens": {"version": version, "server": "for clients"}, **STEPS, **more}


@attrs.frozen
class Report:
    """What a client said, and how it ended.

    Attributes:
        found: what it found, by step.
        failed: why a step failed, by step.
        rest: what else it has printed, for whoever has to find out.
    """

    found: Mapping[str, Any]
    failed: Mapping[str, str]
    rest: str

    @property
    def steps(self) -> set[str]:
        """The steps that it has taken, or tried to."""
        return {*self.found, *self.failed}

    def read(self, step: str) -> Any:
        """Return what was found in a step.

        Raises:
            AssertionError: it failed, or never came.
        """
        assert step not in self.failed, f"{step}: {self.failed[step]}\n{self.rest}"
        assert step in self.found, f"{step}: it did not come so far\n{self.rest}"
        return self.found[step]


def run_client(command: Sequence[str], *, over: str) -> Report:
    """Have a client take its steps, and return what it says.

    Args:
        command: runs the client, but for the server: a URL, or the command that starts one.
        over: `"stdio"`, where the client starts its server; else which of the HTTP servers
            is served on a free port, as `genmcp.serve` takes it for `http`.
    """
    if over == "stdio":
        return trio.run(_report, [*command, *STDIO_COMMAND])
    return trio.run(_serve_client, command, over)


async def _serve_client(command: Sequence[str], http: Any) -> Report:
    async with trio.open_nursery() as nursery:
        start = partial(serve, make_suite(), port=0, secret_key="k" * 32, http=http)
        [url] = await nursery.start(start)
        report = await _report([*command, url])
        nursery.cancel_scope.cancel()
    return report


async def _report(command: Sequence[str]) -> Report:
    with trio.move_on_after(SECONDS):
        ended = await trio.run_process(
            command, cwd=ROOT, capture_stdout=True, capture_stderr=True, check=False
        )
        return _read_report(ended)
    return Report({}, {}, f"not over after {SECONDS} s")


def _read_report(ended: subprocess.CompletedProcess[bytes]) -> Report:
    found: dict[str, Any] = {}
    failed: dict[str, str] = {}
    rest = [f"status {ended.returncode}", ended.stderr.decode("utf-8", "replace")]
    for line in ended.stdout.decode("utf-8", "replace").splitlines():
        try:
            said = json.loads(line)
            step = said["step"]
        except (ValueError, TypeError, KeyError):
            rest.append(line)
            continue
        if "failed" in said:
            failed[step] = said["failed"]
        else:
            found[step] = said["found"]
    return Report(found, failed, "\n".join(rest))
