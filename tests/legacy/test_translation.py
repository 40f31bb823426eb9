from __future__ import annotations

import json
from typing import Any

import pytest

from genmcp.errors import (
    InvalidParams,
    McpError,
    MissingRequiredClientCapability,
    NotFound,
)
from genmcp.legacy.failures import find_legacy_code, find_tool_answer, write_legacy_error
from genmcp.legacy.questions import Question, QuestionFailed, translate_questions
from genmcp.legacy.requests import translate_request
from genmcp.legacy.results import (
    translate_discovery,
    translate_result,
    write_legacy_notification,
)
from genmcp.legacy.session import read_handshake
from genmcp.mcp import v2607 as mcp
from genmcp.questions import elicit_form, elicit_url, list_roots, sample
from genmcp.wire.messages import RequestMessage

NOVEMBER, JUNE = "2025-11-25", "2025-06-18"
SIGNED = mcp.ResultMetaObject(
    server_info=mcp.Implementation(name="s", version="1"), extra={"com.example/key": 1}
)
ICON = mcp.Icon(src="https://example.com/icon.png")


def session_of(version: str = NOVEMBER, **capabilities: Any) -> Any:
    info = {"name": "c", "version": "1"}
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info}
    return read_handshake(params, 0)


# -- results -------------------------------------------------------------------


def test_members_of_today_are_left_out() -> None:
    result = mcp.ListPromptsResult(prompts=[], meta=SIGNED, ttl_ms=5, cache_scope="public")
    assert translate_result(result, NOVEMBER) == {"prompts": [], "_meta": {"com.example/key": 1}}
    assert translate_result(mcp.EmptyResult(), NOVEMBER) == {}


@pytest.mark.parametrize(
    ("given", "told"), [({"a": 1}, {"a": 1}), ([1], {"result": [1]}), (None, {"result": None})]
)
def test_structured_content_is_an_object(given: Any, told: Any) -> None:
    result = mcp.CallToolResult(content=[], structured_content=given)
    assert translate_result(result, NOVEMBER)["structuredContent"] == told
    assert "structuredContent" not in translate_result(mcp.CallToolResult(content=[]), NOVEMBER)


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({"type": "object", "properties": {}}, True),
        ({"type": "array"}, False),
        ({}, False),
        ({"type": ["object", "null"]}, False),
    ],
)
def test_output_schemas_of_other_than_objects_are_left_out(schema: Any, kept: bool) -> None:
    tool = mcp.Tool(name="t", input_schema={"type": "object"}, output_schema=schema, icons=[ICON])
    result = mcp.ListToolsResult(tools=[tool])
    [told] = translate_result(result, NOVEMBER)["tools"]
    assert ("outputSchema" in told) is kept
    assert "icons" in told
    [told] = translate_result(result, JUNE)["tools"]
    assert "icons" not in told
    assert told["inputSchema"] == {"type": "object"}


def test_the_identity_moves_and_shrinks() -> None:
    identity = mcp.Implementation(name="s", version="1", title="S", description="d", icons=[ICON])
    discovered = mcp.DiscoverResult(
        supported_versions=["2026-07-28"],
        capabilities=mcp.ServerCapabilities(
            logging={}, tools=mcp.ToolsCapability(list_changed=True), extensions={"a.b/c": {}}
        ),
        instructions="Look it up.",
        meta=mcp.ResultMetaObject(server_info=identity),
    )
    told = translate_discovery(discovered, session_of(JUNE))
    assert told == {
        "protocolVersion": JUNE,
        "capabilities": {"logging": {}, "tools": {"listChanged": True}},
        "serverInfo": {"name": "s", "version": "1", "title": "S"},
        "instructions": "Look it up.",
    }
    assert translate_discovery(discovered, session_of())["serverInfo"]["description"] == "d"


def test_changes_lose_the_id_of_their_subscription() -> None:
    params = mcp.NotificationParams(meta=mcp.NotificationMetaObject(subscription_id="s"))
    written = write_legacy_notification(mcp.ToolListChangedNotification(params=params))
    assert json.loads(written) == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    changed = mcp.ResourceUpdatedNotification(
        params=mcp.ResourceUpdatedNotificationParams(
            uri="a:b", meta=mcp.NotificationMetaObject(subscription_id=1, extra={"k": 2})
        )
    )
    assert json.loads(write_legacy_notification(changed))["params"] == {
        "uri": "a:b",
        "_meta": {"k": 2},
    }


# -- requests ------------------------------------------------------------------


