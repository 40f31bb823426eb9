"""Whatever bytes arrive on a connection, the server answers or closes, and lives.

`make test GENMCP_EXAMPLES=20000 ARGS=tests/e2e/test_any_bytes.py` looks for longer, and
elsewhere every time.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import socket

import pytest

from tests.e2e.raw_http import HANG_GUARD_SECONDS
from tests.e2e.table_server import FRONTS, serving_table
from tests.e2e.test_request_table import ResponseReader
from tests.request_table.all_rows import ROWS
from tests.request_table.checking import check
from tests.request_table.row import Refused
from tests.request_table.rows_sender import ADD, ADDED

EXAMPLES = int(os.environ.get("GENMCP_EXAMPLES", "0"))

MAY_BE_ANSWERED = {
    200, 202, 204, 400, 401, 403, 404, 405, 408, 413, 414, 415, 417, 421, 431, 501, 505
}  # fmt: skip
"""No fault of the server is among them: 501 and 505 are about what was asked for."""

_TOKENS = [
    b"\r\n", b"\n", b"\r", b":", b" ", b"\0", b"\xff", b"%", b"%00", b"%ff", b"?", b"#", b"//",
    b"http://", b"HTTP/1.1", b"HTTP/1.0", b"0\r\n\r\n", b"\r\n\r\n", b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", b"Expect: 100-continue\r\n",
    b"Connection: upgrade\r\nUpgrade: websocket\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n",
]  # fmt: skip
_MOST_BYTES = 3_000


def spoil(raw: bytes, chance: random.Random) -> bytes:
    """Lose, change, repeat or add some bytes, in the head mostly."""
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(min(len(raw), 250) if chance.random() < 0.7 else len(raw))
        match chance.randrange(5):
            case 0:
                raw = raw[:at] + chance.choice(_TOKENS) + raw[at:]
            case 1:
                raw = raw[:at] + raw[at + chance.randint(1, 20) :]
            case 2:
                raw = raw[:at] + bytes([chance.randrange(256)]) + raw[at + 1 :]
            case 3:
                raw = raw[: at + chance.randint(1, 60)] + raw[at:]
            case _:
                raw = raw[:at] + chance.choice(_TOKENS) + raw[at + 4 :]
    return raw


def read_some(connection: socket.socket) -> bytes:
    """Read to the end, or to where a listen stream begins to wait."""
    received = b""
    try:
        while data := connection.recv(65_536):
            received += data
            if b"subscriptions/acknowledged" in received:
                break
    except ConnectionResetError:
        pass  # it was closed over bytes that were still arriving
    return received


@pytest.mark.parametrize("front", FRONTS)
def test_spoiled_requests_are_answered_or_closed(
    front: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    chance = random.Random(None if EXAMPLES else 7)  # noqa: S311 - no secret
    good = [
        row.request.raw()
        for row in ROWS
        # Those that a fault of the server's own code answers are left out.
        if not (isinstance(row.expected, Refused) and row.expected.status >= 500)
        and not any(name in row.request.body for name in (b'"constant"', b'"refuse"', b'"crash"'))
        and len(row.request.body) < _MOST_BYTES
    ]
    answered = 0
    with serving_table(front) as server:
        address = ("127.0.0.1", server.port)
        for _ in range(EXAMPLES or 1_000):
            raw = spoil(chance.choice(good), chance)
            with socket.create_connection(address, HANG_GUARD_SECONDS) as connection:
                with contextlib.suppress(OSError):  # it may be answered, and closed, before
                    connection.sendall(raw)
                    connection.shutdown(socket.SHUT_WR)
                received = read_some(connection)
            if received:
                answered += 1
                assert received.startswith(b"HTTP/1.1 ")
                status = int(received[9:12])
                assert status in MAY_BE_ANSWERED | {100}, (raw, received)
                assert b'"id":null' not in received
        with socket.create_connection(address, HANG_GUARD_SECONDS) as connection:
            connection.sendall(ADD.raw())
            check(ADDED, ResponseReader(connection).read(b"POST"))
    assert answered > (EXAMPLES or 1_000) / 2
    assert caplog.records == []
