from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from genmcp.errors import (
    HeaderMismatch,
    InternalError,
    InvalidParams,
    InvalidRequest,
    McpError,
    MethodNotFound,
    MissingRequiredClientCapability,
    NotFound,
    ParseError,
    UnsupportedProtocolVersion,
)
from genmcp.events import Answered, EncodeError, Failed, KeptAlive, Notified, Opened
from genmcp.mcp import v2607 as mcp
from genmcp.transport.reply import (
    Chunk,
    End,
    Head,
    Reply,
    Whole,
    render_accepted,
    render_refusal,
)
from genmcp.transport.sse import KEEP_ALIVE

if TYPE_CHECKING:
    from genmcp.events import Event
    from genmcp.transport.reply import Part

STREAM = Head(
    200,
    (
        (b"content-type", b"text/event-stream"),
        (b"cache-control", b"no-cache, no-transform"),
        (b"x-accel-buffering", b"no"),
    ),
)
COMMENT = Chunk(KEEP_ALIVE)


def progress(step: float, message: str | None = None) -> Notified:
    params = mcp.ProgressNotificationParams(progress_token="t", progress=step, message=message)
    return Notified(mcp.ProgressNotification(params=params))


def read_event(part: Part) -> Any:
    assert isinstance(part, Chunk)
    assert part.body.startswith(b"data: ")
    assert part.body.endswith(b"\n\n")
    assert part.body.count(b"\n") == 2
    return json.loads(part.body[6:])


def read_whole(part: Part) -> tuple[int, dict[bytes, bytes], Any]:
    assert isinstance(part, Whole)
    headers = dict(part.headers)
    assert len(headers) == len(part.headers)
    assert headers[b"content-length"] == str(len(part.body)).encode()
    return part.status, headers, json.loads(part.body)


RESULT = Answered(mcp.call_tool_result(text="42"))
ERROR = Failed(InvalidParams("no such tool"))


# -- the table, exhaustively -------------------------------------------------------

EVENTS: dict[str, Event] = {
    "opened": Opened(),
    "notified": progress(1),
    "kept alive": KeptAlive(),
    "answered": RESULT,
    "failed": ERROR,
}


def expected_parts(state: str, event: str) -> tuple[str, list[str]] | None:
    """The documented table, spelled out once more: (next state, kinds of parts)."""
    ending = event in ("answered", "failed")
    match state:
        case "idle" if ending:
            return "done", ["Whole"]
        case "idle":
            return "streaming", ["Head", "Chunk"]
        case "streaming" if ending:
            return "done", ["Chunk", "End"]
        case "streaming":
            return "streaming", [] if event == "opened" else ["Chunk"]
        case _:
            return None


def test_every_sequence_of_events_follows_the_table() -> None:
    for sequence in itertools.product(EVENTS, repeat=4):
        reply = Reply(1)
        state = "idle"
        for name in sequence:
            step = expected_parts(state, name)
            if step is None:
                with pytest.raises(RuntimeError, match="complete"):
                    reply.render(EVENTS[name])
                continue
            state, kinds = step
            parts = reply.render(EVENTS[name])
            assert [type(part).__name__ for part in parts] == kinds, sequence
            assert reply.idle is (state == "idle")
            assert reply.done is (state == "done")


# -- what the parts say ------------------------------------------------------------


def test_answer_without_a_stream_is_plain_json() -> None:
    (part,) = Reply("a-1").render(RESULT)
    status, headers, body = read_whole(part)
    assert status == 200
    assert headers[b"content-type"] == b"application/json"
    assert body == {
        "jsonrpc": "2.0",
        "id": "a-1",
        "result": {"resultType": "complete", "content": [{"type": "text", "text": "42"}]},
    }


@pytest.mark.parametrize("event", [Opened(), KeptAlive()], ids=["opened", "kept alive"])
def test_opening_sends_head_and_a_comment_at_once(event: Event) -> None:
    assert Reply(1).render(event) == (STREAM, COMMENT)


