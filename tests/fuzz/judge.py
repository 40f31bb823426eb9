"""Reading what a server answered, with a reader that is not the server's.

Whatever was asked, the answer is well-formed HTTP and, in it, JSON-RPC.
"""

from __future__ import annotations

import json
from typing import Any, Final

import attrs
import h11

_BODILESS: Final = {204, 304}
_FRAME_HEAD_BYTES: Final = 9


class WrongAnswerError(Exception):
    """The server said what no server may say."""


@attrs.frozen
class Response:
    """One response, as far as it came.

    Attributes:
        status: its HTTP status.
        headers: lower-case names and values.
        body: what came of its body.
        whole: whether that is all of it.
    """

    status: int
    headers: dict[bytes, bytes]
    body: bytes
    whole: bool


def judge(received: bytes, *, may_be_head: bool, cut: bool) -> list[Response]:
    """Check all that came over one connection.

    Args:
        received: what came.
        may_be_head: whether HEAD may have been asked for.
        cut: whether the reader stopped reading, or was reset, before the end.

    Raises:
        WrongAnswerError: it is not what it should be.
    """
    responses: list[Response] = []
    while received:
        if received[0] == 0:
            # HTTP/2, which may be begun behind a request of HTTP/1.1 too.
            _judge_frames(received)
            break
        response, rest = _read_next(received, may_be_head=may_be_head)
        if response is not None:
            _judge_response(response, cut=cut, may_be_head=may_be_head)
            responses.append(response)
        elif rest is None and not cut:
            raise WrongAnswerError(f"a head that is cut: {received[:200]!r}")
        if rest is None:
            break
        received = rest
    return responses


def _read_next(data: bytes, *, may_be_head: bool) -> tuple[Response | None, bytes | None]:
    """Return the first response in `data`, which may be one without its body."""
    try:
        response, rest = _read_response(data, head_only=False)
        if not may_be_head or (rest is not None and _can_begin(rest)):
            return response, rest
    except WrongAnswerError:
        if not may_be_head:
            raise
    # Where HEAD was asked for, what looks like a body may be the next response.
    headed, behind = _read_response(data, head_only=True)
    if behind is not None and _can_begin(behind):
        return headed, behind
    return _read_response(data, head_only=False)


def _can_begin(rest: bytes) -> bool:
    return not rest or rest[0] == 0 or b"HTTP/1.1 ".startswith(rest[:9])


def _read_response(data: bytes, *, head_only: bool) -> tuple[Response | None, bytes | None]:
    """Return the first response in `data`, and what follows it if it is complete."""
    reader = h11.Connection(h11.CLIENT)
    method = "HEAD" if head_only else "GET"
    reader.send(h11.Request(method=method, target="/", headers=[("host", "a")]))
    reader.send(h11.EndOfMessage())
    reader.receive_data(data)
    head: h11.Response | None = None
    body = bytearray()
    told_to_go_on = False
    try:
        while True:
            event: Any = reader.next_event()
            match event:
                case h11.Response():
                    head = event
                case h11.Data():
                    body += event.data
                case h11.EndOfMessage():
                    assert head is not None
                    return _make(head, body, whole=True), bytes(reader.trailing_data[0])
                case h11.InformationalResponse(status_code=100):
                    told_to_go_on = True
                case h11.NEED_DATA if told_to_go_on and not reader.trailing_data[0]:
                    # Told to send its body, the client left instead.
                    return None, b""
                case h11.NEED_DATA:
                    return (None if head is None else _make(head, body, whole=False)), None
                case _:
                    raise WrongAnswerError(f"{event!r} in {data[:200]!r}")
    except h11.RemoteProtocolError as error:
        raise WrongAnswerError(f"not HTTP: {error}: {data[:300]!r}") from error


def _make(head: h11.Response, body: bytearray, *, whole: bool) -> Response:
    return Response(head.status_code, dict(head.headers), bytes(body), whole)


def _judge_response(response: Response, *, cut: bool, may_be_head: bool) -> None:
    kind = response.headers.get(b"content-type", b"")
    stream = kind.startswith(b"text/event-stream")
    # A stream may be cut off when its client has half-closed; nothing else may.
    if not (response.whole or stream or cut):
        raise WrongAnswerError(f"an answer that is cut: {response!r}")
    if response.status >= 500 and response.status not in {501, 503, 505}:
        raise WrongAnswerError(f"a fault of the server: {response!r}")
    if stream:
        # Without the last piece, if that is not complete.
        for event in response.body.split(b"\n\n")[:-1]:
            _judge_event(event)
    elif response.whole and response.body:
        if kind != b"application/json":
            raise WrongAnswerError(f"a body of another kind: {response!r}")
        judge_message(response.body)
    elif response.whole and response.status not in {202, *_BODILESS} and not may_be_head:
        raise WrongAnswerError(f"an answer that says nothing: {response!r}")


def _judge_event(event: bytes) -> None:
    for line in event.split(b"\n"):
        if line.startswith(b"data:"):
            if data := line.removeprefix(b"data:").strip():
                judge_message(data)
        elif line and not line.startswith((b":", b"event:", b"id:", b"retry:")):
            raise WrongAnswerError(f"not an event: {event[:200]!r}")


def judge_message(data: bytes) -> dict[str, Any]:
    """Return a JSON-RPC message.

    Raises:
        WrongAnswerError: it is none.
    """
    try:
        message = json.loads(data)
    except ValueError as error:
        raise WrongAnswerError(f"not JSON: {data[:200]!r}") from error
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise WrongAnswerError(f"not JSON-RPC: {data[:200]!r}")
    kinds = [name for name in ("result", "error", "method") if name in message]
    if len(kinds) != 1:
        raise WrongAnswerError(f"not one of result, error, method: {data[:200]!r}")
    if kinds == ["error"]:
        told = message["error"]
        if not (isinstance(told.get("code"), int) and isinstance(told.get("message"), str)):
            raise WrongAnswerError(f"not an error: {data[:200]!r}")
    return message


def _judge_frames(data: bytes) -> None:
    """Check that this is HTTP/2 frames; the last may be cut."""
    while len(data) >= _FRAME_HEAD_BYTES:
        size, kind = int.from_bytes(data[:3]), data[3]
        if kind > 9:
            raise WrongAnswerError(f"a frame of no kind: {data[:20]!r}")
        data = data[_FRAME_HEAD_BYTES + size :]
