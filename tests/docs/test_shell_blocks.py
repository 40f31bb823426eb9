"""The shell blocks of the pages work, typed as they stand, with the example served.

A `console` block shows commands after `$ ` and what they print below; `...` in the
output stands for anything. A `bash` block holds commands alone; they must succeed, and
what they print must not be a JSON-RPC error. Lines that call `make` are left out: this
test may run inside one. A block that must not run says why on a line above it:
`<!-- not run: reason -->`.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, find_all_blocks

START_SECONDS = 30
BLOCK_SECONDS = 60
BIN = Path(sys.executable).parent

SHELL_BLOCKS = [block for block in find_all_blocks() if block.language in {"bash", "console"}]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the variables for the example and the blocks: one home, one database."""
    home = tmp_path_factory.mktemp("home")
    return os.environ | {
        "HOME": str(home),
        "MEMORY_DB": str(home / "memory.sqlite3"),
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONUNBUFFERED": "1",
    }


@pytest.fixture(scope="module")
def port(environment: dict[str, str]) -> Iterator[int]:
    """Serve the example as `make run` does; return the port."""
    port = find_free_port()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    example = re.search(r"^EXAMPLE = (\S+)$", makefile, re.MULTILINE)
    assert example is not None
    served = subprocess.Popen(
        [BIN / "genmcp", "serve", example[1], "--port", str(port)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_until_served(served, port)
        yield port
    finally:
        served.terminate()
        try:
            served.communicate(timeout=START_SECONDS)
        except subprocess.TimeoutExpired:
            served.kill()
            served.communicate()


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def wait_until_served(served: subprocess.Popen[str], port: int) -> None:
    # Another process: its only sign of being up is that the port answers.
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if served.poll() is not None:
                pytest.fail(f"the example did not start:\n{served.communicate()[0]}")
            if time.monotonic() > deadline:
                pytest.fail(f"the example did not listen within {START_SECONDS} s")
            time.sleep(0.05)
        else:
            return


def run_shell(script: str, port: int, environment: dict[str, str]) -> str:
    """Run `script` at the repository's root; return what it printed, as if on port 8000."""
    # The pages name the environment that make creates; here another may be in use.
    script = script.replace(":8000", f":{port}").replace(".venv/bin/", "")
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BLOCK_SECONDS,
        check=False,
    )
    printed = ran.stdout.replace(f":{port}", ":8000")
    assert ran.returncode == 0, f"exit code {ran.returncode}: {script}\n{printed}"
    return printed


def split_console(body: str) -> list[tuple[str, str]]:
    """Return each command of a console block with the output shown for it.

    A command goes on over lines that end in a backslash or begin with `> `.
    """
    steps: list[tuple[str, str]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], ""))
        elif steps and steps[-1][1] == "" and line.startswith("> "):
            steps[-1] = (f"{steps[-1][0]}\n{line[2:]}", "")
        elif steps and steps[-1][1] == "" and steps[-1][0].endswith("\\"):
            steps[-1] = (f"{steps[-1][0]}\n{line}", "")
        elif steps:
            steps[-1] = (steps[-1][0], f"{steps[-1][1]}{line}\n")
        else:
            pytest.fail(f"a console block begins with a command, after `$ `: {line!r}")
    return steps


def calls_make(command: str) -> bool:
    return command.split()[:1] == ["make"]


@pytest.mark.parametrize("block", SHELL_BLOCKS, ids=str)
def test_shell_block_works(block: Block, request: pytest.FixtureRequest) -> None:
    if block.not_run is not None:
        pytest.skip(f"the page says: {block.not_run}")
    if block.language == "bash":
        lines = [line for line in block.body.splitlines() if not calls_make(line)]
        steps = [("\n".join(lines), "")]
    else:
        steps = [step for step in split_console(block.body) if not calls_make(step[0])]
    if not any(command.strip() for command, _ in steps):
        pytest.skip("only make, which this test may be run by")
    if "curl" in block.body and shutil.which("curl") is None:
        pytest.skip("no curl on this machine")
    port = request.getfixturevalue("port")
    environment = request.getfixturevalue("environment")
    for command, shown in steps:
        printed = run_shell(command, port, environment)
        if block.language == "bash":
            assert '"error":' not in printed, printed
        elif shown.strip():
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert doctest.OutputChecker().check_output(shown, printed, flags), (
                f"{command}\nshown:\n{shown}\nprinted:\n{printed}"
            )


def test_console_block_is_split_into_commands_and_their_output() -> None:
    body = "$ echo a \\\n  b\na b\n$ cat <<E\n> x\n> E\nx\n\ny\n"
    assert split_console(body) == [
        ("echo a \\\n  b", "a b\n"),
        ("cat <<E\nx\nE", "x\n\ny\n"),
    ]
