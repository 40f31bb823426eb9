from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.transport.stdio.line_splitter import Line, LineSplitter, OverlongLine

BOM = b"\xef\xbb\xbf"


def split(data: bytes, *cuts: int, most: int = 8) -> list[Line]:
    splitter = LineSplitter(most)
    lines: list[Line] = []
    places = sorted({0, len(data), *(cut for cut in cuts if cut <= len(data))})
    for start, end in itertools.pairwise(places):
        lines += splitter.feed(data[start:end])
    return lines


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        pytest.param(b"", [], id="nothing"),
        pytest.param(b"one\ntwo\n", [b"one", b"two"], id="two lines"),
        pytest.param(b"one\r\ntwo\r\n", [b"one", b"two"], id="CRLF"),
        pytest.param(b"one", [], id="no end yet"),
        pytest.param(b"\n \t\n\r\n\r\r\n", [], id="blank lines"),
        pytest.param(b" one\n", [b" one"], id="spaces are JSON's matter"),
        pytest.param(b"a\rb\n", [b"a\rb"], id="a lone carriage return ends nothing"),
        pytest.param(b"a\xe2\x80\xa8b\n", [b"a\xe2\x80\xa8b"], id="nor does U+2028"),
        pytest.param(b"a\x00b\n", [b"a\x00b"], id="NUL"),
        pytest.param(BOM + b"one\n", [b"one"], id="byte order mark"),
        pytest.param(BOM + b"\none\n", [b"one"], id="byte order mark on a blank line"),
        pytest.param(b"one\n" + BOM + b"x\n", [b"one", BOM + b"x"], id="mark in the middle"),
        pytest.param(b"12345678\n", [b"12345678"], id="as long as it may be"),
        pytest.param(b"12345678\r\n", [b"12345678"], id="as long as it may be, CRLF"),
        pytest.param(b"123456789\n", [OverlongLine(b"123456789")], id="one too long"),
        pytest.param(b"123456789\r\n", [OverlongLine(b"123456789\r")], id="one too long, CRLF"),
        pytest.param(b"1234567890", [OverlongLine(b"1234567890")], id="told before it ends"),
        pytest.param(
            b"1234567890 and so on\none\n",
            [OverlongLine(b"1234567890 and so on"), b"one"],
            id="the rest is skipped",
        ),
        pytest.param(b"x" * 600 + b"\n", [OverlongLine(b"x" * 512)], id="only the start is kept"),
    ],
)
def test_lines_of_one_piece(data: bytes, lines: list[Line]) -> None:
    assert split(data) == lines


@given(st.binary(max_size=60), st.lists(st.integers(0, 60)))
def test_pieces_make_no_difference_but_to_what_is_too_long(data: bytes, cuts: list[int]) -> None:
    whole, cut = split(data), split(data, *cuts)
    assert [line if isinstance(line, bytes) else None for line in whole] == [
        line if isinstance(line, bytes) else None for line in cut
    ]


@given(st.lists(st.binary(min_size=1, max_size=30)))
def test_never_more_is_held_than_a_line_may_have(pieces: list[bytes]) -> None:
    splitter = LineSplitter(8)
    for piece in pieces:
        splitter.feed(piece)
        assert sum(map(len, splitter._pieces)) <= 9
