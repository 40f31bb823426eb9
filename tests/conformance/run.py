"""Runs the official conformance suite against the fixture, or any server: `make conformance`.

    python -m tests.conformance.run [--url http://127.0.0.1:8000/mcp]

Installs the suite below build/, starts the fixture on a free port, lets the suite run
every scenario of each protocol version that is no extension's, and stops the fixture.
`results` says what passes. The last line is `N passed, N failed`, in scenarios.
"""

from __future__ import annotations

import argparse
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.conformance.node import FOLDER, HERE, PACKAGE, Node, NodeMissing, find_node
from tests.conformance.results import Verdict, find_expected, judge_all, read_reports

PROTOCOL_VERSIONS: Final = ("2026-07-28", "2025-11-25")
ROOT: Final = Path(__file__).parents[2]
REPORTS: Final = FOLDER / "reports"
SUITE_LOG: Final = FOLDER / "suite.log"
SERVER_LOG: Final = FOLDER / "server.log"

START_SECONDS: Final = 60
STOP_SECONDS: Final = 20
SCENARIO_SECONDS: Final = 15
SUITE_SECONDS: Final = 420
"""A server that answers nothing at all is given up before a build is."""


class ServerFailed(Exception):
    """The fixture did not start, or misbehaved while it ran. The message says how."""


@contextmanager
def serving() -> Generator[str]:
    """Run the fixture in a process of its own; yield its URL.

    Raises:
        ServerFailed: it did not start, logged an error, or did not stop when told to.
    """
    command = [sys.executable, "-m", "tests.conformance.server", "--port", "0"]
    with (
        SERVER_LOG.open("wb") as log,
        subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
        ) as server,
    ):
        try:
            yield _read_url(server)
        finally:
            status = _stop(server)
    if status != 0:
        raise ServerFailed(f"the fixture ended with status {status}, see {SERVER_LOG}")
    # The suite asks for nothing that makes a server crash. A crash is masked, and the
    # suite may take it for the error that it expects.
    log_text = SERVER_LOG.read_text(encoding="utf-8")
    errors: list[str] = re.findall(r"(?m)^(?:ERROR|CRITICAL|Traceback).*", log_text)
    if errors:
        raise ServerFailed(f"the fixture logged {errors[0]!r}, see {SERVER_LOG}")


def _read_url(server: subprocess.Popen[bytes]) -> str:
    assert server.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(server.stdout, selectors.EVENT_READ)
        said = server.stdout.readline() if selector.select(START_SECONDS) else b""
    if not said.startswith(b"http"):
        raise ServerFailed(f"the fixture did not start, see {SERVER_LOG}")
    return said.decode("ascii").strip()


def _stop(server: subprocess.Popen[bytes]) -> int:
    """Stop it as an operator would; what does not stop is killed, and has that status."""
    server.send_signal(signal.SIGTERM)
    try:
        return server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        return server.wait()


def check_server(node: Node, url: str, version: str) -> list[Verdict]:
    """Run every scenario of a version against the server at `url`, and judge.

    Raises:
        subprocess.SubprocessError: the suite took too long.
    """
    reports = REPORTS / version
    shutil.rmtree(reports, ignore_errors=True)
    command = [*node.node, str(PACKAGE / "dist" / "index.js"), "server", "--url", url]
    # Suite and version rather than `--requirements`, which runs extensions as well.
    command += ["--suite", "all", "--spec-version", version]
    command += ["--timeout", str(SCENARIO_SECONDS * 1000), "-o", str(reports)]
    with SUITE_LOG.open("ab") as log:
        ran = subprocess.run(
            command, cwd=FOLDER, stdout=log, stderr=log, check=False, timeout=SUITE_SECONDS
        )
    scored, others = find_expected(node.read_requirements(version))
    found = read_reports(reports) if reports.exists() else {}
    verdicts = judge_all([*scored, *others], found)
    passed = {verdict.scenario for verdict in verdicts if not verdict.problems}
    if ran.returncode and len(passed) == len(verdicts):
        problem = f"it ended with status {ran.returncode}, though all passed; see {SUITE_LOG}"
        verdicts.append(Verdict("the suite", 0, [problem]))
    say(f"protocol {version}")
    for verdict in verdicts:
        say(str(verdict))
    for what, names in (("scored", scored), ("not scored", others)):
        say(f"{what}: {len(passed.intersection(names))} of {len(names)} passed")
    return verdicts


def check_all(node: Node, url: str) -> list[Verdict]:
    """Do so for every version. Raises as `check_server`."""
    return [
        verdict for version in PROTOCOL_VERSIONS for verdict in check_server(node, url, version)
    ]


def run(url: str | None) -> list[Verdict]:
    """Install the suite, and test the server at `url`, or the fixture.

    Raises:
        NodeMissing: there is nothing to run the suite with.
        subprocess.SubprocessError: installing or running the suite failed.
    """
    node = find_node()
    node.install(HERE, FOLDER)
    started = time.monotonic()
    verdicts: list[Verdict] = []
    SUITE_LOG.unlink(missing_ok=True)
    if url is not None:
        verdicts += check_all(node, url)
    else:
        try:
            with serving() as own:
                verdicts += check_all(node, own)
        except ServerFailed as error:
            verdicts.append(Verdict("the fixture", 0, [str(error)]))
            say(str(verdicts[-1]))
    seconds = time.monotonic() - started
    say(f"{seconds:.1f} s, reports in {REPORTS.relative_to(ROOT)}")
    return verdicts


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a command says what it found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.run")
    parser.add_argument("--url", help="a server that runs already; default: the fixture")
    url = parser.parse_args().url
    try:
        verdicts = run(url)
    except (NodeMissing, subprocess.SubprocessError) as error:
        say(f"conformance: {error}")
        return 2
    failed = sum(bool(verdict.problems) for verdict in verdicts)
    say(f"{len(verdicts) - failed} passed, {failed} failed")
    return 1 if failed or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
