"""What is not of its form is refused, under its name on the wire."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args, get_origin

import attrs
import pytest

from genmcp.events import EncodeError
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.v2607.checks import flatten_union
from genmcp.mcp.v2607.content import base64_problem
from genmcp.wire.codec import DecodeError, decode, encode, path_text
from genmcp.wire.members import Member, constants_of, members_of
from tests.vocabulary.samples import CLASSES, sample

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def wrong_values(member: Member) -> list[Any]:
    """JSON values that a member must not take."""
    members = flatten_union(member.type)
    wrong: list[Any] = [None, True, 1, 1.5, "\x00no such word", [5], {"\x00": 5}]
    for tp in members:
        origin = get_origin(tp) or tp
        if origin is Any or isinstance(tp, TypeVar):
            return [] if member.attribute != "arguments" else ["text", [1], 5]
        kinds: dict[Any, tuple[type, ...]] = {
            str: (str,),
            int: (int,),
            float: (int, float),
            bool: (bool,),
            types.NoneType: (types.NoneType,),
        }
        excluded = kinds.get(origin, ())
        if origin in CLASSES or (origin in (Mapping, dict) and get_args(tp)[1] is not str):
            # What is wrong inside an object has its own tests.
            excluded = (dict,)
        if member.null_default is not None:
            excluded = (*excluded, types.NoneType)
        wrong = [value for value in wrong if type(value) not in excluded]
    return wrong


MEMBERS = [
    pytest.param(cls, member, id=f"{cls.__name__}.{member.wire}")
    for cls in CLASSES
    for member in members_of(cls).values()
    if wrong_values(member)
]


@pytest.mark.parametrize(("cls", "member"), MEMBERS)
def test_a_value_of_another_kind_is_refused(cls: Any, member: Member) -> None:
    wire = encode(sample(cls))
    for value in wrong_values(member):
        with pytest.raises(DecodeError) as caught:
            decode(cls, {**wire, member.wire: value})
        assert caught.value.path[0] == member.wire
        assert str(caught.value).startswith(path_text(caught.value.path) + ": ")


REQUIRED = [
    pytest.param(cls, name, id=f"{cls.__name__}.{name}")
    for cls in CLASSES
    for name in [
        *(member.wire for member in members_of(cls).values() if member.required),
        *constants_of(cls),
    ]
    if (cls, name) != (mcp.ElicitRequestFormParams, "mode")
]


@pytest.mark.parametrize(("cls", "name"), REQUIRED)
def test_a_required_member_that_is_missing_is_named(cls: Any, name: str) -> None:
    wire = encode(sample(cls))
    del wire[name]
    with pytest.raises(DecodeError) as caught:
        decode(cls, wire)
    assert (caught.value.path, caught.value.problem) == ((name,), "required, but missing")


CONSTANTS = [
    pytest.param(cls, name, id=f"{cls.__name__}.{name}")
    for cls in CLASSES
    for name in constants_of(cls)
]


@pytest.mark.parametrize(("cls", "name"), CONSTANTS)
def test_a_member_that_names_the_kind_must_name_this_one(cls: Any, name: str) -> None:
    for value in ("other", 2.0, None, ["text"]):
        with pytest.raises(DecodeError) as caught:
            decode(cls, {**encode(sample(cls)), name: value})
        assert caught.value.path == (name,)


@pytest.mark.parametrize("cls", CLASSES)
def test_what_is_no_object_is_refused(cls: Any) -> None:
    values: list[Any] = [None, True, 5, 1.5, "text", [], [{}]]
    for value in values:
        with pytest.raises(DecodeError, match=r"^expected an object, got (null|a)"):
            decode(cls, value)


PLACES: list[Any] = [
    (
        mcp.CallToolRequestParams,
        {"_meta": META, "name": "add", "arguments": [1]},
        ("arguments",),
        "expected an object, got a list",
    ),
    (
        mcp.CallToolRequestParams,
        {"_meta": META, "name": 5},
        ("name",),
        "expected a string, got an integer",
    ),
    (
        mcp.CallToolRequestParams,
        {"_meta": {**META, "progressToken": True}, "name": "add"},
        ("_meta", "progressToken"),
        "expected a string or an integer, got a boolean",
    ),
    (
        mcp.CallToolRequestParams,
        {"_meta": {**META, "progressToken": 1.0}, "name": "add"},
        ("_meta", "progressToken"),
        "expected a string or an integer, got a number",
    ),
    (
        mcp.ListToolsRequest,
        {
            "method": "tools/list",
            "params": {"_meta": {**META, "io.modelcontextprotocol/logLevel": "loud"}},
        },
        ("params", "_meta", "io.modelcontextprotocol/logLevel"),
        f"expected one of {', '.join(get_args(mcp.LoggingLevel))}, got 'loud'",
    ),
    (
        mcp.CallToolResult,
        {"resultType": "complete", "content": [{"type": "text", "text": "a"}, {"type": "x"}]},
        ("content", 1),
        "its 'type' must be one of text, image, audio, resource_link, resource",
    ),
    (
        mcp.CallToolResult,
        {"content": [{"type": "image", "mimeType": "image/png", "data": "-_=="}]},
        ("content", 0, "data"),
        base64_problem("-_=="),
    ),
    (
        mcp.ElicitResult,
        {"action": "accept", "content": {"age": {"years": 5}}},
        ("content", "age"),
        "expected a string or a number or a boolean, got an object",
    ),
    (
        mcp.ListRootsResult,
        {"roots": [{"uri": "https://a"}]},
        ("roots", 0, "uri"),
        "must start with file://, got 'https://a'",
    ),
    (
        mcp.DiscoverResult,
        {**encode(sample(mcp.DiscoverResult)), "ttlMs": -1},
        ("ttlMs",),
        "must be 0 or more milliseconds, got -1",
    ),
    (
        mcp.ReadResourceResult,
        {**encode(sample(mcp.ReadResourceResult)), "contents": [{"uri": "a:"}]},
        ("contents", 0),
        "expected an object with the members of TextResourceContents or BlobResourceContents",
    ),
]


@pytest.mark.parametrize(
    ("cls", "wire", "path", "problem"),
    PLACES,
    ids=[
        "arguments in a list",
        "name no text",
        "token no number",
        "token with a fraction",
        "unknown log level",
        "unknown content",
        "urlsafe base64",
        "nested form value",
        "root elsewhere",
        "negative ttl",
        "contents of no kind",
    ],
)
def test_a_problem_is_said_with_its_place(
    cls: Any, wire: Any, path: tuple[str | int, ...], problem: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(cls, wire)
    assert (caught.value.path, caught.value.problem) == (path, problem)


def test_all_problems_of_an_object_are_reported() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(mcp.Implementation, {"name": 1, "icons": "x"})
    assert [path for path, _ in caught.value.problems] == [("name",), ("version",), ("icons",)]
    assert str(caught.value) == (
        "name: expected a string, got an integer; version: required, but missing; "
        "icons: expected a list, got a string"
    )


def test_problems_of_the_whole_object_have_no_path() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(mcp.InputRequiredResult, {"resultType": "input_required"})
    assert caught.value.path == ()
    assert str(caught.value).startswith("InputRequiredResult needs")


def test_an_error_can_be_seen_from_further_out() -> None:
    error = DecodeError([(("name",), "wrong"), ((), "bad")]).under("params", 0)
    assert (error.path, str(error)) == (
        ("params", 0, "name"),
        "params[0].name: wrong; params[0]: bad",
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("content", 0, "text"), "content[0].text"),
        (("_meta", "com.example/a"), '_meta["com.example/a"]'),
        (("$schema",), "$schema"),
        (("content", 'a"\n\u2028'), 'content["a"\\n\\u2028"]'),
        (("a" * 100,), '["' + "a" * 80 + '"]'),
    ],
)
def test_paths_are_written_for_people(path: tuple[str | int, ...], text: str) -> None:
    assert path_text(path) == text


def test_an_error_repeats_no_more_than_a_little_of_what_came() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(mcp.ElicitResult, {"action": "x" * 10_000, "content": {"k" * 10_000: []}})
    with pytest.raises(DecodeError) as deep:
        decode(mcp.ElicitResult, {"action": "accept", "content": {"k" * 10_000: {}}})
    assert len(str(caught.value)) < 500
    assert len(str(deep.value)) < 500


# -- absent, null and zero -----------------------------------------------------------


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": {}}], ids=repr)
@pytest.mark.parametrize("cls", [mcp.CallToolRequestParams, mcp.GetPromptRequestParams])
def test_absent_and_null_arguments_are_no_arguments(cls: Any, arguments: dict[str, Any]) -> None:
    assert decode(cls, {"_meta": META, "name": "a", **arguments}).arguments == {}


@pytest.mark.parametrize("token", [0, "", 1, "1"], ids=repr)
def test_zero_and_the_empty_string_are_tokens(token: str | int) -> None:
    meta = decode(mcp.RequestMetaObject, {**META, "progressToken": token})
    assert meta.progress_token == token
    assert type(meta.progress_token) is type(token)
    assert encode(meta)["progressToken"] == token


@pytest.mark.parametrize("state", ["", "sealed"])
def test_an_empty_request_state_is_a_state(state: str) -> None:
    wire = {"_meta": META, "name": "a", "requestState": state}
    assert decode(mcp.CallToolRequestParams, wire).request_state == state


@pytest.mark.parametrize("state", [5, True, [], {}], ids=repr)
def test_a_request_state_is_text(state: Any) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(mcp.CallToolRequestParams, {"_meta": META, "name": "a", "requestState": state})
    assert caught.value.path == ("requestState",)


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}], ids=repr)
def test_structured_content_tells_absent_from_null_and_from_nothing(value: Any) -> None:
    result = mcp.CallToolResult(structured_content=value)
    assert encode(result) == {
        "resultType": "complete",
        "content": [],
        "structuredContent": value,
    }
    again = decode(mcp.CallToolResult, encode(result)).structured_content
    assert again == value
    assert type(again) is type(value)
    absent = decode(mcp.CallToolResult, {"resultType": "complete", "content": []})
    assert absent.structured_content is mcp.UNSET


def test_error_data_may_be_null() -> None:
    assert encode(mcp.Error(code=1, message="m", data=None))["data"] is None
    assert "data" not in encode(mcp.Error(code=1, message="m"))


def test_a_log_record_of_null_is_written() -> None:
    params = mcp.LoggingMessageNotificationParams(level="info", data=None)
    assert encode(params) == {"level": "info", "data": None}


def test_null_for_an_optional_member_is_absent() -> None:
    wire = {"name": "a", "version": "1", "title": None, "icons": None}
    assert decode(mcp.Implementation, wire) == mcp.Implementation(name="a", version="1")


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_null_is_absent_for_every_optional_member(cls: Any) -> None:
    wire = encode(sample(cls))
    # `resultType` is left out by earlier servers, and null by none.
    optional = [
        member.wire
        for member in members_of(cls).values()
        if not member.required and member.wire != "resultType"
    ]
    for name in optional:
        decode(cls, {**wire, name: None})


def test_a_result_without_a_type_is_complete() -> None:
    assert decode(mcp.CallToolResult, {"content": []}).result_type == "complete"


def test_a_form_may_leave_out_its_mode() -> None:
    wire: dict[str, Any] = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
    params = decode(mcp.ElicitRequestParams, wire)
    assert isinstance(params, mcp.ElicitRequestFormParams)
    assert encode(params) == {"mode": "form", **wire}


def test_form_values_keep_their_types() -> None:
    content = {"s": "", "i": 18, "f": 18.5, "b": False, "l": ["a"]}
    result = decode(mcp.ElicitResult, {"action": "accept", "content": content})
    assert result.content == content
    assert [type(value) for value in (result.content or {}).values()] == [
        str,
        int,
        float,
        bool,
        list,
    ]


def test_capability_settings_may_hold_any_json() -> None:
    wire = {"experimental": {"x": {"ratio": 1.5, "nothing": None}}, "roots": {"listChanged": True}}
    capabilities = decode(mcp.ClientCapabilities, wire)
    assert capabilities.roots == mcp.RootsCapability(extra={"listChanged": True})
    assert encode(capabilities) == wire


def test_an_unknown_member_named_extra_is_a_member_like_any_other() -> None:
    wire = {**META, "extra": {"a": 1}}
    meta = decode(mcp.RequestMetaObject, wire)
    assert meta.extra == {"extra": {"a": 1}}
    assert encode(meta) == wire


def test_trace_context_is_kept() -> None:
    meta = decode(mcp.RequestMetaObject, {**META, "traceparent": "00-ab-cd-01", "baggage": 5})
    assert meta.extra == {"traceparent": "00-ab-cd-01", "baggage": 5}


@pytest.mark.parametrize(
    ("cls", "wire"),
    [
        (mcp.ResultMetaObject, {"_name": 1}),
        (mcp.SubscriptionsListenResultMetaObject, {mcp.SUBSCRIPTION_ID_KEY: 1, "_name": 1}),
    ],
)
def test_a_key_that_no_meta_may_have_is_refused_in_what_is_read_as_well(
    cls: Any, wire: dict[str, Any]
) -> None:
    with pytest.raises(DecodeError, match=r"must have keys like 'com.example/name', got '_name'"):
        decode(cls, wire)


# -- writing -------------------------------------------------------------------------


def spoil(value: Any, attribute: str, *items: Any) -> Any:
    """Put `items` where they were not checked: lists are held, and can be changed."""
    getattr(value, attribute).extend(items)
    return value


FORM = mcp.FormSchema(properties={})
FORM.properties["a"] = FORM  # type: ignore[index]  # pyright: ignore[reportIndexIssue]

UNWRITABLE: list[Any] = [
    ("text", "str is not a class of the protocol's vocabulary"),
    (spoil(mcp.CallToolResult(), "content", "text"), "content[0]: expected TextContent or "),
    (
        spoil(mcp.ListToolsResult(), "tools", mcp.TextContent(text="a")),
        "tools[0]: expected Tool, got TextContent(text='a')",
    ),
    (spoil(mcp.Completion(), "values", "a", 5), "values[1]: expected str, got 5"),
    (spoil(mcp.Completion(), "values", True), "values[0]: expected str, got True"),
    (
        spoil(mcp.Annotations(audience=[]), "audience", "robot"),
        "audience[0]: expected one of user, assistant, got 'robot'",
    ),
    (FORM, "properties.a: expected StringSchema or "),
    (
        mcp.CallToolResult(extra={"isError": True}),
        "CallToolResult.extra must not hold isError: the class has an attribute for it",
    ),
    (
        mcp.ListToolsResult(meta=mcp.ResultMeta(extra={mcp.SERVER_INFO_KEY: {}})),
        f"_meta: ResultMetaObject.extra must not hold {mcp.SERVER_INFO_KEY}: the class",
    ),
]


@pytest.mark.parametrize(("value", "message"), UNWRITABLE, ids=lambda value: str(value)[:40])
def test_what_has_no_place_in_a_message_is_refused(value: Any, message: str) -> None:
    with pytest.raises(EncodeError) as caught:
        encode(value)
    assert str(caught.value).startswith(message)


def test_a_meta_is_written_right_while_another_thread_writes_its_own() -> None:
    def make(name: str) -> mcp.ResultMetaObject:
        return mcp.ResultMetaObject(server_info=mcp.Implementation(name=name, version="1"))

    class Interrupted(dict[str, Any]):
        """While this is looked at, another thread has its turn."""

        def __bool__(self) -> bool:
            encode(theirs)
            return False

    theirs = make("theirs")
    ours = attrs.evolve(make("ours"), extra=Interrupted())
    expected = encode(make("ours"))
    assert [encode(ours), encode(ours), encode(ours)] == [expected] * 3


def test_open_values_are_passed_on_as_they_are() -> None:
    schema = {"type": "object", "x": [None, 1.5]}
    assert encode(mcp.Tool(name="a", input_schema=schema))["inputSchema"] == schema


def test_mappings_of_any_kind_are_written_as_objects() -> None:
    frozen = types.MappingProxyType({"type": "object"})
    assert type(encode(mcp.Tool(name="a", input_schema=frozen))["inputSchema"]) is dict


def test_a_type_that_is_not_of_the_vocabulary_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="is not a type of the vocabulary"):
        decode(complex, 1)


def test_field_types_are_among_those_the_codec_knows() -> None:
    known = (str, int, float, bool, types.NoneType, Mapping, Sequence, dict, list, Literal)
    for cls in CLASSES:
        for member in members_of(cls).values():
            for tp in flatten_union(member.type):
                origin = get_origin(tp) or tp
                assert (
                    origin in known
                    or origin is Any
                    or origin in CLASSES
                    or isinstance(tp, TypeVar)
                    or tp == mcp.Unset
                ), (cls, member)
