"""The load notices every answer that is not the right one, and reads what it has to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from bench.load import Load
from bench.requests import ADD, LIST_TOOLS, WrongAnswer, ask_report
from bench.responses import LoadError, find_last_event, parse_response

RIGHT = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"3.5"}]}}'
WRONG = RIGHT.replace(b"3.5", b"4.5")
ERROR = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}'


def plain(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    framed = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in [*pieces, b""])
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + framed


@contextmanager
def answering(answer: Callable[[int], bytes]) -> Generator[int]:
    """Answer the request of that number on one connection; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        request = ADD.render(port)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                number = 0
                while len(connection.recv(65536)) == len(request):
                    reply = answer(number)
                    # In two pieces, which may arrive as such.
                    connection.sendall(reply[:50])
                    connection.sendall(reply[50:])
                    number += 1

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield port
        finally:
            thread.join()


@pytest.mark.parametrize("render", [plain, lambda body: chunked(body, 1000)])
def test_right_answers_are_counted(render: Callable[[bytes], bytes]) -> None:
    with answering(lambda _: render(RIGHT)) as port, Load(port, ADD, 1) as load:
        result = load.run(0.05)
    assert result.total == len(result.latencies_ns) > 0
    assert result.rate > 0
    assert 0 < result.find_latency_ms(0.5) <= result.find_latency_ms(0.99)


def test_the_same_answer_in_other_chunks_is_right() -> None:
    with (
        answering(lambda number: chunked(RIGHT, 10 + number % 7)) as port,
        Load(port, ADD, 1) as load,
    ):
        assert load.run(0.05).total > 0


@pytest.mark.parametrize("first", [WRONG, ERROR, b"[]", b"not JSON"])
def test_a_wrong_first_answer_is_refused(first: bytes) -> None:
    with answering(lambda _: plain(first)) as port, pytest.raises(WrongAnswer):
        Load(port, ADD, 1)


@pytest.mark.parametrize(
    "later",
    [
        plain(WRONG),
        chunked(WRONG, 20),
        plain(RIGHT, b"500 Internal Server Error"),
        plain(RIGHT, b"429 Too Many Requests"),
    ],
)
def test_a_wrong_later_answer_is_refused(later: bytes) -> None:
    with (
        answering(lambda number: later if number == 3 else plain(RIGHT)) as port,
        Load(port, ADD, 1) as load,
        pytest.raises(LoadError),
    ):
        load.run(5)


def test_a_connection_that_ends_is_noticed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(plain(RIGHT))
                connection.recv(65536)

        thread = threading.Thread(target=serve)
        thread.start()
        with (
            Load(listener.getsockname()[1], ADD, 1) as load,
            pytest.raises(LoadError, match="closed"),
        ):
            load.run(5)
        thread.join()


@pytest.mark.parametrize("whole", [plain(RIGHT), chunked(RIGHT, 7)])
def test_a_response_is_found_when_it_is_whole_and_not_before(whole: bytes) -> None:
    assert [parse_response(whole[:size]) for size in range(len(whole))] == [None] * len(whole)
    response = parse_response(whole)
    assert response is not None
    assert response.body == RIGHT


def test_a_response_without_a_length_is_refused() -> None:
    with pytest.raises(LoadError, match="no length"):
        parse_response(b"HTTP/1.1 200 OK\r\n\r\n")


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_the_last_event_of_a_stream_is_found(line_end: bytes) -> None:
    lines = [b"event: message", b"data: 1", b"", b"event: message", b"data: {}", b"", b""]
    assert find_last_event(line_end.join(lines)) == b"{}"


def test_a_list_with_a_tool_missing_is_wrong() -> None:
    with pytest.raises(WrongAnswer):
        LIST_TOOLS.check({"tools": [{"name": "tool_000"}]})


def test_requests_differ_only_in_the_port() -> None:
    question = ask_report(5)
    assert question.render(1).replace(b"127.0.0.1:1\r", b"127.0.0.1:2\r") == question.render(2)
