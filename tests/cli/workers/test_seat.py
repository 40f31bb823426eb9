"""A worker's seat in a real process: when it ends, which ends the process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from genmcp.cli.workers.orders import STOP, Orders
from genmcp.cli.workers.seat import CHANNEL_VARIABLE
from tests.e2e.raw_http import HANG_GUARD_SECONDS

WORKER = """
import threading
from genmcp.cli.workers.seat import Seat

seat = Seat.take()
seat.on_stop(lambda: print("told", flush=True))
print("seated", flush=True)
threading.Event().wait()
"""


@pytest.mark.parametrize("times", [1, 2, 3])
def test_told_to_stop_however_often_it_ends_at_once_when_its_supervisor_has(times: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            env={**os.environ, CHANNEL_VARIABLE: str(theirs.fileno())},
            pass_fds=(theirs.fileno(),),
            stdout=subprocess.PIPE,
        )
        with worker:
            try:
                theirs.close()
                ours.sendall(Orders(number=1).write())
                assert worker.stdout.readline() == b"seated\n"
                ours.sendall(STOP * times)
                assert worker.stdout.readline() == b"told\n"
                ours.close()
                assert worker.wait(HANG_GUARD_SECONDS) == 1
                assert worker.stdout.read() == b""
            finally:
                worker.kill()
