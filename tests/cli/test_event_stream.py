"""Reading the events of any server, as the standard has them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.cli.event_stream import EventStreamReader

CASES = {
    "one line": (b"data: a\n\n", ["a"]),
    "one line, CRLF": (b"data: a\r\n\r\n", ["a"]),
    "one line, CR": (b"data: a\r\r", ["a"]),
    "all line ends": (b"data: a\r\ndata: b\rdata: c\n\r\n", ["a\nb\nc"]),
    "two events": (b"data: a\n\ndata: b\n\n", ["a", "b"]),
    "no space": (b"data:a\n\n", ["a"]),
    "one space of two": (b"data:  a\n\n", [" a"]),
    "a colon in the data": (b'data: {"a": 1}\n\n', ['{"a": 1}']),
    "a byte order mark": (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
    "a second byte order mark": (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
    "a comment": (b": ping - now\r\n\r\ndata: a\r\n\r\n", ["a"]),
    "a comment inside": (b"data: a\n: so far\ndata: b\n\n", ["a\nb"]),
    "other fields": (b"id: 1\nretry: 5\nwhat: x\ndata: a\n\n", ["a"]),
    "no data": (b"id: 1\n\nevent: message\n\n", []),
    "empty data": (b"id: 1\ndata:\n\n", []),
    "a field that is a name alone": (b"data\ndata: a\n\n", ["\na"]),
    "the usual type": (b"event: message\ndata: a\n\n", ["a"]),
    "another type, once": (b"event: endpoint\ndata: /a\n\ndata: b\n\n", ["b"]),
    "cut off": (b"data: a\n\ndata: b\n", ["a"]),
    "nothing": (b"", []),
    "not UTF-8": (b"data: \xff\n\n", ["\ufffd"]),
    "separators that end no line": (
        "data: a\u2028b\x85c\x0bd\n\n".encode(),
        ["a\u2028b\x85c\x0bd"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_event_stream_is_read_as_the_standard_has_it(name: str) -> None:
    stream, data = CASES[name]
    assert EventStreamReader().feed(stream) == data


@pytest.mark.parametrize("name", CASES)
def test_it_may_come_byte_by_byte(name: str) -> None:
    stream, data = CASES[name]
    reader = EventStreamReader()
    assert [found for byte in stream for found in reader.feed(bytes([byte]))] == data


@given(
    pieces=st.lists(
        st.sampled_from(["data: a", "data", ": c", "event: x", "ü", "\r", "\n", "\r\n"])
    ),
    cuts=st.lists(st.integers(0, 80)),
)
def test_how_it_is_cut_changes_nothing(pieces: list[str], cuts: list[int]) -> None:
    stream = "".join(pieces).encode()
    reader = EventStreamReader()
    parts = [stream[one:two] for one, two in pairwise([0, *sorted(cuts), len(stream) + 80])]
    assert [data for part in parts for data in reader.feed(part)] == EventStreamReader().feed(
        stream
    )


def test_an_event_is_given_as_soon_as_it_is_over() -> None:
    reader = EventStreamReader()
    assert reader.feed(b"data: a\r\n\r") == ["a"]
    assert reader.feed(b"\ndata: b\r\n") == []
    assert reader.feed(b"\r\n") == ["b"]
