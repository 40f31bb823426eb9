"""`genmcp serve --stdio`: what it takes and refuses. As a process: `tests/e2e`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from genmcp.cli import main
from genmcp.cli.hang_up import HangUpWatch
from tests.e2e.raw_http import HANG_GUARD_SECONDS
from tests.e2e.stdio_server import APP, ROOT, call
from tests.transport.stdio.legacy_peer import handshake

READY = """
from genmcp import StreamableHTTP, Suite

app = StreamableHTTP(Suite(server_name="s", server_version="1"))
nothing = 5
"""


@pytest.fixture(autouse=True)
def own_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("GENMCP_"):
            monkeypatch.delenv(name)
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "ready.py").write_text(READY, encoding="utf-8")


@pytest.mark.parametrize(
    "flags",
    [
        ["--port", "80"],
        ["--host", "::"],
        ["--public-url", "https://a.example/mcp"],
        ["--path", "/mcp"],
        ["--allowed-host", "a.example"],
        ["--allowed-origin", "https://a.example"],
        ["--certfile", "c.pem"],
        ["--keyfile", "k.pem"],
        ["--http2"],
        ["--keepalive-seconds", "5"],
        ["--body-timeout-seconds", "5"],
        ["--max-connections", "5"],
        ["--max-header-bytes", "5000"],
        ["--idle-timeout-seconds", "5"],
        ["--read-timeout-seconds", "5"],
        ["--write-timeout-seconds", "5"],
    ],
    ids=lambda flags: flags[0],
)
def test_flags_for_http_are_refused_by_both_names(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--stdio", *flags, "app.py:suite"]) == 2
    error = capsys.readouterr().err
    assert f"{flags[0]} is for HTTP and --stdio is not" in error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ready.py:app"], "ready.py:app is a StreamableHTTP, which is for HTTP"),
        (["ready.py:nothing"], "it should be a server"),
        (["missing.py:suite"], "there is no file missing.py"),
        (["--max-calls", "0", "app.py:suite"], "--max-calls must be"),
        (["--max-calls", "many", "app.py:suite"], "--max-calls must be"),
        (["--grace-seconds", "-1", "app.py:suite"], "--grace-seconds must be"),
    ],
)
def test_what_makes_no_sense_is_said_with_status_2(
    arguments: list[str], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--stdio", *arguments]) == 2
    assert words in capfd.readouterr().err


def test_stdout_is_given_back_when_nothing_is_served(capfd: pytest.CaptureFixture[str]) -> None:
    before = sys.stdin, sys.stdout
    assert main(["serve", "--stdio", "ready.py:app"]) == 2
    assert (sys.stdin, sys.stdout) == before
    os.write(1, b"back again")
    assert capfd.readouterr().out == "back again"


def run(program: str, sent: bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", program],
        input=sent,
        capture_output=True,
        timeout=HANG_GUARD_SECONDS,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


def test_process_of_others_has_its_stdout_back_and_lives_on() -> None:
    program = (
        "from genmcp.cli import main; print(main(['serve', '--stdio', 'app.py:suite'])); "
        "print(input())"
    )
    done = run(program, call(1, "echo", text="x"))
    assert done.returncode == 1, done.stderr  # the end of the input, for `input`
    *messages, status = done.stdout.splitlines()
    assert (len(messages), status) == (1, b"0")
    assert b"EOFError" in done.stderr


def test_settings_reach_the_server() -> None:
    program = "import sys; from genmcp.cli import main; sys.exit(main())"
    program = program.replace("main()", "main(['serve', '--stdio', 'app.py:suite'])")
    done = run(program, call(7, "echo", text="x" * 200), GENMCP_MAX_BODY_BYTES="200")
    assert done.returncode == 0
    assert b'"limit":200' in done.stdout
    # Meant for another server in the same environment.
    assert run(program, b"", GENMCP_PORT="70").returncode == 0


@pytest.mark.parametrize(
    ("flags", "variable", "answered"),
    [
        ([], "yes", b'"protocolVersion":"2025-11-25"'),
        ([], "no", b'"code":-32022'),
        (["--no-legacy"], "yes", b'"code":-32022'),
    ],
)
def test_clients_of_2025_can_be_switched_off(
    flags: list[str], variable: str, answered: bytes
) -> None:
    arguments = ["serve", "--stdio", *flags, "app.py:suite"]
    program = f"import sys; from genmcp.cli import main; sys.exit(main({arguments}))"
    # As a shell would: all in one go, and the end of the input after it.
    done = run(program, json.dumps(handshake()).encode() + b"\n", GENMCP_LEGACY=variable)
    assert done.returncode == 0
    assert answered in done.stdout


# -- hanging up --------------------------------------------------------------------


def test_hang_up_that_nobody_notices_is_told() -> None:
    reading, writing = os.pipe()
    told = threading.Event()
    HangUpWatch(reading, told.set, notice_seconds=0)
    assert not told.is_set()
    os.write(writing, b"data is no hang-up")
    assert not told.wait(0.05)
    os.close(writing)
    assert told.wait(HANG_GUARD_SECONDS)
    os.close(reading)


def test_hang_up_that_was_noticed_is_not_told() -> None:
    reading, writing = os.pipe()
    told = threading.Event()
    watch = HangUpWatch(reading, told.set, notice_seconds=HANG_GUARD_SECONDS)
    watch.notice()
    os.close(writing)
    assert not told.wait(0.05)
    os.close(reading)
