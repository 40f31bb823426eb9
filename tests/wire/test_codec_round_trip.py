"""Whatever is said arrives as it was said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genmcp.mcp import v2607 as mcp
from genmcp.wire.codec import decode, encode
from genmcp.wire.json_text import read_json, write_json
from genmcp.wire.members import constants_of, is_open, members_of
from tests.vocabulary.samples import CLASSES, JSON, KEYS, instances, sample, wire_names

OPEN = [cls for cls in CLASSES if is_open(cls)]
CLOSED = [cls for cls in CLASSES if not is_open(cls)]


def through_text(value: Any) -> Any:
    return read_json(write_json(encode(value)))


@pytest.mark.parametrize("cls", CLASSES)
@settings(max_examples=20)
@given(data=st.data())
def test_objects_come_back_from_text_as_they_were(cls: Any, data: st.DataObject) -> None:
    value = data.draw(instances(cls))
    assert decode(cls, through_text(value)) == value


@pytest.mark.parametrize("cls", OPEN)
@settings(max_examples=15)
@given(data=st.data())
def test_open_objects_are_written_with_the_members_they_do_not_know(
    cls: Any, data: st.DataObject
) -> None:
    unknown = data.draw(
        st.dictionaries(KEYS.filter(lambda key: key not in wire_names(cls)), JSON, max_size=3)
    )
    wire = {**encode(sample(cls)), **unknown}
    assert encode(decode(cls, wire)) == wire


@pytest.mark.parametrize("cls", CLOSED)
def test_closed_objects_ignore_members_they_do_not_know(cls: Any) -> None:
    value = sample(cls)
    assert decode(cls, {**encode(value), "com.example/unknown": 1}) == value


@pytest.mark.parametrize("cls", CLASSES)
def test_a_full_object_has_every_member_under_its_wire_name(cls: Any) -> None:
    names = encode(sample(cls)).keys() - {"com.example/unknown"}
    assert names == wire_names(cls)


@pytest.mark.parametrize("cls", CLASSES)
def test_required_members_are_always_written(cls: Any) -> None:
    members = members_of(cls).values()
    needed = {member.attribute for member in members if not member.has_default}
    full = sample(cls)
    least = {name: getattr(full, name) for name in needed}
    if cls is mcp.InputRequiredResult:
        least["request_state"] = ""
    written = encode(cls(**least))
    assert {member.wire for member in members if member.required} <= written.keys()
    assert constants_of(cls).items() <= written.items()
    assert None not in written.values()


CONTENT = "TextContent ImageContent AudioContent ResourceLink EmbeddedResource"
SAMPLING_CONTENT = "TextContent ImageContent AudioContent ToolUseContent ToolResultContent"
QUESTIONS = "CreateMessageRequest ListRootsRequest ElicitRequest"
ANSWERS = "CreateMessageResult ListRootsResult ElicitResult"
FORM_FIELDS = """
    StringSchema NumberSchema BooleanSchema UntitledSingleSelectEnumSchema
    TitledSingleSelectEnumSchema UntitledMultiSelectEnumSchema TitledMultiSelectEnumSchema
    LegacyTitledEnumSchema
"""
ENVELOPES = "JSONRPCRequest JSONRPCNotification JSONRPCResultResponse JSONRPCErrorResponse"

UNIONS: list[Any] = [
    pytest.param(union, cls, id=f"{cls.__name__} of {name}")
    for name, union, classes in [
        ("content", mcp.ContentBlock, CONTENT),
        ("sampling", mcp.SamplingMessageContentBlock, SAMPLING_CONTENT),
        ("contents", mcp.ResourceContents, "TextResourceContents BlobResourceContents"),
        ("questions", mcp.InputRequest, QUESTIONS),
        ("answers", mcp.InputResponse, ANSWERS),
        ("modes", mcp.ElicitRequestParams, "ElicitRequestFormParams ElicitRequestURLParams"),
        ("form fields", mcp.PrimitiveSchemaDefinition, FORM_FIELDS),
        ("requests", mcp.ClientRequest, " ".join(cls.__name__ for cls in mcp.REQUESTS.values())),
        ("client", mcp.ClientNotification, "CancelledNotification UnknownNotification"),
        (
            "server",
            mcp.ServerNotification,
            " ".join(cls.__name__ for cls in mcp.NOTIFICATIONS.values()),
        ),
        ("envelopes", mcp.JSONRPCMessage, ENVELOPES),
    ]
    for cls in (getattr(mcp, member) for member in classes.split())
]


@pytest.mark.parametrize(("union", "cls"), UNIONS)
@settings(max_examples=10)
@given(data=st.data())
def test_a_union_gives_the_class_that_was_written(
    union: Any, cls: Any, data: st.DataObject
) -> None:
    value = data.draw(instances(cls))
    assert decode(union, through_text(value)) == value


@pytest.mark.parametrize("method", list(mcp.RESULTS))
def test_result_responses_hold_the_result_of_their_method(method: str) -> None:
    cls: Any = mcp.RESULTS[method]
    name = f"{cls.__name__}Response"
    value = mcp.JSONRPCResultResponse(id=1, result=sample(cls))
    assert decode(getattr(mcp, name), encode(value)) == value


@pytest.mark.parametrize("name", ["CallTool", "GetPrompt", "ReadResource"])
def test_three_result_responses_may_hold_a_question_instead(name: str) -> None:
    value = mcp.JSONRPCResultResponse(
        id="a", result=mcp.InputRequiredResult(request_state="sealed")
    )
    assert decode(getattr(mcp, f"{name}ResultResponse"), encode(value)) == value
