"""Rows: questions to the client: its capabilities, the sealed state, its answers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from genmcp import InputRequired, Keyring, elicit_form, mcp
from genmcp.suite.input_required import TTL_SECONDS, Conversation
from genmcp.testing import FakeChannel, fake_caller
from tests.request_table.row import TOKEN, Answered, Refused, Row, each
from tests.request_table.rows_meta import bad_params
from tests.request_table.rows_tools import failed, invalid_now
from tests.request_table.sending import Request, call, good
from tests.request_table.served import KEY, data_result, text_result
from tests.request_table.served_tools import Who

_FORM: Final[dict[str, Any]] = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Who?",
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    },
}
_PAGE: Final[dict[str, Any]] = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "Look", "url": "https://a.example"},
}
_ADA: Final = {"who": {"action": "accept", "content": {"name": "Ada"}}}


def _state(
    *,
    tool: str = "ask",
    arguments: Mapping[str, Any] | None = None,
    secret: str = KEY,
    age_seconds: float = 0,
    principal: str | None = None,
    questions: Mapping[str, Any] | None = None,
    client: Any = 7,
) -> str:
    """The state that the server gave this caller some time ago, asking who it is."""
    questions = {"who": elicit_form("Who?", Who)} if questions is None else questions
    able = mcp.ClientCapabilities(elicitation=mcp.ElicitationCapability())
    channel = FakeChannel(fake_caller(client_capabilities=able, principal=principal))
    channel.keyring = Keyring([secret], clock=lambda: time.time() - age_seconds)
    conversation = Conversation("tools/call", tool, arguments or {}, channel)
    state = conversation.ask(InputRequired(questions, client)).request_state
    assert state is not None
    return state


def _able(request: Request, **capabilities: Any) -> Request:
    return request.able(**(capabilities or {"elicitation": {}}))


def _asked(*, state: Any = TOKEN, **questions: Any) -> Answered:
    result = {"resultType": "input_required", "inputRequests": questions, "requestState": state}
    return Answered(result=result)


def _retry(state: Any, answers: Any, arguments: Any = None) -> Request:
    return _able(call("ask", arguments, requestState=state, inputResponses=answers))


def lacking(**capabilities: Any) -> Refused:
    """A client that did not declare these."""
    data = {"requiredCapabilities": capabilities}
    return Refused(status=400, code=-32021, data=data, says=tuple(capabilities))


_MUCH: Final[dict[str, Any]] = {
    "sampling": {"tools": {}},
    "roots": {},
    "extensions": {"com.example/x": {}},
}

_CAPABILITIES = (
    Row("question that the client can answer is asked", _able(call("ask")), _asked(who=_FORM)),
    Row("form may be declared by name", _able(call("ask"), elicitation={"form": {}}),
        _asked(who=_FORM)),
    Row("question that the client cannot answer is not asked", call("ask"),
        lacking(elicitation={"form": {}})),
    Row("client of pages alone gets no form", _able(call("ask"), elicitation={"url": {}}),
        lacking(elicitation={"form": {}})),
    Row("client of forms alone gets no page", _able(call("ask_roots"), elicitation={}, roots={}),
        lacking(elicitation={"url": {}})),
    Row("all that is missing is named", call("ask_roots"),
        lacking(roots={}, elicitation={"url": {}})),
    Row("roots and pages are asked for",
        _able(call("ask_roots"), elicitation={"url": {}}, roots={}),
        _asked(roots={"method": "roots/list"}, page=_PAGE)),
    Row("tool that needs a capability names it", call("needs_url"),
        lacking(elicitation={"url": {}})),
    Row("tool that needs pages gets no forms", _able(call("needs_url"), elicitation={}),
        lacking(elicitation={"url": {}})),
    Row("tool that needs a capability is called with it",
        _able(call("needs_url"), elicitation={"url": {}}), Answered(result=text_result("opened"))),
    Row("tool that needs much names all of it", call("needs_much"), lacking(**_MUCH)),
    Row("only what is missing is named",
        _able(call("needs_much"), sampling={}, roots={}),
        lacking(sampling={"tools": {}}, extensions={"com.example/x": {}})),
    Row("one extension is none of another's",
        _able(call("needs_much"), **{**_MUCH, "extensions": {"com.example/y": {}}}),
        lacking(extensions={"com.example/x": {}})),
    Row("tool that needs much is called with it", _able(call("needs_much"), **_MUCH),
        Answered(result=text_result("much"))),
    Row("capability wins over the arguments",
        call("needs_url", {"x": 1}).member("id", "c"),
        Refused(status=400, code=-32021, id="c",
                data={"requiredCapabilities": {"elicitation": {"url": {}}}})),
    Row("prompt asks too", _able(good("prompts/get", {"name": "ask"})), _asked(who=_FORM)),
    Row("prompt asks only who can answer", good("prompts/get", {"name": "ask"}),
        lacking(elicitation={"form": {}})),
    Row("resource asks too", _able(good("resources/read", {"uri": "note://ask"})),
        _asked(who=_FORM)),
    Row("resource asks only who can answer", good("resources/read", {"uri": "note://ask"}),
        lacking(elicitation={"form": {}})),
)  # fmt: skip

_BAD_STATE: Final = invalid_now("requestState is not valid for this call")
"""One answer whatever is wrong with it: which it is, is for the log."""

_STATES = (
    Row("answered question is not asked again", _retry(_state(), _ADA),
        Answered(result=text_result("hello Ada"))),
    Row("retry may have another id", _retry(_state(), _ADA).member("id", "other"),
        Answered(result=text_result("hello Ada"), id="other")),
    Row("arguments of a retry may be written otherwise",
        _retry(_state(arguments={"a": 1, "b": [2.0]}), _ADA, {"b": [2], "a": 1.0}),
        Answered(result=text_result("hello Ada"))),
    Row("other arguments are another call", _retry(_state(arguments={"a": 1}), _ADA, {"a": 2}),
        _BAD_STATE),
    Row("true is not 1 in the arguments of a retry",
        _retry(_state(arguments={"a": True}), _ADA, {"a": 1}), _BAD_STATE),
    Row("state of another tool is invalid", _retry(_state(tool="echo"), _ADA), _BAD_STATE),
    Row("state of another server is invalid", _retry(_state(secret="s" * 32), _ADA), _BAD_STATE),
    Row("state of another caller is invalid", _retry(_state(principal="eve"), _ADA), _BAD_STATE),
    Row("state that has expired is invalid", _retry(_state(age_seconds=TTL_SECONDS + 1), _ADA),
        _BAD_STATE),
    Row("state from the future is invalid", _retry(_state(age_seconds=-3600), _ADA), _BAD_STATE),
    *(
        Row(f"state of {len(value)} characters, {ascii(value)[:20]}, is invalid",
            _retry(value, _ADA), _BAD_STATE)
        for value in ("", "forged", "é", "A" * 100, "\0", "A" * 200_000)
    ),
    Row("state with a character changed is invalid", _retry("B" + _state()[1:], _ADA), _BAD_STATE),
    Row("state with a character more is invalid", _retry(_state() + "A", _ADA), _BAD_STATE),
    Row("state wins over the capabilities",
        call("needs_url", requestState="forged"), _BAD_STATE),
    Row("state wins over the arguments", call("add", {}, requestState="forged"), _BAD_STATE),
    Row("tool that asks nothing refuses a state too",
        call("add", {"a": 1, "b": 2}, requestState="forged"), _BAD_STATE),
    Row("null as state is none", call("add", {"a": 1, "b": 2}, requestState=None),
        Answered(result=text_result("3"))),
    Row("state of a prompt is checked",
        good("prompts/get", {"name": "ask", "requestState": "forged"}), _BAD_STATE),
    Row("state of a resource is checked",
        good("resources/read", {"uri": "note://1", "requestState": "forged"}), _BAD_STATE),
)  # fmt: skip


def _answer(name: str, answer: Any, expected: Answered | Refused) -> Row:
    return Row(name, _retry(_state(), {"who": answer}), expected)


_ANSWERS = (
    Row("missing answer is asked for again", _retry(_state(), {}), _asked(who=_FORM)),
    Row("no answers at all are asked for again", _retry(_state(), None), _asked(who=_FORM)),
    Row("unknown answers are ignored", _retry(_state(), {**_ADA, "other": [1]}),
        Answered(result=text_result("hello Ada"))),
    Row("answer under another key is asked for again", _retry(_state(), {"other": _ADA["who"]}),
        _asked(who=_FORM)),
    _answer("declined is an answer", {"action": "decline"}, Answered(
        result=text_result("Declined"))),
    _answer("cancelled is an answer", {"action": "cancel"}, Answered(
        result=text_result("Cancelled"))),
    _answer("unknown members of an answer are ignored",
            {"action": "decline", "x": 1}, Answered(result=text_result("Declined"))),
    *(
        _answer(f"answer {value!r} is of the wrong kind", value, invalid_now("inputResponses.who"))
        for value in each("yes", None, 1, [], {}, {"action": "perhaps"}, {"action": 1},
                      {"roots": []}, {"action": "accept", "content": []})
    ),
    _answer("content that does not fit the form is invalid",
            {"action": "accept", "content": {"name": 1}}, invalid_now("inputResponses.who")),
    _answer("content that lacks a field is invalid",
            {"action": "accept", "content": {}}, invalid_now("inputResponses.who")),
    _answer("accepted without content is invalid", {"action": "accept"},
            invalid_now("inputResponses.who")),
    Row("answer may come before the question", _able(call("ask", inputResponses=_ADA)),
        Answered(result=text_result("hello Ada"))),
    Row("answers nobody asks for are ignored",
        call("echo", {"a": 1}, inputResponses={"x": {"action": "decline"}}),
        Answered(result=data_result({"a": 1}))),
    Row("prompt is filled in when it is answered",
        _able(good("prompts/get", {"name": "ask", "inputResponses": _ADA})),
        Answered(result={"resultType": "complete", "messages": [
            {"role": "user", "content": {"type": "text", "text": "Greet whoever it is"}}]})),
    Row("what was read with answers is not to be cached",
        _able(good("resources/read", {"uri": "note://ask", "inputResponses": _ADA})),
        Answered(result={"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                         "contents": [{"uri": "note://ask", "text": "for your eyes"}]})),
    Row("call may be put off without a question", call("defer"),
        Answered(result={"resultType": "input_required", "requestState": TOKEN})),
    Row("call that was put off is tried again with its state",
        call("defer", requestState=_state(tool="defer", questions={}, client={"round": [1, None]})),
        Answered(result=data_result({"round": [1, None]}))),
    *(
        Row(f"answers {value!r} are refused", _retry(_state(), value),
            bad_params("params.inputResponses", "object"))
        for value in each([], "x", 1, True)
    ),
    Row("question that could be answered when it was asked is not asked again of who cannot",
        call("ask", requestState=_state(), inputResponses={}), lacking(elicitation={"form": {}})),
    Row("arguments of the wrong type come after the answers",
        call("add", {"a": "x"}, inputResponses=_ADA),
        failed('a: expected integer, got string "x"')),
)  # fmt: skip

ROWS: Final = (*_CAPABILITIES, *_STATES, *_ANSWERS)
