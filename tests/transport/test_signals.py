"""The signals that end a process, in processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.e2e.raw_http import HANG_GUARD_SECONDS

PROGRAM = """
import signal, sys, trio
from genmcp.transport.signals import stopping_on_signals

times, number = int(sys.argv[1]), int(sys.argv[2])

def tell_others():
    print("first", flush=True)
    for _ in range(times):
        signal.raise_signal(number)
    print("told", flush=True)

async def main():
    stop = trio.Event()
    with stopping_on_signals(stop, heard=tell_others):
        signal.raise_signal(number)
        await stop.wait()
    print("stopped", flush=True)

trio.run(main)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
@pytest.mark.parametrize("more", [0, 1, 5])
def test_a_second_signal_ends_the_process_only_when_all_were_told_of_the_first(
    more: int, number: signal.Signals
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(more), str(int(number))],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=HANG_GUARD_SECONDS,
    )
    expected = ["first", "told"] if more else ["first", "told", "stopped"]
    assert (ran.stdout.split(), ran.returncode) == (expected, -number if more else 0), ran.stderr


LAST = """
import signal, sys, trio
from genmcp.transport.signals import stopping_on_signals

number = int(sys.argv[1])

def fail():
    print("last", flush=True)
    raise OSError

async def main():
    with stopping_on_signals(trio.Event(), last=fail):
        signal.raise_signal(number)
        print("first", flush=True)
        signal.raise_signal(number)
    print("stopped", flush=True)

trio.run(main)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_what_has_to_be_done_at_the_last_is_and_the_process_ends(number: signal.Signals) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LAST, str(int(number))],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=HANG_GUARD_SECONDS,
    )
    assert (ran.stdout.split(), ran.returncode) == (["first", "last"], -number), ran.stderr
