"""Calls of every kind, cancelled or not, at any moment: who is answered, and who is not."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from tests.transport.stdio.peer import Peer, cancelled, connected, request
from tests.transport.stdio.served import Journal, make_suite

TOOLS = ("echo", "report", "wait", "chatter")

steps = st.one_of(
    st.tuples(st.just("call"), st.sampled_from(TOOLS)),
    st.tuples(st.just("cancel"), st.integers(0, 9)),
    st.tuples(st.just("read"), st.integers(1, 3)),
    st.tuples(st.just("pause"), st.integers(1, 20)),
)


class Played:
    """A conversation as it went.

    Attributes:
        tools: the tool that each id called.
        cancelled: the ids that were cancelled, answered before or not.
        before: what came before the server had certainly read all cancellations.
        after: what came after that.
    """

    def __init__(self) -> None:
        self.tools: list[str] = []
        self.cancelled: set[int] = set()
        self.before: list[dict[str, Any]] = []
        self.after: list[dict[str, Any]] = []


async def take_step(peer: Peer, played: Played, kind: str, value: Any) -> None:
    match kind:
        case "call":
            number = len(played.tools)
            played.tools.append(value)
            arguments = {"text": "x"} if value == "echo" else {}
            meta = {"progressToken": number}
            await peer.send(request(number, name=value, arguments=arguments, meta=meta))
        case "cancel" if value < len(played.tools):
            played.cancelled.add(value)
            await peer.send(cancelled(value))
        case "read":
            for _ in range(value):
                with trio.move_on_after(0.01):
                    played.before.append(await peer.receive())
        case "pause":
            for _ in range(value):
                await trio.lowlevel.checkpoint()


async def play(plan: list[tuple[str, Any]]) -> Played:
    journal, played = Journal(), Played()
    async with connected(make_suite(journal), lockstep=True) as peer:
        for kind, value in plan:
            await take_step(peer, played, kind, value)
        await peer.send(request("last", name="echo", arguments={"text": "x"}))
        while not played.before or played.before[-1].get("id") != "last":
            played.before.append(await peer.receive())
        for number, tool in enumerate(played.tools):
            if tool == "chatter" and number not in played.cancelled:
                await peer.send(cancelled(number))
        journal.release.set()
        with trio.move_on_after(5):
            while True:
                played.after.append(await peer.receive())
        assert await peer.end() == []
    assert Counter(journal.started) == Counter(journal.cleaned)
    return played


def concerned(message: dict[str, Any]) -> Any:
    """Return the id of the request that a message is about."""
    return message["id"] if "id" in message else message["params"]["progressToken"]


@settings(max_examples=200, deadline=None)
@given(st.lists(steps, max_size=30))
def test_every_call_is_answered_once_or_was_cancelled(plan: list[tuple[str, Any]]) -> None:
    played = trio.run(partial(play, plan), clock=MockClock(autojump_threshold=0))
    answered = Counter(m["id"] for m in [*played.before, *played.after] if "id" in m)
    assert max(answered.values()) == 1
    for number, tool in enumerate(played.tools):
        if number not in played.cancelled and tool != "chatter":
            assert answered[number] == 1
    # The last request came after all cancellations, and its answer after it was read.
    assert not played.cancelled & {concerned(message) for message in played.after}
    done: set[Any] = set()
    for message in [*played.before, *played.after]:
        assert concerned(message) not in done, "something comes after an answer"
        if "id" in message:
            done.add(message["id"])
