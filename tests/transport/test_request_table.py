"""The table of requests, put to the application in memory."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import unquote

import h11
import pytest
import trio
import trio.testing

from tests.request_table.all_rows import ROWS
from tests.request_table.checking import Response, check
from tests.request_table.row import Row, Streamed
from tests.request_table.sending import Request
from tests.request_table.served import Endpoints
from tests.request_table.served_tools import SECRET
from tests.transport.asgi_server import Connection

FOR_THE_APP = [row for row in ROWS if row.answered_by == "app"]


def test_table_is_as_long_as_it_should_be() -> None:
    assert len(FOR_THE_APP) >= 700


def test_every_row_states_a_fact_of_its_own() -> None:
    names = Counter(row.name for row in ROWS)
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("row", FOR_THE_APP, ids=lambda row: row.name)
async def test_request_is_answered_as_the_table_says(
    row: Row, autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    app = Endpoints()
    connection = connect(row.request)
    with trio.fail_after(600):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.run, app)
            if isinstance(row.expected, Streamed) and row.expected.end is None:
                await trio.testing.wait_all_tasks_blocked()
                response = read_response(connection)
                connection.disconnect()
    if connection.complete:
        response = read_response(connection)
    assert connection.status is not None
    check(row.expected, response)
    assert SECRET.encode() not in connection.body
    assert app.open_calls == 0


def connect(request: Request) -> Connection:
    """The request as an ASGI server hands it over, read from its raw bytes."""
    parser = h11.Connection(h11.SERVER)
    parser.receive_data(request.raw())
    head = parser.next_event()
    assert isinstance(head, h11.Request), head
    pieces: list[bytes] = []
    while isinstance(event := parser.next_event(), h11.Data):
        pieces.append(bytes(event.data))
    path, _, query = head.target.partition(b"?")
    scope: dict[str, Any] = {
        "method": head.method.decode(),
        "path": unquote(path.decode()),
        "raw_path": path,
        "query_string": query,
        "http_version": head.http_version.decode(),
        "headers": list(head.headers),
    }
    connection = Connection([*pieces, b""], ends=isinstance(event, h11.EndOfMessage))
    connection.scope.update(scope)
    return connection


def read_response(connection: Connection) -> Response:
    assert connection.status is not None
    headers = {name.decode(): value.decode() for name, value in connection.headers.items()}
    return Response(connection.status, headers, connection.body, connection.complete)
