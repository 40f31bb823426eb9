"""The supervisor, over workers that are no processes."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from genmcp.cli.workers.orders import Orders, Report
from genmcp.cli.workers.restarts import MAX_FAILED_STARTS, Restarts
from genmcp.cli.workers.supervisor import Supervisor, Worker, describe_end

GRACE_SECONDS = 10.0
REPORT = Report(((logging.INFO, "serving"),))


class FakeWorker(Worker):
    """A worker that does what a test tells it to."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.pid = 1000 + number
        self.told = 0
        self.obeys = True
        self._served = False
        self._ready = trio.Event()
        self._ended = trio.Event()
        self._status = 0

    async def wait_until_ready(self) -> Report | None:
        await self._ready.wait()
        return REPORT if self._served else None

    async def wait(self) -> int:
        await self._ended.wait()
        return self._status

    def serve(self) -> None:
        self._served = True
        self._ready.set()

    def end(self, status: int) -> None:
        if not self._ended.is_set():
            self._status = status
            self._ended.set()
            self._ready.set()

    def tell_to_stop(self) -> None:
        self.told += 1
        if self.obeys:
            self.end(0)

    def kill(self) -> None:
        self.end(-9)


class Stage:
    """A supervisor that runs, and the workers it has started, in order."""

    def __init__(self, count: int) -> None:
        self.started: list[FakeWorker] = []
        self.at: list[float] = []
        self.announced: list[Report] = []
        self.status: int | None = None
        self.stop = trio.Event()
        self.fails = False
        self._supervisor = Supervisor(
            self._start, count, grace_seconds=GRACE_SECONDS, announce=self.announced.append
        )

    async def _start(self, number: int) -> Worker:
        if self.fails:
            raise OSError("no process")
        worker = FakeWorker(number)
        self.started.append(worker)
        self.at.append(trio.current_time())
        return worker

    def tell_workers_to_stop(self) -> None:
        self._supervisor.tell_workers_to_stop()

    def kill_workers(self) -> None:
        self._supervisor.kill_workers()

    async def run(self) -> None:
        self.status = await self._supervisor.run(self.stop)

    def numbers(self) -> list[int]:
        return [worker.number for worker in self.started]


@asynccontextmanager
async def supervised(count: int, *, serve: bool = True) -> AsyncGenerator[Stage]:
    stage = Stage(count)
    with trio.fail_after(3600):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stage.run)
            await trio.testing.wait_all_tasks_blocked()
            if serve:
                stage.started[0].serve()
                await trio.testing.wait_all_tasks_blocked()
                for worker in stage.started[1:]:
                    worker.serve()
                await trio.testing.wait_all_tasks_blocked()
            yield stage
            stage.stop.set()


async def test_the_first_one_is_waited_for_before_the_others_start() -> None:
    async with supervised(3, serve=False) as stage:
        assert stage.numbers() == [1]
        stage.started[0].serve()
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(stage.numbers()) == [1, 2, 3]
        stage.started[1].serve()
        await trio.testing.wait_all_tasks_blocked()
        assert stage.announced == []
        stage.started[2].serve()
        await trio.testing.wait_all_tasks_blocked()
        assert stage.announced == [REPORT]
    assert stage.status == 0


