from __future__ import annotations

import json
from typing import Any

import pytest

from genmcp.errors import InvalidParams
from genmcp.events import Answered, EncodeError, Failed, KeptAlive, Notified, Opened
from genmcp.mcp import v2607 as mcp
from genmcp.transport.stdio.line_reply import LineReply

DONE = Answered(mcp.call_tool_result(text="done"))
CHANGED = Notified(mcp.ToolListChangedNotification())
ERROR = Failed(InvalidParams("no"))


def render(*events: Any, listens: bool = False, request_id: Any = 7) -> list[dict[str, Any]]:
    reply = LineReply(request_id, listens=listens)
    text = b"".join(map(reply.render, events)) + reply.farewell
    assert not text or text.endswith(b"\n")
    return [json.loads(line) for line in text.splitlines()]


def test_streams_and_keep_alives_are_nothing_here() -> None:
    assert render(Opened(), KeptAlive()) == []


def test_notifications_come_before_the_answer() -> None:
    first, second = render(CHANGED, DONE)
    assert (first["method"], second["id"]) == ("notifications/tools/list_changed", 7)


@pytest.mark.parametrize("request_id", [7, "7", "", 0, -1, "ü\u2028"], ids=repr)
def test_id_keeps_its_type(request_id: Any) -> None:
    [answer] = render(ERROR, request_id=request_id)
    assert answer["id"] == request_id
    assert type(answer["id"]) is type(request_id)


def test_nothing_in_a_message_ends_its_line_for_anybody() -> None:
    text = "a\nb\r\nc\u2028d\u2029e\u0085f\x0bg\x0ch\x1ci"
    reply = LineReply(1, listens=False)
    line = reply.render(Answered(mcp.call_tool_result(text=text)))
    assert line.count(b"\n") == 1
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line)["result"]["content"][0]["text"] == text


def test_subscription_ends_with_its_result_and_then_its_cancellation() -> None:
    *_, result, cancelled = render(CHANGED, DONE, listens=True)
    assert result["id"] == 7
    assert cancelled == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 7},
    }


def test_subscription_that_fails_when_it_is_open_is_cancelled_too() -> None:
    _, error, cancelled = render(CHANGED, ERROR, listens=True)
    assert error["error"]["code"] == -32602
    assert cancelled["params"] == {"requestId": 7}


def test_subscription_that_never_was_open_has_only_failed() -> None:
    [error] = render(ERROR, listens=True)
    assert error["error"]["code"] == -32602


def test_no_other_call_is_cancelled_by_the_server() -> None:
    assert len(render(CHANGED, DONE)) == 2


def test_after_what_cannot_be_written_another_ending_may_follow() -> None:
    reply = LineReply(1, listens=True)
    broken = Answered(mcp.CallToolResult(content=[], structured_content={"total": float("nan")}))
    with pytest.raises(EncodeError):
        reply.render(broken)
    assert not reply.done
    assert reply.render(ERROR).count(b"\n") == 1
    assert reply.done


def test_nothing_comes_after_the_answer() -> None:
    reply = LineReply(1, listens=False)
    reply.render(DONE)
    with pytest.raises(RuntimeError, match="complete"):
        reply.render(CHANGED)
