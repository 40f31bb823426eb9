"""A process at the two ends of a pipe: what gets into it, and what ends it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.raw_http import HANG_GUARD_SECONDS
from tests.e2e.stdio_server import APP, ROOT, call, cancelled, command, served

BOTH = pytest.mark.parametrize("how", ["command", "script"])


@BOTH
@pytest.mark.parametrize("streams", ["pipes", "sockets"])
def test_nothing_that_is_printed_gets_between_the_messages(
    tmp_path: Path, how: str, streams: str
) -> None:
    with served(tmp_path, how=how, streams=streams) as process:
        process.send(call(1, "noise"))
        answer = process.receive()
        # No stdin for anybody else: neither for the tool nor for its child.
        assert answer["result"]["content"][0]["text"] == "said ''"
        process.send(call(2, "echo", text="ü\u2028"))
        assert process.receive()["result"]["content"][0]["text"] == "ü\u2028"
        assert process.end() == 0
        rest = process.lines.get(timeout=HANG_GUARD_SECONDS)
        log = process.log.read_text(encoding="utf-8")
    for noise in ("print", "original stdout", "descriptor", "child ''"):
        assert f"noise: {noise}\n" in log
    assert "printed while it is imported\n" in log
    # A script has its stdout back when it has served.
    assert rest == (None if how == "command" else b"printed after\n")


@BOTH
def test_end_of_input_ends_it_with_status_0_after_the_clean_ups(tmp_path: Path, how: str) -> None:
    with served(tmp_path, how=how) as process:
        process.send(call(1, "wait", file=str(tmp_path / "mark")))
        process.receive()
        assert process.end() == 0
        assert (tmp_path / "mark").read_text() == "cleaned up"


@BOTH
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_signal_ends_it_with_status_0_and_a_last_line(
    tmp_path: Path, how: str, number: signal.Signals
) -> None:
    with served(tmp_path, how=how) as process:
        process.send(call(1, "wait", file=str(tmp_path / "mark")))
        process.receive()
        process.popen.send_signal(number)
        answer = process.receive()
        assert process.wait() == 0
    assert (answer["id"], answer["error"]["code"]) == (1, -32603)
    assert (tmp_path / "mark").read_text() == "cleaned up"


def test_cancelled_call_is_not_answered(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with served(tmp_path) as process:
        process.send(call(1, "wait", file=str(mark)))
        assert process.receive()["method"] == "notifications/progress"
        process.send(cancelled(1) + call(2, "echo", text="next"))
        assert process.receive()["id"] == 2
        assert process.end() == 0
        assert process.receive_rest() == []
    assert mark.read_text() == "cleaned up"


@pytest.mark.parametrize("tool", ["stick", "block"])
@pytest.mark.parametrize("by", ["end of input", "signal"])
def test_what_is_stuck_does_not_keep_the_process(tmp_path: Path, tool: str, by: str) -> None:
    with served(tmp_path) as process:
        process.send(call(1, tool))
        process.receive()
        if by == "signal":
            process.popen.terminate()
            assert process.wait() == 0
        else:
            assert process.end() == 0
        log = process.log.read_text(encoding="utf-8")
    assert "The grace time is over" in log
    assert f"tools/call '{tool}'" in log


@pytest.mark.parametrize("streams", ["pipes", "sockets"])
def test_client_that_reads_no_more_ends_it(tmp_path: Path, streams: str) -> None:
    mark = tmp_path / "mark"
    with served(tmp_path, streams=streams, reading=False) as process:
        process.send(call(1, "wait", file=str(mark)))
        process.close_stdout()
        # Its input goes on; there is no sense in reading it.
        process.send(call(2, "echo", text="x"))
        assert process.wait() == 0
    assert mark.read_text() == "cleaned up"


@pytest.mark.parametrize("streams", ["pipes", "sockets"])
def test_huge_lines_go_both_ways(tmp_path: Path, streams: str) -> None:
    text = "ü" * 600_000
    with served(tmp_path, streams=streams) as process:
        process.send(call(1, "echo", text=text))
        assert process.receive()["result"]["content"][0]["text"] == text
        process.send(call(2, "echo", text="x" * 5_000_000))
        refused = process.receive()
        assert (refused["id"], refused["error"]["code"]) == (2, -32600)
        assert refused["error"]["data"]["setting"] == "max_body_bytes"
        process.send(call(3, "echo", text="on"))
        assert process.receive()["id"] == 3


@pytest.mark.parametrize("streams", ["pipes", "sockets"])
def test_client_that_reads_late_gets_everything(tmp_path: Path, streams: str) -> None:
    with served(tmp_path, streams=streams, reading=False) as process:
        for number in range(20):
            process.send(call(number, "big", size=200_000))
        mark = tmp_path / "mark"
        # Nothing is read, and yet it is heard and cleans up.
        process.send(call("w", "wait", file=str(mark)) + cancelled("w"))
        process.send(call("x", "echo", text="x"))
        process.start_reading()
        answers = [process.receive() for _ in range(21)]
        assert process.end() == 0
    assert {answer["id"] for answer in answers} == {*range(20), "x"}


@pytest.mark.parametrize("streams", ["pipes", "sockets"])
def test_client_that_never_reads_does_not_keep_the_process(tmp_path: Path, streams: str) -> None:
    with served(tmp_path, streams=streams, reading=False) as process:
        for number in range(20):
            process.send(call(number, "big", size=500_000))
        assert process.end() == 0


def test_text_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
    with served(tmp_path, variables=locale) as process:
        process.send(call(1, "echo", text="grüße 猫"))
        line = process.lines.get(timeout=HANG_GUARD_SECONDS)
        assert line is not None
        assert "grüße 猫".encode() in line


def test_files_are_read_and_written_too(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    asked, answered = tmp_path / "in", tmp_path / "out"
    asked.write_bytes(call(1, "echo", text="from a file") + b"nonsense\n")
    with asked.open("rb") as stdin, answered.open("wb") as stdout:
        done = subprocess.run(
            command(tmp_path),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=HANG_GUARD_SECONDS,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert done.returncode == 0, done.stderr
    lines = sorted(answered.read_bytes().splitlines(), key=len)
    assert len(lines) == 2
    assert b"-32700" in lines[0]
    assert b"from a file" in lines[1]


def test_terminal_is_served_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    ours, theirs = pty.openpty()
    with (tmp_path / "log").open("wb") as stderr:
        process = subprocess.Popen(
            command(tmp_path),
            stdin=theirs,
            stdout=theirs,
            stderr=stderr,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    try:
        os.write(ours, call(1, "echo", text="typed"))
        seen = b""
        while b'"result"' not in seen:
            seen += os.read(ours, 4096)
        assert os.get_blocking(theirs)
        os.write(ours, b"\x04")  # Ctrl-D
        assert process.wait(HANG_GUARD_SECONDS) == 0
        assert os.get_blocking(theirs)
        assert "stdin is a terminal" in (tmp_path / "log").read_text(encoding="utf-8")
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize(("fd", "name"), [(0, "stdin"), (1, "stdout")])
def test_closed_stream_is_said_in_a_sentence(tmp_path: Path, fd: int, name: str) -> None:
    done = run_without(fd, tmp_path)
    assert done.returncode == 1
    assert f"{name} is closed".encode() in done.stderr
    assert done.stdout == b""


def test_without_a_stderr_tools_print_to_nowhere(tmp_path: Path) -> None:
    done = run_without(2, tmp_path)
    assert done.returncode == 0
    [line] = done.stdout.splitlines()
    assert b"said ''" in line


def run_without(fd: int, directory: Path) -> subprocess.CompletedProcess[bytes]:
    """Run the server with this descriptor closed; a tool is called that prints."""
    (directory / "app.py").write_text(APP, encoding="utf-8")
    closing = f"import os, sys; os.close({fd}); os.execv(sys.argv[1], sys.argv[1:])"
    python = subprocess.Popen(
        [sys.executable, "-c", closing, *command(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert python.stdin is not None
    assert python.stdout is not None
    assert python.stderr is not None
    with python:
        killer = threading.Timer(HANG_GUARD_SECONDS, python.kill)
        killer.start()
        with suppress(BrokenPipeError):
            python.stdin.write(call(1, "noise"))
            python.stdin.flush()
        # Its input ends when it has answered: a child process takes its time.
        stdout = python.stdout.readline()
        with suppress(BrokenPipeError):
            python.stdin.close()
        stdout += python.stdout.read()
        stderr = python.stderr.read()
        status = python.wait()
        killer.cancel()
    return subprocess.CompletedProcess([], status, stdout, stderr)
