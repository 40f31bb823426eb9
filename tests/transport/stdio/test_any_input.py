"""Whatever comes in, in whatever pieces: whole lines go out, one for each that wants one."""

from __future__ import annotations

import itertools
import json
from functools import partial
from typing import Any

import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from genmcp.limits import Limits
from genmcp.transport.inbound import ReceivedRequest, Refusal
from genmcp.transport.stdio.line_inbound import LineInbound
from genmcp.transport.stdio.line_splitter import LineSplitter
from tests.transport.stdio.peer import cancelled, connected, request
from tests.transport.stdio.served import make_suite

MOST = 400
SUITE = make_suite()

ids: st.SearchStrategy[Any] = st.sampled_from([1, "1", 2, "a", None, True, 1.5, [], -7])
scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
messages = st.one_of(
    values,
    st.builds(request, ids, st.sampled_from(["server/discover", "tools/list", "initialize"])),
    st.builds(lambda one, text: request(one, name="echo", arguments={"text": text}), ids, values),
    st.builds(cancelled, ids),
    st.builds(lambda one, more: {"jsonrpc": "2.0", "id": one, "result": more}, ids, values),
    st.builds(lambda one, more: {**request(one), "params": more}, ids, values),
)
ends = st.sampled_from([b"\n", b"\r\n", b"\n\n", b" \n"])
lines = st.one_of(
    st.binary(max_size=40),
    st.builds(lambda message: json.dumps(message).encode(), messages),
    st.builds(lambda message: json.dumps(message, ensure_ascii=False).encode(), messages),
    st.just(b"x" * (MOST + 10)),
)
inputs = st.lists(st.builds(lambda line, end: line + end, lines, ends), max_size=12).map(b"".join)


async def converse(data: bytes, cuts: list[int]) -> list[dict[str, Any]]:
    """Send `data` in pieces; return what came back, which `end` has read as whole lines."""
    async with connected(SUITE, max_body_bytes=MOST) as peer:
        places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
        for start, end in itertools.pairwise(places):
            await peer.send(data[start:end])
        return await peer.end()


def count_answers(data: bytes) -> int:
    """Return how many messages of `data` must be answered if none is cancelled."""
    inbound = LineInbound(SUITE.methods(), Limits(max_body_bytes=MOST))
    splitter = LineSplitter(MOST)
    received = [inbound.read_line(line) for line in splitter.feed(data)]
    return sum(isinstance(one, ReceivedRequest | Refusal) for one in received)


@settings(max_examples=150, deadline=None)
@given(inputs, st.lists(st.integers(0, 2_000), max_size=8))
def test_every_line_that_wants_an_answer_has_one(data: bytes, cuts: list[int]) -> None:
    clock = MockClock(autojump_threshold=0)
    answers = trio.run(partial(converse, data, cuts), clock=clock)
    expected = count_answers(data)
    if b"notifications/cancelled" in data:
        assert len(answers) <= expected
    else:
        assert len(answers) == expected
    for answer in answers:
        assert answer["jsonrpc"] == "2.0"
        assert ("result" in answer) is not ("error" in answer)
        assert type(answer.get("id", "")) in (int, str)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_survived(data: bytes) -> None:
    asked = json.dumps(request("last", "server/discover")).encode()
    clock = MockClock(autojump_threshold=0)
    answers = trio.run(partial(converse, data + b"\n" + asked + b"\n", []), clock=clock)
    assert [answer["id"] for answer in answers if "id" in answer] == ["last"]
