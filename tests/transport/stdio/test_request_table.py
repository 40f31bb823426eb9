"""The table of requests, put to a server over stdio: what is in the body is all there is.

Left out are the rows that are about HTTP: what its headers say, and where the answer hangs on
them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.request_table import (
    rows_envelope,
    rows_json,
    rows_listen,
    rows_meta,
    rows_methods,
    rows_pages,
    rows_questions,
    rows_tools,
)
from tests.request_table.checking import check_ending, check_equal, read_message
from tests.request_table.row import Answered, Bare, Refused, Row, Streamed
from tests.request_table.sending import Request
from tests.request_table.served import KEY, Endpoints
from tests.request_table.served_tools import SECRET
from tests.transport.stdio.peer import connected

AREAS = (
    rows_json,
    rows_envelope,
    rows_meta,
    rows_methods,
    rows_tools,
    rows_pages,
    rows_questions,
    rows_listen,
)
HEADER_MISMATCH = -32020

OTHERWISE_HERE = {
    "empty body is not JSON": "a blank line is no message",
    "byte order mark is refused": "at the beginning of the input it is skipped",
    "posted result is refused": "responses are never answered",
    "posted error is refused": "responses are never answered",
    "posted result without an id is refused": "responses are never answered",
    "posted error with a null id is refused": "responses are never answered",
    "initialize with the header of the served version lacks _meta": "there are no headers",
}
"""Tested by themselves, in `test_line_splitter` and `test_line_inbound`."""


def is_about_the_body(row: Row) -> bool:
    request, expected = row.request, row.expected
    if row.name in OTHERWISE_HERE:
        return False
    if request.verb != b"POST" or request.target != b"/mcp" or b"\n" in request.body:
        return False
    return not (isinstance(expected, Refused) and expected.code == HEADER_MISMATCH)


ROWS = [row for area in AREAS for row in area.ROWS if is_about_the_body(row)]


async def converse(request: Request) -> list[Any]:
    """Return what is said to a request, up to the end of what can be said."""
    async with connected(Endpoints().full.mux.server, secret_key=KEY, legacy=False) as peer:
        await peer.send(request.body + b"\n")
        await wait_all_tasks_blocked()
        await trio.sleep(60)
        messages = await peer.end()
    return [read_message(json.dumps(message).encode()) for message in messages]


def test_table_is_as_long_as_it_should_be() -> None:
    assert len(ROWS) >= 450
    assert {row.name for area in AREAS for row in area.ROWS} >= OTHERWISE_HERE.keys()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_request_is_answered_as_the_table_says(row: Row, autojump_clock: Any) -> None:
    messages = await converse(row.request)
    match row.expected:
        case Bare():
            assert messages == []
        case Streamed(notifications=notifications, end=end):
            if end is not None:
                check_ending(end, messages.pop())
            check_equal(list(notifications), messages)
        case Refused() | Answered():
            [message] = messages
            check_ending(row.expected, message)
            assert SECRET not in str(message)
