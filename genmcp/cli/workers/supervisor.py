"""Keeps a number of workers running, and ends them together.

Layer: cli. Knows nothing of processes: `genmcp.cli.workers.process` starts real ones, and
tests others.
"""

from __future__ import annotations

import logging
import signal
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

import trio

from genmcp.cli.workers.restarts import MAX_FAILED_STARTS, Restarts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from genmcp.cli.workers.orders import Report

_log: Final = logging.getLogger("genmcp.cli")


class Worker(ABC):
    """One worker that was started."""

    pid: int

    @abstractmethod
    async def wait_until_ready(self) -> Report | None:
        """Return its report once it serves; `None` if it ends before that."""

    @abstractmethod
    async def wait(self) -> int:
        """Return its exit status once it has ended; that of a signal is negative."""

    @abstractmethod
    def tell_to_stop(self) -> None:
        """Have it end in good order. Fit to be called again, or when it has ended."""

    @abstractmethod
    def kill(self) -> None:
        """End it at once. Fit to be called when it has ended."""


class Supervisor:
    """Runs workers, and replaces those that end.

    Args:
        start: starts the worker with this number, from 1.
        count: how many there are.
        grace_seconds: how long all of them have to end in.
        announce: told the report of the first one when all serve.
    """

    def __init__(
        self,
        start: Callable[[int], Awaitable[Worker]],
        count: int,
        *,
        grace_seconds: float,
        announce: Callable[[Report], None],
    ) -> None:
        self._start = start
        self._count = count
        self._grace_seconds = grace_seconds
        self._announce = announce
        self._workers: dict[int, Worker] = {}
        self._report: Report | None = None
        self._settled = {number: trio.Event() for number in range(1, count + 1)}
        self._empty = trio.lowlevel.ParkingLot()
        self._told = False
        self._status = 0

    async def run(self, stop: trio.Event) -> int:
        """Run until `stop` is set or the workers cannot run; return the exit status.

        That is 0 after a stop; otherwise what the first worker ended with, or 1.

        Cancellation: ends the workers at once.
        """
        self._stop = stop
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._end_when_told)
            # The first one alone: what is wrong is said once.
            for number in range(1, self._count + 1):
                nursery.start_soon(self._keep, number)
                if number == 1:
                    await self._settled[number].wait()
                if self._ending:
                    break
            else:
                nursery.start_soon(self._announce_all)
        return self._status

    def tell_workers_to_stop(self) -> None:
        """Have all workers end in good order, and replace none. Fit for signal handlers.

        `stop` must follow. It comes by the event loop, and a second signal may end this
        process before that gets to it: workers that were not told would go on without it.
        """
        self._told = True
        for worker in tuple(self._workers.values()):
            worker.tell_to_stop()

    def kill_workers(self) -> None:
        """End all workers at once. Fit for signal handlers."""
        for worker in tuple(self._workers.values()):
            worker.kill()

    @property
    def _ending(self) -> bool:
        return self._told or self._stop.is_set()

    async def _announce_all(self) -> None:
        for settled in self._settled.values():
            await settled.wait()
        if self._report is not None and not self._ending:
            self._announce(self._report)

    async def _keep(self, number: int) -> None:
        """Have a worker of this number run, one after the other."""
        restarts = Restarts()
        while not self._ending:
            began = trio.current_time()
            served, status, ended = await self._run_one(number)
            if self._ending:
                return
            if not self._settled[number].is_set():
                # It has said why; and the others would fare no better.
                _log.error("%s before it served; all end", ended)
                self._give_up(number, status)
                return
            delay = restarts.note_end(trio.current_time() - began, served=served)
            if delay is None:
                _log.error("%s, start %d in a row to fail; all end", ended, MAX_FAILED_STARTS)
                self._give_up(number, status)
                return
            _log.error("%s; it is started again%s", ended, f" in {delay:g} s" if delay else "")
            with trio.move_on_after(delay):
                await self._stop.wait()

    async def _run_one(self, number: int) -> tuple[bool, int, str]:
        """Return whether a worker came to serve, what it ended with, and that in words."""
        try:
            worker = await self._start(number)
        except OSError as error:
            return False, 1, f"worker {number} could not be started: {error}"
        served, status = await self._see_through(number, worker)
        return served, status, f"worker {number} (process {worker.pid}) {describe_end(status)}"

    async def _see_through(self, number: int, worker: Worker) -> tuple[bool, int]:
        """Return whether a worker came to serve, and what it ended with."""
        self._workers[number] = worker
        try:
            if self._ending:
                worker.tell_to_stop()
            report = await worker.wait_until_ready()
            if report is not None:
                self._report = self._report or report
                self._settled[number].set()
            return report is not None, await worker.wait()
        except BaseException:
            worker.kill()
            with trio.CancelScope(shield=True):
                await worker.wait()
            raise
        finally:
            del self._workers[number]
            if not self._workers:
                self._empty.unpark_all()

    def _give_up(self, number: int, status: int) -> None:
        self._status = status if status > 0 else 1
        self._settled[number].set()
        self._stop.set()

    async def _end_when_told(self) -> None:
        await self._stop.wait()
        for settled in self._settled.values():
            settled.set()
        self.tell_workers_to_stop()
        with trio.move_on_after(self._grace_seconds):
            while self._workers:
                await self._empty.park()
        for number, worker in tuple(self._workers.items()):
            _log.warning("The grace time is over: worker %d is ended at once", number)
            worker.kill()


def describe_end(status: int) -> str:
    """Say how a process ended, by its exit status."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
