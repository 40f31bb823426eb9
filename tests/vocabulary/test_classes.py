"""The vocabulary's classes: complete, frozen, compared by value, checked when built."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, get_args

import attrs
import pytest

from genmcp.mcp import v2607 as mcp
from genmcp.mcp.v2607.checks import flatten_union
from tests.vocabulary.samples import CLASSES, fields_of, sample

SPECIFIED = """
RequestId ProgressToken Cursor ResultType Role LoggingLevel LATEST_PROTOCOL_VERSION JSONRPC_VERSION
JSONRPCRequest JSONRPCNotification JSONRPCResultResponse JSONRPCErrorResponse JSONRPCResponse
JSONRPCMessage Error
MetaObject RequestMetaObject NotificationMetaObject ResultMetaObject
SubscriptionsListenResultMetaObject RequestParams NotificationParams PaginatedRequestParams
ResourceRequestParams InputResponseRequestParams Result EmptyResult PaginatedResult CacheableResult
Implementation Icon Annotations
ParseError InvalidRequestError MethodNotFoundError InvalidParamsError InternalError
HeaderMismatchError MissingRequiredClientCapabilityError UnsupportedProtocolVersionError
PARSE_ERROR INVALID_REQUEST METHOD_NOT_FOUND INVALID_PARAMS INTERNAL_ERROR HEADER_MISMATCH
MISSING_REQUIRED_CLIENT_CAPABILITY UNSUPPORTED_PROTOCOL_VERSION
ClientCapabilities ServerCapabilities DiscoverRequest DiscoverResult
ContentBlock TextContent ImageContent AudioContent ResourceLink EmbeddedResource
TextResourceContents BlobResourceContents SamplingMessageContentBlock ToolUseContent
ToolResultContent
Tool ToolAnnotations ListToolsRequest ListToolsResult CallToolRequest CallToolRequestParams
CallToolResult ToolListChangedNotification
Resource ResourceTemplate ListResourcesRequest ListResourcesResult ListResourceTemplatesRequest
ListResourceTemplatesResult ReadResourceRequest ReadResourceRequestParams ReadResourceResult
ResourceListChangedNotification ResourceUpdatedNotification ResourceUpdatedNotificationParams
Prompt PromptArgument PromptMessage ListPromptsRequest ListPromptsResult GetPromptRequest
GetPromptRequestParams GetPromptResult PromptListChangedNotification CompleteRequest
CompleteRequestParams PromptReference ResourceTemplateReference CompleteResult
SubscriptionFilter SubscriptionsListenRequest SubscriptionsListenRequestParams
SubscriptionsAcknowledgedNotification SubscriptionsAcknowledgedNotificationParams
SubscriptionsListenResult ProgressNotification ProgressNotificationParams
LoggingMessageNotification LoggingMessageNotificationParams CancelledNotification
CancelledNotificationParams
InputRequiredResult InputRequests InputRequest InputResponses InputResponse
ElicitRequest ElicitRequestParams ElicitRequestFormParams ElicitRequestURLParams ElicitResult
PrimitiveSchemaDefinition StringSchema NumberSchema BooleanSchema UntitledSingleSelectEnumSchema
TitledSingleSelectEnumSchema UntitledMultiSelectEnumSchema TitledMultiSelectEnumSchema
LegacyTitledEnumSchema SingleSelectEnumSchema MultiSelectEnumSchema EnumSchema
CreateMessageRequest CreateMessageRequestParams ToolChoice SamplingMessage CreateMessageResult
ModelPreferences ModelHint ListRootsRequest ListRootsResult Root
ClientRequest ClientNotification ClientResult ServerNotification ServerResult
DiscoverResultResponse ListToolsResultResponse CallToolResultResponse ListResourcesResultResponse
ListResourceTemplatesResultResponse ReadResourceResultResponse ListPromptsResultResponse
GetPromptResultResponse CompleteResultResponse SubscriptionsListenResultResponse
""".split()


@pytest.mark.parametrize("name", list[str](SPECIFIED))
def test_every_type_of_the_specification_is_there(name: str) -> None:
    assert name in mcp.__all__
    assert hasattr(mcp, name)


def test_the_ten_methods_have_a_class_each() -> None:
    assert set(mcp.REQUESTS) == {
        "server/discover",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "subscriptions/listen",
    }
    assert set(mcp.RESULTS) == set(mcp.REQUESTS)
    assert all(issubclass(cls, mcp.Request) for cls in mcp.REQUESTS.values())
    assert all(issubclass(cls, mcp.Result) for cls in mcp.RESULTS.values())


def test_log_levels_ascend() -> None:
    assert get_args(mcp.LoggingLevel) == (
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    )


def test_six_methods_and_no_others_have_results_that_may_be_cached() -> None:
    cacheable = {
        method for method, cls in mcp.RESULTS.items() if issubclass(cls, mcp.CacheableResult)
    }
    assert cacheable == {
        "server/discover",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
    }
    assert not issubclass(mcp.InputRequiredResult, mcp.CacheableResult)


def test_retired_names_are_not_there() -> None:
    assert not {"Task", "PingRequest", "InitializeRequest", "SetLevelRequest"} & set(mcp.__all__)


@pytest.mark.parametrize("cls", CLASSES)
def test_objects_are_frozen_and_have_no_other_attributes(cls: Any) -> None:
    value = sample(cls)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(value, fields_of(cls)[0].name, None)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        value.another = None


@pytest.mark.parametrize("cls", CLASSES)
def test_objects_compare_by_value(cls: Any) -> None:
    one, two = sample(cls), sample(cls)
    assert one == two
    assert one != object()
    assert copy.deepcopy(one) == one
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - our own
    name = next(field.name for field in fields_of(cls))
    other = copy.copy(one)
    object.__setattr__(other, name, object())
    assert one != other


def test_objects_of_different_classes_differ() -> None:
    link = mcp.ResourceLink(uri="a:", name="a")
    assert link != mcp.Resource(uri="a:", name="a")
    assert mcp.Resource(uri="a:", name="a") != link


def test_objects_of_hashable_values_can_be_keys() -> None:
    assert {mcp.TextContent(text="a"), mcp.TextContent(text="a")} == {mcp.TextContent(text="a")}
    with pytest.raises(TypeError, match="unhashable"):
        hash(mcp.CallToolResult())


def test_objects_show_what_is_set() -> None:
    result = mcp.CallToolResult(content=[mcp.TextContent(text="a")], structured_content=None)
    assert (
        repr(result) == "CallToolResult(content=[TextContent(text='a')], structured_content=None)"
    )
    assert repr(mcp.CallToolResult()) == "CallToolResult()"
    assert repr(mcp.ToolAnnotations(read_only_hint=False)) == (
        "ToolAnnotations(read_only_hint=False)"
    )


def test_sequences_are_held_as_lists() -> None:
    text = mcp.TextContent(text="a")
    given = [text]
    result = mcp.CallToolResult(content=given)
    assert result.content == [text]
    assert mcp.CallToolResult(content=(text,)) == result
    assert mcp.SamplingMessage(role="user", content=(text,)).content == [text]
    given.append(text)
    assert result.content == [text]


def test_objects_can_be_changed_into_others() -> None:
    result = mcp.call_tool_result(text="a")
    changed = attrs.evolve(result, is_error=True)
    assert (result.is_error, changed.is_error) == (None, True)
    assert changed.content == result.content


def test_requests_are_taken_apart_by_match() -> None:
    request = mcp.CallToolRequest(
        params=mcp.CallToolRequestParams(
            meta=sample(mcp.RequestMetaObject), name="add", arguments={"a": 1}
        )
    )
    match request:
        case mcp.CallToolRequest(params=mcp.CallToolRequestParams(name="add", arguments=found)):
            assert found == {"a": 1}
        case _:
            pytest.fail("not matched")


def test_unknown_messages_are_built_by_position() -> None:
    assert mcp.UnknownRequest("a", {"b": 1}) == mcp.UnknownRequest(method="a", params={"b": 1})
    assert mcp.UnknownNotification("a").params == {}
    assert isinstance(mcp.UnknownRequest("a"), mcp.Request)
    assert isinstance(mcp.UnknownNotification("a"), mcp.Notification)


# -- checks on construction ----------------------------------------------------------


def mistakes(field: attrs.Attribute[Any]) -> list[Any]:
    """What an author might pass by mistake, and a field must not take."""
    members = flatten_union(field.type)
    if Any in members or field.name in ("arguments", "params", "result"):
        return []
    wrong: list[Any] = [object(), b"bytes"]
    if str not in members:
        wrong.append("\x00 no such word")
    if bool not in members:
        wrong.append(True)
    if int not in members and float not in members:
        wrong.append(5)
    return wrong


FIELDS = [
    pytest.param(cls, field, id=f"{cls.__name__}.{field.name}")
    for cls in CLASSES
    for field in fields_of(cls)
    if mistakes(field)
]


@pytest.mark.parametrize(("cls", "field"), FIELDS)
def test_a_mistake_is_told_where_it_is_made(cls: Any, field: attrs.Attribute[Any]) -> None:
    full = {other.name: getattr(sample(cls), other.name) for other in fields_of(cls)}
    for value in mistakes(field):
        with pytest.raises(
            (TypeError, ValueError), match=rf"^{cls.__name__}\.{field.name} must be"
        ):
            cls(**{**full, field.name: value})


OPTIONAL = [
    pytest.param(cls, field, id=f"{cls.__name__}.{field.name}")
    for cls in CLASSES
    for field in fields_of(cls)
    if field.default is None
]


@pytest.mark.parametrize(("cls", "field"), OPTIONAL)
def test_none_leaves_an_optional_member_out(cls: Any, field: attrs.Attribute[Any]) -> None:
    full = {other.name: getattr(sample(cls), other.name) for other in fields_of(cls)}
    assert getattr(cls(**{**full, field.name: None}), field.name) is None


@pytest.mark.parametrize(
    ("cls", "arguments", "error", "message"),
    [
        (mcp.TextContent, {"text": 42}, TypeError, "TextContent.text must be str, got 42"),
        (
            mcp.TextContent,
            {"text": "a", "annotations": {"priority": 1}},
            TypeError,
            "TextContent.annotations must be Annotations or None, got {'priority': 1}",
        ),
        (
            mcp.CallToolResult,
            {"content": "text"},
            TypeError,
            "CallToolResult.content must be a list or a tuple, got 'text'",
        ),
        (
            mcp.CallToolResult,
            {"content": {"a": 1}},
            TypeError,
            "CallToolResult.content must be a list or a tuple, got {'a': 1}",
        ),
        (
            mcp.CallToolResult,
            {"content": None},
            TypeError,
            "CallToolResult.content must be a list or a tuple, got None",
        ),
        (
            mcp.CallToolResult,
            {"content": [mcp.TextContent(text="a"), "b"]},
            TypeError,
            "CallToolResult.content[1] must be TextContent or ImageContent or AudioContent or ",
        ),
        (
            mcp.Annotations,
            {"audience": ["user", "robot"]},
            ValueError,
            "Annotations.audience[1] must be one of 'user', 'assistant', got 'robot'",
        ),
        (
            mcp.Completion,
            {"values": ["a", 5]},
            TypeError,
            "Completion.values[1] must be str, got 5",
        ),
        (
            mcp.FormSchema,
            {"properties": {"a": {"type": "string"}}},
            TypeError,
            "FormSchema.properties['a'] must be StringSchema or NumberSchema or BooleanSchema or ",
        ),
        (
            mcp.InputRequiredResult,
            {"input_requests": {"q": mcp.TextContent(text="a")}},
            TypeError,
            "InputRequiredResult.input_requests['q'] must be CreateMessageRequest or ",
        ),
        (
            mcp.CallToolResult,
            {"is_error": 1},
            TypeError,
            "CallToolResult.is_error must be bool or None, got 1",
        ),
        (
            mcp.ReadResourceResult,
            {"ttl_ms": -1},
            ValueError,
            "ReadResourceResult.ttl_ms must be 0 or more milliseconds, got -1",
        ),
        (
            mcp.ReadResourceResult,
            {"ttl_ms": True},
            TypeError,
            "ReadResourceResult.ttl_ms must be int, got True",
        ),
        (
            mcp.ReadResourceResult,
            {"ttl_ms": 1.5},
            TypeError,
            "ReadResourceResult.ttl_ms must be int, got 1.5",
        ),
        (
            mcp.ReadResourceResult,
            {"cache_scope": "shared"},
            ValueError,
            "ReadResourceResult.cache_scope must be one of 'public', 'private', got 'shared'",
        ),
        (
            mcp.Icon,
            {"src": "file:///etc/passwd"},
            ValueError,
            "Icon.src must be an http, https or data URI, got 'file:///etc/passwd'",
        ),
        (
            mcp.Icon,
            {"src": "javascript:alert(1)"},
            ValueError,
            "Icon.src must be an http, https or data URI, got 'javascript:alert(1)'",
        ),
        (
            mcp.Icon,
            {"src": "https://a", "theme": "grey"},
            ValueError,
            "Icon.theme must be one of 'light', 'dark', got 'grey'",
        ),
        (
            mcp.Annotations,
            {"priority": 1.01},
            ValueError,
            "Annotations.priority must be between 0 and 1, got 1.01",
        ),
        (
            mcp.Annotations,
            {"priority": float("nan")},
            ValueError,
            "Annotations.priority must be between 0 and 1, got nan",
        ),
        (
            mcp.Tool,
            {"name": "a", "input_schema": {"type": "array"}},
            ValueError,
            'Tool.input_schema must have "type": "object" at its root',
        ),
        (
            mcp.Tool,
            {"name": "a", "input_schema": {"type": "object"}, "meta": {"a/b/c": 1}},
            ValueError,
            "Tool.meta must have keys like 'com.example/name', got 'a/b/c'",
        ),
        (
            mcp.ImageContent,
            {"data": "AAAA\n", "mime_type": "image/png"},
            ValueError,
            "ImageContent.data must be standard base64",
        ),
        (
            mcp.ImageContent,
            {"data": "AAA", "mime_type": "image/png"},
            ValueError,
            "ImageContent.data must be base64 padded with = to a multiple of 4 characters",
        ),
        (
            mcp.AudioContent,
            {"data": "-_-_", "mime_type": "audio/wav"},
            ValueError,
            "AudioContent.data must be standard base64",
        ),
        (
            mcp.ImageContent,
            {"data": b"png", "mime_type": "image/png"},
            TypeError,
            "ImageContent.data must be str, got b'png'",
        ),
        (
            mcp.BlobResourceContents,
            {"uri": "a:", "blob": "===="},
            ValueError,
            "BlobResourceContents.blob must be standard base64",
        ),
        (
            mcp.Root,
            {"uri": "https://a"},
            ValueError,
            "Root.uri must start with file://, got 'https://a'",
        ),
        (
            mcp.Completion,
            {"values": ["a"] * 101},
            ValueError,
            "Completion.values must hold at most 100 values, got 101; cut the list",
        ),
        (mcp.InputRequiredResult, {}, ValueError, "InputRequiredResult needs input_requests"),
        (
            mcp.ProgressNotificationParams,
            {"progress_token": None, "progress": 1},
            TypeError,
            "ProgressNotificationParams.progress_token must be str or int, got None",
        ),
        (
            mcp.ProgressNotificationParams,
            {"progress_token": 0, "progress": "1"},
            TypeError,
            "ProgressNotificationParams.progress must be float or int, got '1'",
        ),
    ],
    ids=str,
)
def test_a_mistake_is_said_with_its_fix(
    cls: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        cls(**arguments)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("data", ["", "AA==", "AAA=", "AAAA", "+/+/"])
def test_standard_padded_base64_is_taken(data: str) -> None:
    assert mcp.ImageContent(data=data, mime_type="image/png").data == data


@pytest.mark.parametrize(
    "key", ["", "a", "a.b-c_d", "com.example/", "com.example/a", "a-1.b/c", "io.mcp/1"]
)
def test_keys_of_meta_that_follow_the_grammar_are_taken(key: str) -> None:
    assert mcp.ResultMeta(extra={key: 1}).extra == {key: 1}


@pytest.mark.parametrize(
    "key", ["-a", "a-", "a b", "1a.b/c", "a-/b", "a..b/c", "/a", "a//b", "é", "a\n"]
)
def test_keys_of_meta_that_break_the_grammar_are_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r"ResultMetaObject\.extra must have keys like"):
        mcp.ResultMeta(extra={key: 1})


def test_keys_of_clients_are_not_held_to_the_grammar() -> None:
    meta = mcp.RequestMeta(
        protocol_version="1", client_capabilities=mcp.ClientCapabilities(), extra={"a b": 1}
    )
    assert meta.extra == {"a b": 1}


def test_a_mistake_repeats_no_more_than_a_little_of_a_value() -> None:
    with pytest.raises(TypeError) as caught:
        mcp.TextContent(text=b"x" * 10_000)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert len(str(caught.value)) < 200


def test_importing_the_vocabulary_builds_no_hooks_and_needs_no_codec() -> None:
    code = """
import sys
import importlib.util
package = importlib.util.find_spec("genmcp").submodule_search_locations[0]
import types
facade = types.ModuleType("genmcp")
facade.__path__ = [package]
sys.modules["genmcp"] = facade
import genmcp.mcp.v2607
assert "cattrs" not in sys.modules, "cattrs"
assert not [name for name in sys.modules if name.startswith("genmcp.wire")], "wire"
import genmcp.wire.messages
from genmcp.wire.structure import hook_for
from genmcp.wire.unstructure import _writer_of
assert hook_for.cache_info().currsize == 0, hook_for.cache_info()
assert _writer_of.cache_info().currsize == 0, _writer_of.cache_info()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_the_tables_of_methods_cannot_be_changed() -> None:
    tables: list[Mapping[str, Any]] = [mcp.REQUESTS, mcp.RESULTS, mcp.NOTIFICATIONS]
    for table in tables:
        with pytest.raises(TypeError, match="does not support item assignment"):
            table["a"] = 1  # type: ignore[index]  # pyright: ignore[reportIndexIssue]
