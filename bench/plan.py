"""All work there is, in the order of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bench.calls import CPU, LOAD_CPU, P50, P99, RATE, Calls
from bench.parked import Parked
from bench.peers import Style
from bench.progress import Progress
from bench.requests import ADD, ADD_TRACED, LARGE_ARGUMENT, LARGE_RESULT, LIST_TOOLS
from bench.startup import ColdStart, Definition, Import
from bench.work import Work

_ADD: Final = "`tools/call` of a trivial async tool"

PLAN: Final[Mapping[str, Work]] = {
    work.name: work
    for work in (
        Calls("add-1", f"{_ADD}, 1 connection", ADD, 1, [RATE, P50, P99, CPU], shared=True),
        Calls(
            "add-32",
            f"{_ADD}, 32 connections",
            ADD,
            32,
            [RATE, P50, P99, CPU, LOAD_CPU],
            shared=True,
        ),
        Calls(
            "add-32-traced",
            f"{_ADD}, 32 connections, each request with a trace of its own",
            ADD_TRACED,
            32,
            [RATE, P50, CPU],
        ),
        Calls("add-256", f"{_ADD}, 256 connections", ADD, 256, [RATE, CPU], shared=True),
        Progress(),
        Calls(
            "list",
            "`tools/list` of 200 tools, 8 connections",
            LIST_TOOLS,
            8,
            [RATE, CPU],
            style=Style.CATALOG,
        ),
        Calls("argument", "1 MiB argument, 4 connections", LARGE_ARGUMENT, 4, [RATE, CPU]),
        Calls("result", "1 MiB result, 4 connections", LARGE_RESULT, 4, [RATE, CPU]),
        Parked("listen", 1000),
        Parked("listen", 5000),
        Parked("wait", 1000),
        Parked("wait", 5000),
        Import(),
        Definition(),
        ColdStart(),
    )
}