def test_notification_opens_the_stream_and_is_its_first_event() -> None:
    head, first = Reply(1).render(progress(1))
    assert head == STREAM
    assert read_event(first)["method"] == "notifications/progress"


def test_answer_on_a_stream_is_its_last_event() -> None:
    reply = Reply(0)
    reply.render(Opened())
    last, end = reply.render(RESULT)
    assert read_event(last)["id"] == 0
    assert end == End()


def test_error_on_a_stream_is_its_last_event() -> None:
    reply = Reply(7)
    reply.render(Opened())
    last, end = reply.render(ERROR)
    assert read_event(last) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32602, "message": "no such tool"},
    }
    assert end == End()


def test_line_separators_are_escaped_in_events_and_not_in_plain_json() -> None:
    text = "a\u2028b\u2029c\u0085d"
    reply = Reply(1)
    _, first = reply.render(progress(1, text))
    assert isinstance(first, Chunk)
    assert first.body.isascii()
    assert read_event(first)["params"]["message"] == text
    (plain,) = Reply(1).render(Answered(mcp.call_tool_result(text=text)))
    assert read_whole(plain)[2]["result"]["content"][0]["text"] == text


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ParseError("x"), 400),
        (InvalidRequest("x"), 400),
        (MethodNotFound("x"), 404),
        (InvalidParams("x"), 200),
        (NotFound("x"), 200),
        (InternalError("x"), 500),
        (HeaderMismatch("x"), 400),
        (MissingRequiredClientCapability({"elicitation": {}}), 400),
        (UnsupportedProtocolVersion("v9", ["2026-07-28"]), 400),
        (McpError("x", code=1), 200),
        (McpError("x", code=-31999, data=None), 200),
    ],
    ids=repr,
)
def test_status_of_an_error_before_the_stream(error: McpError, status: int) -> None:
    (part,) = Reply(1).render(Failed(error))
    got, _, body = read_whole(part)
    assert got == status
    assert body["error"]["code"] == error.code


# -- what cannot be written --------------------------------------------------------


def unwritable_result() -> Answered:
    return Answered(mcp.CallToolResult(content=[], structured_content=float("nan")))


@pytest.mark.parametrize("opened", [False, True], ids=["idle", "streaming"])
@pytest.mark.parametrize(
    "event",
    [
        unwritable_result(),
        Failed(McpError("x", code=1, data=object())),
        progress(float("inf")),
    ],
    ids=["answered", "failed", "notified"],
)
def test_what_is_not_json_changes_nothing(event: Event, opened: bool) -> None:
    reply = Reply(1)
    if opened:
        reply.render(Opened())
    with pytest.raises(EncodeError):
        reply.render(event)
    assert reply.idle is not opened
    assert not reply.done
    parts = reply.render(ERROR)
    assert [type(part) for part in parts] == ([Chunk, End] if opened else [Whole])


# -- refusals ----------------------------------------------------------------------


def test_refusal_without_an_id_has_no_id_member() -> None:
    whole = render_refusal(403, InvalidRequest("no"), headers=((b"x-a", b"b"),))
    status, headers, body = read_whole(whole)
    assert (status, headers[b"x-a"]) == (403, b"b")
    assert body == {"jsonrpc": "2.0", "error": {"code": -32600, "message": "no"}}


def test_refusal_with_an_id_keeps_its_type() -> None:
    for request_id in (1, "1", 0, ""):
        body = read_whole(render_refusal(400, InvalidRequest("no"), request_id))[2]
        assert body["id"] == request_id
        assert type(body["id"]) is type(request_id)


def test_notification_is_answered_202_without_a_body() -> None:
    accepted = render_accepted()
    assert (accepted.status, accepted.body) == (202, b"")
    assert dict(accepted.headers) == {b"content-length": b"0"}