@pytest.mark.parametrize(("ended_with", "status"), [(1, 1), (2, 2), (0, 1), (-9, 1)])
async def test_a_first_one_that_never_serves_ends_it_with_its_status(
    ended_with: int, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with supervised(2, serve=False) as stage:
        stage.started[0].end(ended_with)
        await trio.testing.wait_all_tasks_blocked()
        assert stage.status == status
    assert stage.numbers() == [1]
    assert "before it served" in caplog.text


async def test_another_one_that_never_serves_ends_all() -> None:
    async with supervised(2, serve=False) as stage:
        stage.started[0].serve()
        await trio.testing.wait_all_tasks_blocked()
        stage.started[1].end(2)
        await trio.testing.wait_all_tasks_blocked()
        assert stage.status == 2
    assert stage.started[0].told == 1
    assert stage.announced == []


@pytest.mark.parametrize("ended_with", [0, 1, -9, -11])
async def test_one_that_ends_is_replaced_at_once(
    ended_with: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with supervised(2) as stage:
        stage.started[1].end(ended_with)
        await trio.testing.wait_all_tasks_blocked()
        assert stage.numbers() == [1, 2, 2]
    assert describe_end(ended_with) in caplog.text
    assert [worker.told for worker in stage.started] == [1, 0, 1]
    assert stage.status == 0
    assert stage.announced == [REPORT]


async def test_one_that_ends_again_and_again_is_waited_for(
    autojump_clock: trio.testing.MockClock,
) -> None:
    waits: list[float] = []
    async with supervised(1) as stage:
        for _ in range(9):
            stage.started[-1].serve()
            stage.started[-1].end(1)
            ended_at = trio.current_time()
            await trio.sleep(40)
            waits.append(stage.at[-1] - ended_at)
    assert waits == pytest.approx([0, 1, 2, 4, 8, 16, 30, 30, 30])
    assert stage.status == 0


async def test_one_that_cannot_be_started_again_ends_all_after_a_few_tries(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with supervised(2) as stage:
        stage.started[1].end(-11)
        for _ in range(MAX_FAILED_STARTS):
            await trio.sleep(60)
            stage.started[-1].end(3)
        await trio.sleep(60)
        assert stage.status == 3
    assert stage.numbers() == [1, 2, *[2] * MAX_FAILED_STARTS]
    assert stage.started[0].told == 1
    assert f"start {MAX_FAILED_STARTS} in a row" in caplog.text


async def test_without_a_process_to_be_had_it_tries_on(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with supervised(2) as stage:
        stage.fails = True
        stage.started[1].end(-11)
        await trio.sleep(0.5)
        stage.fails = False
        await trio.sleep(60)
        assert stage.numbers() == [1, 2, 2]
        stage.started[-1].serve()
    assert "could not be started: no process" in caplog.text
    assert stage.status == 0


async def test_without_a_process_for_the_first_one_it_ends() -> None:
    stage = Stage(2)
    stage.fails = True
    await stage.run()
    assert stage.status == 1


async def test_one_that_does_not_end_is_ended_when_the_grace_time_is_over(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with supervised(2) as stage:
        stage.started[1].obeys = False
        stage.stop.set()
        await trio.sleep(GRACE_SECONDS - 1)
        assert stage.status is None
        await trio.sleep(2)
        assert stage.status == 0


async def test_those_that_do_not_end_when_told_are_killed_at_a_word() -> None:
    async with supervised(2) as stage:
        for worker in stage.started:
            worker.obeys = False
        stage.stop.set()
        await trio.testing.wait_all_tasks_blocked()
        assert stage.status is None
        stage.kill_workers()
        await trio.testing.wait_all_tasks_blocked()
        assert stage.status == 0


async def test_stopped_while_one_starts_it_is_told_and_none_follows() -> None:
    async with supervised(2, serve=False) as stage:
        stage.stop.set()
        await trio.testing.wait_all_tasks_blocked()
        assert stage.numbers() == [1]
        assert stage.started[0].told == 1
    assert stage.status == 0
    assert stage.announced == []


@pytest.mark.parametrize("serving", [True, False])
async def test_what_ends_because_it_was_told_is_not_replaced_before_the_stop_is_known(
    *, serving: bool
) -> None:
    async with supervised(2, serve=serving) as stage:
        numbers = stage.numbers()
        stage.tell_workers_to_stop()
        assert [worker.told for worker in stage.started] == [1] * len(numbers)
        await trio.testing.wait_all_tasks_blocked()
        assert stage.numbers() == numbers
        assert stage.status is None
    assert stage.status == 0


async def test_stopped_while_one_is_waited_for_it_ends_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with supervised(1) as stage:
        stage.started[0].end(1)
        await trio.testing.wait_all_tasks_blocked()
        stage.started[1].serve()
        stage.started[1].end(1)
        await trio.testing.wait_all_tasks_blocked()
        before = trio.current_time()
        stage.stop.set()
        await trio.testing.wait_all_tasks_blocked()
        assert stage.status == 0
        assert trio.current_time() == before


async def test_cancelled_it_ends_the_workers() -> None:
    stage = Stage(2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.run)
        await trio.testing.wait_all_tasks_blocked()
        stage.started[0].serve()
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert [worker._status for worker in stage.started] == [-9, -9]


@pytest.mark.parametrize(
    ("ends", "delays"),
    [
        ([(5, True)] * 9, [0, 1, 2, 4, 8, 16, 30, 30, 30]),
        ([(5, True), (5, True), (3600, True), (5, True)], [0, 1, 0, 1]),
        ([(0, False)] * 5, [0, 1, 2, 4, None]),
        ([(3600, False)] * 5, [0, 1, 2, 4, None]),
        ([(0, False)] * 4 + [(5, True)] + [(0, False)] * 2, [0, 1, 2, 4, 8, 16, 30]),
        ([(5, True)] * 2000, [0, 1, 2, 4, 8, 16, *[30] * 1994]),
    ],
)
def test_when_it_is_started_again(
    ends: list[tuple[float, bool]], delays: list[float | None]
) -> None:
    restarts = Restarts()
    assert [restarts.note_end(lived, served=served) for lived, served in ends] == delays


@pytest.mark.parametrize(
    ("status", "said"),
    [(0, "with status 0"), (3, "with status 3"), (-9, "by SIGKILL"), (-99, "by signal 99")],
)
def test_an_end_is_described(status: int, said: str) -> None:
    assert describe_end(status).endswith(said)


@pytest.mark.parametrize(
    "orders",
    [
        Orders(number=1),
        Orders(number=2, secret_key="a\n" * 20, port=8000),
        Orders(number=3, descriptors=(3, 17)),
    ],
)
def test_orders_are_one_line_and_arrive_as_they_were(orders: Orders) -> None:
    line = orders.write()
    assert line.count(b"\n") == 1
    assert Orders.read(line) == orders


def test_a_report_is_one_line_and_arrives_as_it_was() -> None:
    report = Report(((logging.INFO, "one\ntwo"), (logging.WARNING, "three")))
    assert report.write().count(b"\n") == 1
    assert Report.read(report.write()) == report