def test_a_request_is_completed_from_its_session() -> None:
    meta = {"progressToken": 0, "com.example/k": 1, mcp.LOG_LEVEL_KEY: "debug"}
    params = {"name": "t", "task": {"ttl": 1}, "requestState": "x", "_meta": meta}
    message = RequestMessage(7, "tools/call", params)
    request, caller = translate_request(message, session_of(JUNE, elicitation={}), None)
    assert isinstance(request, mcp.CallToolRequest)
    assert request.params.request_state is None
    assert (caller.request_id, caller.protocol_version, caller.progress_token) == (7, JUNE, 0)
    assert caller.log_level == "info"
    assert caller.client_capabilities.elicitation is not None
    assert caller.client_info is not None
    assert caller.client_info.name == "c"
    assert caller.meta["com.example/k"] == 1
    assert translate_request(message, session_of(), "error")[1].log_level == "error"
    assert params["_meta"] == meta


def test_params_are_refused_by_name() -> None:
    with pytest.raises(InvalidParams, match=r"params\.name"):
        translate_request(RequestMessage(1, "tools/call", None), session_of(), None)
    with pytest.raises(InvalidParams, match="_meta"):
        translate_request(RequestMessage(1, "x/y", {"_meta": 3}), session_of(), None)


# -- errors --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "error", "code"),
    [
        ("resources/read", NotFound(data={"uri": "a:b"}), -32002),
        ("resources/read", InvalidParams("no"), -32602),
        ("prompts/get", NotFound(), -32602),
        ("prompts/get", MissingRequiredClientCapability({"roots": {}}), -32603),
        ("tools/call", McpError("own", code=7), 7),
    ],
)
def test_errors_have_the_codes_of_2025(method: str, error: McpError, code: int) -> None:
    assert find_legacy_code(method, error) == code
    written = json.loads(write_legacy_error("a", method, error))
    assert (written["id"], written["error"]["code"]) == ("a", code)


def test_a_model_is_told_what_its_client_cannot_do() -> None:
    error = MissingRequiredClientCapability({"sampling": {}})
    answer = find_tool_answer("tools/call", error)
    assert answer is not None
    assert answer.is_error
    assert find_tool_answer("prompts/get", error) is None
    assert find_tool_answer("tools/call", InvalidParams("x")) is None


# -- questions -----------------------------------------------------------------

FORM = mcp.FormSchema(
    properties={
        "name": mcp.StringSchema(default="x"),
        "sure": mcp.BooleanSchema(default=True),
        "size": mcp.TitledSingleSelectEnumSchema(
            one_of=[mcp.EnumOption(const="s", title="Small")], default="s"
        ),
    }
)


def ask(question: mcp.InputRequest, version: str) -> Question:
    [translated] = translate_questions({"k": question}, version)
    return translated


def test_a_form_is_as_the_version_has_it() -> None:
    told = json.loads(ask(elicit_form("Why?", FORM), NOVEMBER).write())
    assert told["method"] == "elicitation/create"
    assert told["params"]["mode"] == "form"
    assert told["params"]["requestedSchema"]["properties"]["name"]["default"] == "x"
    params = ask(elicit_form("Why?", FORM), JUNE).params
    assert params is not None
    assert params == {
        "message": "Why?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "sure": {"type": "boolean", "default": True},
                "size": {"type": "string", "enum": ["s"], "enumNames": ["Small"]},
            },
        },
    }


def test_june_has_no_field_of_several_choices() -> None:
    items = mcp.UntitledEnumItems(enum=["a"])
    form = mcp.FormSchema(properties={"many": mcp.UntitledMultiSelectEnumSchema(items=items)})
    with pytest.raises(QuestionFailed, match="many"):
        ask(elicit_form("Which?", form), JUNE)


def test_a_page_gets_an_id_and_each_question_another() -> None:
    one, two = (ask(elicit_url("Go", "https://example.com"), NOVEMBER) for _ in range(2))
    assert one.params is not None
    assert two.params is not None
    assert one.params["mode"] == "url"
    assert len({one.id, two.id, one.params["elicitationId"], two.params["elicitationId"]}) == 4


def test_a_message_of_several_blocks_is_several_messages_in_june() -> None:
    blocks = [mcp.TextContent(text="a"), mcp.TextContent(text="b")]
    question = sample([mcp.SamplingMessage(role="user", content=blocks)], max_tokens=5)
    params = ask(question, JUNE).params
    assert params is not None
    assert [message["content"]["text"] for message in params["messages"]] == ["a", "b"]
    kept = ask(question, NOVEMBER).params
    assert kept is not None
    assert len(kept["messages"]) == 1


def test_a_question_without_params_has_none() -> None:
    assert "params" not in json.loads(ask(list_roots(), NOVEMBER).write())


def test_refusals_are_told_apart() -> None:
    error = {"error": {"code": -1, "message": "no"}}
    assert ask(elicit_form("?", FORM), JUNE).read_answer(error) == {"action": "cancel"}
    with pytest.raises(QuestionFailed, match="refused roots/list: no"):
        ask(list_roots(), JUNE).read_answer(error)
    assert ask(list_roots(), JUNE).read_answer({"result": {"roots": []}}) == {"roots": []}
