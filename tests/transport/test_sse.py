from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.transport.sse import KEEP_ALIVE, render_event


def test_event_is_one_data_line_and_a_blank_line() -> None:
    assert render_event(b'{"a":1}') == b'data: {"a":1}\n\n'


def test_keep_alive_is_a_comment_that_ends_like_an_event() -> None:
    assert KEEP_ALIVE.startswith(b":")
    assert KEEP_ALIVE.endswith(b"\n\n")
    assert KEEP_ALIVE.count(b"\n") == 2


@pytest.mark.parametrize(
    ("character", "escape"),
    [("\u2028", b"\\u2028"), ("\u2029", b"\\u2029"), ("\u0085", b"\\u0085")],
    ids=["U+2028", "U+2029", "U+0085"],
)
def test_what_clients_take_for_a_line_end_is_escaped(character: str, escape: bytes) -> None:
    event = render_event(json.dumps(f"a{character}b", ensure_ascii=False).encode())
    assert event == b'data: "a' + escape + b'b"\n\n'


@given(
    st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\u2028\u2029\u0085\n\r"))
)
def test_any_text_survives_and_stays_on_one_line(text: str) -> None:
    event = render_event(json.dumps(text, ensure_ascii=False).encode()).decode()
    assert event.endswith("\n\n")
    # What splitlines() splits at but JSON's own escapes do not cover.
    lines = event[:-2].translate(dict.fromkeys(b"\x1c\x1d\x1e\x0b\x0c", "")).splitlines()
    assert len(lines) == 1
    assert json.loads(event.removeprefix("data: ")) == text
