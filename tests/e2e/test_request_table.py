"""The table of requests, put to both real servers over sockets."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import h11
import pytest

from tests.e2e.raw_http import HANG_GUARD_SECONDS
from tests.e2e.table_server import FRONTS, Server, serving_table
from tests.request_table.all_rows import ROWS
from tests.request_table.checking import Response, check
from tests.request_table.row import Row, Streamed
from tests.request_table.rows_sender import ADD, ADDED
from tests.request_table.served import STRICT_BODY_BYTES
from tests.request_table.served_tools import SECRET


@pytest.fixture(scope="module", params=FRONTS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """One server for the whole table, of each kind."""
    with serving_table(request.param) as server:
        yield server


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_request_is_answered_as_the_table_says(row: Row, server: Server) -> None:
    expected = row.expect(server.front)
    streams = isinstance(expected, Streamed) and expected.end is None
    with socket.create_connection(("127.0.0.1", server.port), HANG_GUARD_SECONDS) as connection:
        reader = ResponseReader(connection)
        connection.sendall(row.request.raw())
        response = reader.read(row.request.verb, one_event=streams)
        check(expected, response)
        assert SECRET.encode() not in response.body
        if streams:
            return
        if response.headers.get("connection") == "close" or row.request.version == b"HTTP/1.0":
            assert reader.read_rest() == b""
            return
        # Server and client agree on where the next request begins.
        connection.sendall(ADD.raw())
        check(ADDED, reader.read(b"POST"))
        if server.front == "native":
            # It knows heads again that were sent before, and that it had nothing against.
            for _ in range(3):
                connection.sendall(row.request.raw())
                check(expected, reader.read(row.request.verb))


def test_a_head_that_passed_once_is_looked_at_again_with_a_body_that_is_too_large() -> None:
    small = ADD.at(b"/strict")
    large = small.saying(small.body.ljust(STRICT_BODY_BYTES + 1))
    with serving_table("native") as server:
        answers: list[Response] = []
        for before in (3, 0):
            with socket.create_connection(
                ("127.0.0.1", server.port), HANG_GUARD_SECONDS
            ) as connection:
                reader = ResponseReader(connection)
                for _ in range(before):
                    connection.sendall(small.raw())
                    assert reader.read(b"POST").status == 200
                connection.sendall(large.raw())
                answers.append(reader.read(b"POST"))
    behind_others, alone = answers
    assert alone.status == 413
    assert behind_others.body == alone.body
    assert behind_others.headers.get("connection") == alone.headers.get("connection")


class ResponseReader:
    """Reads responses off a connection, and takes nothing that is not well-formed."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unread = b""

    def read(self, verb: bytes, *, one_event: bool = False) -> Response:
        """Read one response, or the first event of a stream that does not end."""
        parser = h11.Connection(h11.CLIENT)
        asked = verb if verb == b"HEAD" else b"GET"
        parser.send(h11.Request(method=asked, target="/", headers=[("host", "x")]))
        parser.send(h11.EndOfMessage())
        if self._unread:  # nothing would mean the end of the connection
            parser.receive_data(self._unread)
        head = self._next(parser)
        assert isinstance(head, h11.Response), head
        headers = {name.decode(): value.decode("ascii") for name, value in head.headers}
        assert len(headers) == len(head.headers), "a header was sent twice"
        body = b""
        while isinstance(event := self._next(parser), h11.Data):
            body += bytes(event.data)
            if one_event and b"data: " in body and body.endswith(b"\n\n"):
                return Response(head.status_code, headers, body, complete=False)
        assert isinstance(event, h11.EndOfMessage)
        self._unread = parser.trailing_data[0]
        return Response(head.status_code, headers, body, complete=True)

    def read_rest(self) -> bytes:
        """Read to the end of the connection."""
        rest = self._unread
        # Closed over bytes that were still arriving, it is reset.
        with contextlib.suppress(ConnectionResetError):
            while data := self._connection.recv(65_536):
                rest += data
        return rest

    def _next(self, parser: h11.Connection) -> Any:
        while (event := parser.next_event()) is h11.NEED_DATA:
            parser.receive_data(self._connection.recv(65_536))
        return event
