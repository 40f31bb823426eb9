"""What tools answer, built in one line."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import attrs
import pytest
from hypothesis import given

from genmcp.mcp import v2607 as mcp
from genmcp.wire.codec import encode
from tests.vocabulary.samples import JSON

A, B = mcp.TextContent(text="a"), mcp.TextContent(text="b")
IMAGE = mcp.ImageContent(mime_type="image/png", data="aGk=")


# -- content -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("text", "a", A),
        ("text", "", mcp.TextContent(text="")),
        ("image", ("image/png", b"hi"), IMAGE),
        ("image", ["image/png", "aGk="], IMAGE),
        ("image", ("image/png", bytearray(b"hi")), IMAGE),
        ("image", ("image/png", memoryview(b"hi")), IMAGE),
        ("audio", ("audio/wav", b""), mcp.AudioContent(mime_type="audio/wav", data="")),
        (
            "resource",
            {"uri": "a:", "text": ""},
            mcp.EmbeddedResource(resource=mcp.TextResourceContents(uri="a:", text="")),
        ),
        (
            "resource",
            {"uri": "a:", "blob": b"\xff\xfe\xfd", "mime_type": "x/y", "meta": {"k": 1}},
            mcp.EmbeddedResource(
                resource=mcp.BlobResourceContents(
                    uri="a:", blob="//79", mime_type="x/y", meta={"k": 1}
                )
            ),
        ),
        (
            "resource",
            mcp.TextResourceContents(uri="a:", text="t"),
            mcp.EmbeddedResource(resource=mcp.TextResourceContents(uri="a:", text="t")),
        ),
        ("link", {"name": "n", "uri": "a:"}, mcp.ResourceLink(name="n", uri="a:")),
        (
            "link",
            {"name": "n", "uri": "a:", "mime_type": "x/y", "title": "T", "size": 0},
            mcp.ResourceLink(name="n", uri="a:", mime_type="x/y", title="T", size=0),
        ),
        (
            "link",
            mcp.Resource(name="n", uri="a:", icons=[mcp.Icon(src="https://a")]),
            mcp.ResourceLink(name="n", uri="a:", icons=[mcp.Icon(src="https://a")]),
        ),
        ("link", mcp.ResourceLink(name="n", uri="a:"), mcp.ResourceLink(name="n", uri="a:")),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value)[:60],
)
def test_content_is_built_by_its_kind(kind: Any, value: Any, expected: Any) -> None:
    assert mcp.content_block(kind, value) == expected


@pytest.mark.parametrize(
    ("kind", "value", "error", "message"),
    [
        ("txt", "a", ValueError, "unknown kind of content 'txt'; the kinds are text, image, "),
        ("data", {}, ValueError, "unknown kind of content 'data'"),
        ("text", 5, TypeError, "text must be a str, got 5"),
        ("text", None, TypeError, "text must be a str, got None"),
        ("image", b"hi", TypeError, "image must be a pair (mime_type, data), got b'hi'"),
        ("image", "ab", TypeError, "image must be a pair (mime_type, data), got 'ab'"),
        ("image", ("image/png",), TypeError, "image must be a pair (mime_type, data)"),
        ("audio", ("a", "b", "c"), TypeError, "audio must be a pair (mime_type, data)"),
        ("audio", ("a/b", 5), TypeError, "audio data must be bytes, or a str of base64, got 5"),
        ("image", (b"image/png", b"x"), TypeError, "ImageContent.mime_type must be str"),
        ("image", ("image/png", "a-_="), ValueError, "ImageContent.data must be standard base64"),
        ("image", ("image/png", "YWI"), ValueError, "ImageContent.data must be base64 padded"),
        ("resource", "a:", TypeError, 'resource must be {"uri": ..., "text": ...} or '),
        ("resource", {"text": "a"}, TypeError, "resource needs 'uri', got {'text': 'a'}"),
        (
            "resource",
            {"uri": "a:"},
            ValueError,
            "pass exactly one of text and blob for 'a:', got neither",
        ),
        (
            "resource",
            {"uri": "a:", "text": "", "blob": b""},
            ValueError,
            "pass exactly one of text and blob for 'a:', got both",
        ),
        (
            "resource",
            {"uri": "a:", "text": "t", "mimeType": "x"},
            TypeError,
            "resource has no 'mimeType'; did you mean 'mime_type'?",
        ),
        ("link", "a:", TypeError, 'link must be {"name": ..., "uri": ...}, got \'a:\''),
        ("link", {"uri": "a:"}, TypeError, "link needs 'name', got {'uri': 'a:'}"),
        ("link", {"name": "n"}, TypeError, "link needs 'uri', got {'name': 'n'}"),
        (
            "link",
            {"name": "n", "uri": "a:", "colour": 1},
            TypeError,
            "link has no 'colour'; it takes uri, name, title, description, ",
        ),
    ],
    ids=str,
)
def test_content_of_another_form_is_refused_with_the_fix(
    kind: Any, value: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        mcp.content_block(kind, value)
    assert str(caught.value).startswith(message)


# -- results: content ----------------------------------------------------------------


def test_one_text_is_one_block() -> None:
    assert mcp.call_tool_result(text="42") == mcp.CallToolResult(
        content=[mcp.TextContent(text="42")]
    )


def test_nothing_is_an_empty_result() -> None:
    assert encode(mcp.call_tool_result()) == {"resultType": "complete", "content": []}


@pytest.mark.parametrize(
    "result",
    [
        mcp.call_tool_result(("text", "a"), ("text", "b")),
        mcp.call_tool_result([("text", "a"), ("text", "b")]),
        mcp.call_tool_result(("text", "a"), text="b"),
        mcp.call_tool_result([("text", "a")], [], B),
        mcp.call_tool_result(A, B),
        mcp.call_tool_result([A], ("text", "b")),
    ],
    ids=["pairs", "list of pairs", "pair and keyword", "lists and content", "content", "mixed"],
)
def test_entries_come_in_pairs_lists_and_as_content(result: mcp.CallToolResult) -> None:
    assert result == mcp.CallToolResult(content=[A, B])


def test_the_order_of_keywords_is_kept() -> None:
    result = mcp.call_tool_result(
        link={"name": "n", "uri": "a:"}, error="bad", image=("image/png", b"hi"), data=1, text="a"
    )
    assert result.content == [
        mcp.ResourceLink(name="n", uri="a:"),
        mcp.TextContent(text="bad"),
        IMAGE,
        mcp.TextContent(text="1"),
        A,
    ]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "text",
            "an entry must be content, a pair, or a mapping of structured content, got 'text'",
        ),
        (5, "an entry must be content, a pair, or a mapping of structured content, got 5"),
        (None, "an entry must be content, a pair, or a mapping of structured content, got None"),
        ([("text", "a"), "b"], "an entry must be content, a pair, or a mapping"),
        (("text",), "a pair must be like (\"text\", value), got ('text',)"),
        ((A, B), 'a pair must be like ("text", value), got '),
        (("txt", "a"), "call_tool_result has no 'txt'; it takes text, image, audio, "),
    ],
    ids=str,
)
def test_an_entry_of_another_form_is_refused(entry: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        mcp.call_tool_result(entry)
    assert str(caught.value).startswith(message)


def test_an_unknown_keyword_is_refused() -> None:
    with pytest.raises(TypeError, match="call_tool_result has no 'txt'; it takes text, image"):
        mcp.call_tool_result(txt="a")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


# -- results: structured content -----------------------------------------------------


@given(JSON)
def test_data_is_structured_content_and_a_text_that_says_the_same(value: Any) -> None:
    result = mcp.call_tool_result(data=value)
    assert result.structured_content == value
    (block,) = result.content
    assert isinstance(block, mcp.TextContent)
    assert json.loads(block.text) == value
    assert result.is_error is None


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}], ids=repr)
def test_data_that_is_nothing_is_data(value: Any) -> None:
    assert encode(mcp.call_tool_result(data=value))["structuredContent"] == value
    assert encode(mcp.call_tool_result(_data=value)) == {
        "resultType": "complete",
        "content": [],
        "structuredContent": value,
    }


def test_data_is_written_compactly_and_in_its_own_letters() -> None:
    result = mcp.call_tool_result(data={"é": [1, None]})
    assert result.content == [mcp.TextContent(text='{"é":[1,null]}')]


@pytest.mark.parametrize(
    "result",
    [
        mcp.call_tool_result({"a": 1}),
        mcp.call_tool_result([{"a": 1}]),
        mcp.call_tool_result(("data", {"a": 1})),
        mcp.call_tool_result(data={"a": 1}),
    ],
    ids=["bare", "in a list", "pair", "keyword"],
)
def test_a_bare_mapping_is_data(result: mcp.CallToolResult) -> None:
    assert result.structured_content == {"a": 1}
    assert result.content == [mcp.TextContent(text='{"a":1}')]


TWICE: list[Any] = [
    (({"a": 1},), {"data": 1}),
    ((), {"data": None, "_data": None}),
    ((("_data", 1), ("_data", 1)), {}),
    (([{}, {}],), {}),
]


@pytest.mark.parametrize(
    ("entries", "named"),
    TWICE,
    ids=["bare and data", "data and _data", "_data twice", "bare twice"],
)
def test_a_second_structured_content_is_refused(entries: Any, named: Any) -> None:
    with pytest.raises(ValueError, match="sets the structured content a second time"):
        mcp.call_tool_result(*entries, **named)


@attrs.frozen
class Point:
    x_axis: int
    tags: tuple[str, ...] = ()


@dataclasses.dataclass
class Line:
    points: list[Point]
    label: str | None = None


def test_records_become_plain_json() -> None:
    line = Line([Point(1, ("a", "b"))])
    plain = {"points": [{"x_axis": 1, "tags": ["a", "b"]}], "label": None}
    bare: Any = line
    for result in (mcp.call_tool_result(data=line), mcp.call_tool_result(bare)):
        assert result.structured_content == plain
        assert result.content == [mcp.TextContent(text=json.dumps(plain, separators=(",", ":")))]
    assert mcp.call_tool_result(_data={"l": line}).structured_content == {"l": plain}


def test_data_is_copied() -> None:
    data: dict[str, Any] = {"a": [1]}
    result = mcp.call_tool_result(data=data)
    data["a"].append(2)
    assert result.structured_content == {"a": [1]}


class Model:
    """Stands for a model of pydantic."""

    def model_dump(self, *, mode: str) -> dict[str, str]:
        return {"mode": mode}


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([b"x"], TypeError, "data[0] is a bytes, which has no JSON form"),
        ({1: 2}, TypeError, "data has the key 1; the keys of a JSON object are str"),
        ([math.nan], ValueError, "data[0] is nan, which JSON does not have; use None"),
        (Point(2**64), ValueError, "data.x_axis is an integer beyond 64 bits; pass it as a str"),
        ("\ud800", ValueError, "data cannot be written as JSON: "),
        (LOOP, ValueError, "data is nested too deeply, or holds itself"),
        (Point, TypeError, "data is a type, which has no JSON form"),
        (Model, TypeError, "data is a type, which has no JSON form"),
        (
            [Model()],
            TypeError,
            (
                "data[0] is a Model, which has no JSON form; "
                'give what its model_dump(mode="json") returns'
            ),
        ),
        (mcp.UNSET, TypeError, "data is UNSET; leave it out"),
    ],
    ids=str,
)
def test_data_without_a_json_form_is_refused_with_its_place(
    value: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        mcp.call_tool_result(data=value)
    assert str(caught.value).startswith(message)


# -- results: errors -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "is_error", "texts"),
    [
        ([("error", True)], True, []),
        ([("error", "bad")], True, ["bad"]),
        ([("error", "")], True, [""]),
        ([("error", False)], None, []),
        ([("error", None)], None, []),
        ([("error", True), ("error", False), ("error", None)], True, []),
        ([("error", False), ("error", "bad")], True, ["bad"]),
        ([("text", "a"), ("error", "bad"), ("error", "worse")], True, ["a", "bad", "worse"]),
    ],
    ids=repr,
)
def test_errors_are_sticky_and_say_why(entries: Any, is_error: Any, texts: list[str]) -> None:
    result = mcp.call_tool_result(entries)
    assert result.is_error is is_error
    assert result.content == [mcp.TextContent(text=text) for text in texts]


def test_an_error_that_is_not_is_not_written() -> None:
    assert "isError" not in encode(mcp.call_tool_result(text="a", error=False))
    assert encode(mcp.call_tool_result(error="bad"))["isError"] is True


@pytest.mark.parametrize("value", [0, 1, [], ValueError("bad")], ids=repr)
def test_an_error_is_a_flag_or_a_text(value: Any) -> None:
    with pytest.raises(TypeError, match="error must be a bool, a str or None, got"):
        mcp.call_tool_result(error=value)


# -- lists ---------------------------------------------------------------------------

WIRE_TOOL = mcp.Tool(name="a", input_schema={"type": "object"})


def test_texts_may_be_of_a_class_of_their_own() -> None:
    class Text(str):
        __slots__ = ()

    result = mcp.call_tool_result(text=Text("a"), data={"t": Text("b")})
    assert result.content == [A, mcp.TextContent(text='{"t":"b"}')]


class Described:
    def __init__(self, name: str = "class") -> None:
        self.name = name

    def describe(self) -> mcp.Tool:
        return attrs.evolve(WIRE_TOOL, name=self.name)


class Misdescribed:
    def describe(self) -> Any:
        return {"name": "a"}


def test_tools_are_described() -> None:
    result = mcp.list_tools_result([WIRE_TOOL, Described, Described("instance")])
    assert [tool.name for tool in result.tools] == ["a", "class", "instance"]
    assert encode(result)["ttlMs"] == 0
    assert encode(result)["cacheScope"] == "private"
    assert "nextCursor" not in encode(result)


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        (5, "tools must hold mcp.Tool objects or Tool classes, got 5"),
        (int, "tools must hold mcp.Tool objects or Tool classes, got <class 'int'>"),
        (Misdescribed, "Misdescribed.describe must return mcp.Tool, got {'name': 'a'}"),
    ],
    ids=str,
)
def test_what_is_no_tool_is_refused(tool: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        mcp.list_tools_result([tool])
    assert str(caught.value) == message


def test_one_of_the_cache_options_fills_the_other() -> None:
    assert mcp.list_tools_result([], ttl_ms=5).cache_scope == "private"
    assert mcp.list_tools_result([], cache_scope="public").ttl_ms == 0
    page = mcp.list_tools_result((), next_cursor="", cache_scope="public", ttl_ms=5)
    assert encode(page) == {
        "resultType": "complete",
        "ttlMs": 5,
        "cacheScope": "public",
        "nextCursor": "",
        "tools": [],
    }


def test_text_of_what_a_model_said_is_its_blocks_of_text() -> None:
    one = mcp.CreateMessageResult(role="assistant", content=mcp.TextContent(text="a"), model="m")
    picture = mcp.ImageContent(data="aGk=", mime_type="image/png")
    many = mcp.CreateMessageResult(
        role="assistant", content=[mcp.TextContent(text="a"), picture], model="m"
    )
    assert (one.text, many.text) == ("a", "a")
