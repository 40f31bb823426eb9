"""What a client sends is repeated in answers and in the log: short, and on one line."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
import trio
import trio.testing

from tests.request_table.sending import Request, call, good, notify
from tests.request_table.served import Endpoints
from tests.transport.test_request_table import connect

LONG = "x\nERROR forged\r\x1b[31m\u2028\x85" + "z" * 5_000
MOST_CHARACTERS = 800

_PROMPT = {"type": "ref/prompt", "name": "greet"}
_NOTE = {"type": "ref/resource", "uri": "note://{id}"}


def complete(ref: Any, name: str) -> Request:
    return good("completion/complete", {"ref": ref, "argument": {"name": name, "value": ""}})


def named(request: Request, path: str) -> Request:
    """`request` with `LONG` as the name of its target."""
    wrapped = b"=?base64?" + base64.b64encode(LONG.encode()) + b"?="
    return request.member(path, LONG).instead(b"Mcp-Name: " + wrapped)


REPEATING = {
    "tool": named(call("x"), "params.name"),
    "prompt": named(good("prompts/get", {"name": "x"}), "params.name"),
    "uri": named(good("resources/read", {"uri": "x:y"}), "params.uri"),
    "argument": call("add", {"a": 1, LONG: 2}),
    "argument's value": call("add", {"a": LONG}),
    "argument as a protocol error": call("add", {"a": LONG[:150]}).at(b"/strict"),
    "prompt's argument": good("prompts/get", {"name": "greet", "arguments": {LONG: 1}}),
    "completed prompt": complete({"type": "ref/prompt", "name": LONG}, "x"),
    "completed argument": complete(_PROMPT, LONG),
    "completed variable": complete(_NOTE, LONG),
    "completed resource": complete({"type": "ref/resource", "uri": f"x:{LONG}"}, "x"),
    "kind of reference": complete({"type": LONG, "name": LONG}, "x"),
    "method": good("tools/list").member("method", LONG),
    "method of a notification": notify("notifications/x").member("method", LONG),
    "id": call("nobody").member("id", LONG),
    "id of a crash": call("crash").member("id", LONG),
    "id of bad arguments": call("add", {}).member("id", LONG),
    "id of a bad state": call("ask", requestState="x").member("id", LONG),
    "log level": call("echo").meta(logLevel=LONG),
    "version": good("server/discover").meta(protocolVersion=LONG),
    "version of earlier clients": good("initialize")
    .without(b"MCP-Protocol-Version")
    .drop("params._meta")
    .member("params.protocolVersion", LONG),
    "cursor": good("tools/list", {"cursor": LONG}),
    "state": call("ask", requestState=LONG),
    "capability": call("echo").able(elicitation={LONG: 1}, extensions={LONG: 1}),
    "answer": call("ask", inputResponses={"who": {"action": LONG}}),
    "field of a form": call(
        "ask", inputResponses={"who": {"action": "accept", "content": {LONG: 1}}}
    ),
    "subscription": good(
        "subscriptions/listen", {"notifications": {"resourceSubscriptions": [LONG]}}
    ),
    "member given twice": call("echo").swap(b'"id":1', b'"%b":1,"%b":2' % ((b"q" * 5000,) * 2)),
    "header": call("echo").instead(b"Mcp-Method: " + b"q" * 5000),
    "content type": call("echo").instead(b"Content-Type: " + b"q" * 5000),
    "origin": call("echo").instead(b"Origin: " + b"q" * 5000),
    "host": call("echo").instead(b"Host: " + b"q" * 5000),
    "path": call("echo").at(b"/" + b"%0a" * 2000),
}


@pytest.mark.parametrize("name", REPEATING)
async def test_answers_and_log_lines_stay_short_and_in_one_line(
    name: str, autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    connection = connect(REPEATING[name])
    with trio.fail_after(600):
        await connection.run(Endpoints())
    for record in caplog.records:
        line = record.getMessage()
        assert line.isprintable(), line
        assert len(line) <= MOST_CHARACTERS, line
    if connection.body:
        answer = json.loads(connection.body)
        texts = [answer["error"]["message"]] if "error" in answer else []
        texts += [block["text"] for block in answer.get("result", {}).get("content", ())]
        assert [text for text in texts if len(text) > MOST_CHARACTERS] == []
        assert texts != []
