"""Questions to a client of 2025 on a pipe: asked, answered, cancelled, and attacked."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from genmcp import InputRequired, Suite, Tool, list_roots
from tests.legacy.client import JUNE, NOVEMBER
from tests.legacy.server import Served
from tests.transport.stdio.legacy_peer import (
    accept,
    answer,
    call,
    notification,
    request,
    session,
    text_of,
)
from tests.transport.stdio.peer import Peer
from tests.transport.stdio.peer import request as modern


def cancelled(request_id: Any) -> dict[str, Any]:
    return notification("cancelled", requestId=request_id)


async def receive_question(peer: Peer, message: str | None = None) -> dict[str, Any]:
    question = await peer.receive()
    assert question["method"] == "elicitation/create", question
    assert message in (None, question["params"]["message"])
    return question


# -- asked and answered ------------------------------------------------------------


@pytest.mark.parametrize("version", [NOVEMBER, JUNE])
async def test_a_provider_asks_as_often_as_it_wants(autojump_clock: Any, version: str) -> None:
    async with session(Served().make_suite(), version) as client:
        peer = client.peer
        await peer.send(call(1, "greet"))
        first = await receive_question(peer, "First name?")
        assert first["jsonrpc"] == "2.0"
        assert ("mode" in first["params"]) is (version == NOVEMBER)
        await peer.send(answer(first["id"], result=accept(name="Ada")))
        last = await receive_question(peer, "Last name?")
        assert last["id"] != first["id"]
        await peer.send(answer(last["id"], result=accept(name="Lovelace")))
        greeted = await peer.receive()
        assert (greeted["id"], text_of(greeted)) == (1, "Ada Lovelace (2)")
        assert await peer.end() == []


async def test_several_questions_are_asked_at_once(autojump_clock: Any) -> None:
    async with session(Served().make_suite()) as client:
        peer = client.peer
        await peer.send(call("all", "ask_all"))
        asked = {message["method"]: message for message in [await peer.receive() for _ in range(2)]}
        assert "params" not in asked["roots/list"]
        roots = {"roots": [{"uri": "file:///a"}]}
        await peer.send(answer(asked["roots/list"]["id"], result=roots))
        content = {"type": "text", "text": "hello"}
        said = {"role": "assistant", "content": content, "model": "m"}
        await peer.send(answer(asked["sampling/createMessage"]["id"], result=said))
        assert text_of(await peer.receive()) == "hello 1"


async def test_prompts_can_ask_too(autojump_clock: Any) -> None:
    async with session(Served().make_suite()) as client:
        peer = client.peer
        await peer.send(request(1, "prompts/get", name="greeting", arguments={"who": "ask"}))
        question = await receive_question(peer, "Who?")
        await peer.send(answer(question["id"], result=accept(name="Eve")))
        [message] = (await peer.receive())["result"]["messages"]
        assert message["content"]["text"] == "Hello, Eve"


async def test_a_question_holds_up_nothing_and_neither_era(autojump_clock: Any) -> None:
    async with session(Served().make_suite()) as client:
        peer = client.peer
        await peer.send(call(1, "greet"))
        question = await receive_question(peer)
        assert await client.result("ping") == {}
        assert "tools" in await client.result("tools/list")
        await peer.send(modern(2, "tools/list"))
        assert (await peer.receive())["id"] == 2
        await peer.send(answer(question["id"], result={"action": "decline"}))
        assert text_of(await peer.receive()) == "nobody"


async def test_a_client_of_today_is_asked_by_its_result(autojump_clock: Any) -> None:
    async with session(Served().make_suite()) as client:
        meta: Any = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        await client.peer.send(modern(1, name="greet", meta=meta))
        asked = (await client.peer.receive())["result"]
        assert asked["resultType"] == "input_required"
        assert await client.peer.end() == []


async def test_what_was_not_declared_is_not_asked(autojump_clock: Any) -> None:
    async with session(Served().make_suite(), capabilities={"sampling": {}}) as client:
        for tool in ("greet", "ask_all"):
            assert (await client.result("tools/call", name=tool))["isError"] is True
        params = {"name": "greeting", "arguments": {"who": "ask"}}
        assert (await client.ask("prompts/get", **params))["error"]["code"] == -32603


async def test_a_refusal_is_told_to_the_model_and_other_questions_are_taken_back(
    autojump_clock: Any,
) -> None:
    async with session(Served().make_suite()) as client:
        peer = client.peer
        await peer.send(call(1, "ask_all"))
        ids = {}
        for _ in range(2):
            question = await peer.receive()
            ids[question["method"]] = question["id"]
        error = {"code": -1, "message": "User rejected sampling request"}
        await peer.send(answer(ids["sampling/createMessage"], error=error))
        taken_back = await peer.receive()
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"]["requestId"] == ids["roots/list"]
        answered = await peer.receive()
        assert answered["result"]["isError"] is True
        assert "User rejected" in text_of(answered)


async def test_what_was_answered_is_not_taken_back(autojump_clock: Any) -> None:
    async with session(Served().make_suite(), lockstep=True) as client:
        peer = client.peer
        await peer.send(call(1, "ask_all"))
        question = await peer.receive()
        # The other one waits to be written, and the answer for it.
        await peer.send(answer(question["id"], result={"roots": []}), cancelled(1))
        await wait_all_tasks_blocked()
        await peer.send(request("after", "ping"))
        assert await peer.receive() == {"jsonrpc": "2.0", "id": "after", "result": {}}
        assert await peer.end() == []


async def test_a_user_who_is_not_asked_has_cancelled(autojump_clock: Any) -> None:
    async with session(Served().make_suite()) as client:
        await client.peer.send(call(1, "greet"))
        question = await receive_question(client.peer)
        await client.peer.send(answer(question["id"], error={"code": -1, "message": "no"}))
        assert text_of(await client.peer.receive()) == "nobody"


async def test_an_answer_of_the_wrong_kind_is_the_clients_fault(autojump_clock: Any) -> None:
    async with session(Served().make_suite()) as client:
        await client.peer.send(call(1, "greet"))
        question = await receive_question(client.peer)
        await client.peer.send(answer(question["id"], result={"action": "perhaps"}))
        assert (await client.peer.receive())["error"]["code"] == -32602


async def test_a_client_that_does_not_answer_is_given_up(autojump_clock: Any) -> None:
    served = Served()
    async with session(served.make_suite()) as client:
        await client.peer.send(call(1, "greet"))
        question = await receive_question(client.peer)
        taken_back, answered = await client.peer.receive(), await client.peer.receive()
        assert taken_back["params"]["requestId"] == question["id"]
        assert "did not answer" in text_of(answered)
        assert 500 < trio.current_time() < 700


async def test_a_provider_that_only_wants_to_be_called_again_is(autojump_clock: Any) -> None:
    async with session(Served().make_suite()) as client:
        await client.peer.send(call(1, "patient"))
        assert text_of(await client.peer.receive()) == "3 times"


# -- answers that are none ---------------------------------------------------------


async def test_a_flood_of_bogus_answers_is_survived_and_the_first_true_one_counts(
    autojump_clock: Any,
) -> None:
    async with session(Served().make_suite()) as client:
        peer = client.peer
        await peer.send(call(1, "greet"))
        question = await receive_question(peer)
        mallory = accept(name="Mallory")
        bogus: list[Any] = [
            answer("unknown", result=mallory),
            answer(1, result=mallory),
            answer(question["id"] + "x", result=mallory),
            answer(None, result=mallory),
            answer(True, result=mallory),
            answer([question["id"]], result=mallory),
            answer(question["id"], result=mallory, error={"code": 1, "message": ""}),
            {"id": question["id"], "result": mallory},
            {"jsonrpc": "2.0", "result": mallory},
            {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}},
        ]
        flood = b"".join(json.dumps(message).encode() + b"\n" for message in bogus * 300)
        await peer.send(flood)
        assert await client.result("ping") == {}
        await peer.send(answer(question["id"], result={"action": "decline"}))
        await peer.send(*(answer(question["id"], result=mallory) for _ in range(50)))
        assert text_of(await peer.receive()) == "nobody"
        await peer.send(*(answer(question["id"], result=mallory) for _ in range(50)))
        assert await peer.end() == []


async def test_answers_to_what_another_call_asks_do_not_help(autojump_clock: Any) -> None:
    async with session(Served().make_suite()) as client:
        peer = client.peer
        await peer.send(call(1, "greet"), call(2, "greet"))
        one, two = await receive_question(peer), await receive_question(peer)
        await peer.send(answer(two["id"], result={"action": "cancel"}))
        ended = await peer.receive()
        assert text_of(ended) == "nobody"
        await peer.send(answer(two["id"], result={"action": "cancel"}))
        await wait_all_tasks_blocked()
        await peer.send(answer(one["id"], result=accept(name="Ada")))
        assert (await receive_question(peer))["params"]["message"] == "Last name?"


# -- cancelled ---------------------------------------------------------------------


async def test_a_cancelled_call_writes_nothing_more(autojump_clock: Any) -> None:
    served = Served()
    async with session(served.make_suite()) as client:
        await client.peer.send(call(1, "work", token="p"), call("1", "wait"))
        for _ in range(2):
            assert "id" not in await client.peer.receive()
        await client.peer.send(cancelled(1))
        await wait_all_tasks_blocked()
        assert (served.work.cancelled, served.wait.cancelled) == (1, 0)
        served.work.finish.set()
        served.wait.finish.set()
        assert (await client.peer.receive())["id"] == "1"
        assert await client.peer.end() == []


async def test_a_client_that_cancels_has_its_question_taken_back_and_no_answer(
    autojump_clock: Any,
) -> None:
    async with session(Served().make_suite()) as client:
        peer = client.peer
        await peer.send(call(1, "greet"))
        question = await receive_question(peer)
        await peer.send(cancelled(1), cancelled(1))
        taken_back = await peer.receive()
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"]["requestId"] == question["id"]
        await peer.send(answer(question["id"], result=accept(name="Ada")))
        assert await client.result("ping") == {}
        # The id is free again.
        await peer.send(call(1, "who"))
        assert (await peer.receive())["id"] == 1
        assert await peer.end() == []


async def test_questions_that_were_not_read_are_neither_asked_nor_taken_back(
    autojump_clock: Any,
) -> None:
    async with session(Served().make_suite(), lockstep=True) as client:
        peer = client.peer
        await peer.send(*(call(number, "ask_all") for number in range(20)))
        await wait_all_tasks_blocked()
        await peer.send(*(cancelled(number) for number in range(20)))
        await wait_all_tasks_blocked()
        await peer.send(request("after", "ping"))
        assert await peer.receive() == {"jsonrpc": "2.0", "id": "after", "result": {}}
        assert await peer.end() == []


async def test_an_answer_that_waits_to_be_written_can_be_cancelled(autojump_clock: Any) -> None:
    async with session(Served().make_suite(), lockstep=True) as client:
        await client.peer.send(call(1, "who"), call(2, "who"))
        await wait_all_tasks_blocked()
        await client.peer.send(cancelled(1))
        await wait_all_tasks_blocked()
        assert (await client.peer.receive())["id"] == 2
        assert await client.peer.end() == []


async def test_a_closing_that_waits_to_be_written_can_be_cancelled(autojump_clock: Any) -> None:
    class Closing(Tool, name="closing", description="Closes its own call."):
        async def call(self, request: Any, channel: Any) -> str:
            channel.close()
            await trio.sleep_forever()
            raise AssertionError

    suite = Suite(server_name="s", server_version="1", tools=[Closing])
    async with session(suite, lockstep=True) as client:
        await client.peer.send(call(1, "closing"), modern(2, name="closing"))
        await wait_all_tasks_blocked()
        await client.peer.send(cancelled(1), cancelled(2))
        await wait_all_tasks_blocked()
        assert await client.peer.end() == []


# -- how many ----------------------------------------------------------------------


async def test_open_questions_count_as_calls_and_are_bounded(autojump_clock: Any) -> None:
    # One more is open for the changes.
    async with session(Served().make_suite(), max_calls=11) as client:
        peer = client.peer
        await peer.send(*(call(number, "greet") for number in range(500)))
        messages = [await peer.receive() for _ in range(500)]
        questions = [message for message in messages if "method" in message]
        refused = [message["error"] for message in messages if "error" in message]
        assert (len(questions), len(refused)) == (10, 490)
        assert {error["data"]["setting"] for error in refused} == {"max_calls"}
        for question in questions:
            await peer.send(answer(question["id"], result=accept(name="Ada")))
        # Between two questions nobody else can take their place.
        await peer.send(*(call(1_000 + number, "greet") for number in range(20)))
        later = [await peer.receive() for _ in range(30)]
        asked = [message["params"]["message"] for message in later if "method" in message]
        assert asked == ["Last name?"] * 10
        assert [message["error"]["code"] for message in later if "error" in message] == [
            refused[0]["code"]
        ] * 20
        await peer.send(*(cancelled(number) for number in range(500)))
        taken_back = [await peer.receive() for _ in range(10)]
        assert {message["method"] for message in taken_back} == {"notifications/cancelled"}
        assert "tools" in await client.result("tools/list")


async def test_questions_that_nobody_reads_are_bounded(autojump_clock: Any) -> None:
    async with session(Served().make_suite(), max_calls=11, lockstep=True) as client:
        await client.peer.send(*(call(number, "greet") for number in range(5_000)))
        await wait_all_tasks_blocked()
        assert trio.lowlevel.current_statistics().tasks_living < 100
        # Refusals wait for as long as they do, and then nothing more is read.
        await client.peer.ended.wait()


# -- the end -----------------------------------------------------------------------


async def test_end_of_input_cancels_everything_without_a_word(autojump_clock: Any) -> None:
    served = Served()
    async with session(served.make_suite()) as client:
        peer = client.peer
        await peer.send(call(1, "greet"), call(2, "ask_all"), call(3, "wait"))
        for _ in range(3):
            assert "id" in await peer.receive()
        await wait_all_tasks_blocked()
        before = trio.current_time()
        assert await peer.end() == []
        assert trio.current_time() - before < 1
    assert served.wait.cancelled == 1


async def test_stopped_it_waits_for_no_answers_and_says_so(autojump_clock: Any) -> None:
    stop = trio.Event()
    async with session(Served().make_suite(), stop=stop) as client:
        await client.peer.send(call(1, "greet"), call(2, "patient"))
        await receive_question(client.peer)
        before = trio.current_time()
        stop.set()
        ended = await client.peer.receive_rest()
        assert trio.current_time() - before < 1
    assert sorted(message["id"] for message in ended) == [1, 2]
    shut_down = {"code": -32603, "message": "The server is shutting down"}
    assert [message["error"] for message in ended] == [shut_down] * 2


async def test_stopped_it_begins_to_ask_nobody(autojump_clock: Any) -> None:
    class Late(Tool, name="late", description="Asks after a while."):
        async def call(self, request: Any, channel: Any) -> Any:
            await trio.sleep(5)
            return InputRequired({"folders": list_roots()})

    stop = trio.Event()
    suite = Suite(server_name="s", server_version="1", tools=[Late])
    async with session(suite, stop=stop, grace_seconds=60) as client:
        await client.peer.send(call(1, "late"))
        await wait_all_tasks_blocked()
        stop.set()
        [ended] = await client.peer.receive_rest()
    assert (ended["id"], ended["error"]["code"]) == (1, -32603)


async def test_stopped_it_lets_calls_finish_that_ask_nothing(autojump_clock: Any) -> None:
    served, stop = Served(), trio.Event()
    async with session(served.make_suite(), stop=stop, grace_seconds=60) as client:
        await client.peer.send(call(1, "wait"))
        await wait_all_tasks_blocked()
        stop.set()
        await trio.sleep(5)
        served.wait.finish.set()
        [answered] = await client.peer.receive_rest()
    assert text_of(answered) == "waited"


# -- in any order ------------------------------------------------------------------

steps = st.one_of(
    st.tuples(st.just("call"), st.sampled_from(["greet", "ask_all", "who", "work", "wait"])),
    st.tuples(st.just("cancel"), st.integers(0, 9)),
    st.tuples(st.just("answer"), st.sampled_from(["accept", "error", "broken"])),
    st.tuples(st.just("bogus"), st.integers(0, 9)),
    st.tuples(st.just("read"), st.integers(1, 4)),
    st.tuples(st.just("pause"), st.integers(1, 20)),
)


class Game:
    """A conversation as it goes.

    Attributes:
        tools: the tool that each id called.
        cancelled: the ids that were cancelled, answered before or not.
        heard: all that came.
        open: questions that can still be answered.
    """

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.tools: list[str] = []
        self.cancelled: set[int] = set()
        self.heard: list[dict[str, Any]] = []
        self.open: list[dict[str, Any]] = []

    async def hear(self) -> dict[str, Any]:
        message = await self.peer.receive()
        self.heard.append(message)
        if "id" in message and "method" in message:
            self.open.append(message)
        return message

    async def answer_one(self, how: str) -> None:
        question = self.open.pop()
        replies: dict[str, Any] = {
            "elicitation/create": accept(name="Ada"),
            "roots/list": {"roots": []},
            "sampling/createMessage": {
                "role": "assistant",
                "content": {"type": "text", "text": "hi"},
                "model": "m",
            },
        }
        response: dict[str, Any] = {
            "accept": {"result": replies[question["method"]]},
            "error": {"error": {"code": -1, "message": "no"}},
            "broken": {"result": 5},
        }[how]
        await self.peer.send(answer(question["id"], **response))

    async def take_step(self, kind: str, value: Any) -> None:
        match kind:
            case "call":
                number = len(self.tools)
                self.tools.append(value)
                await self.peer.send(call(number, value, token=number))
            case "cancel" if value < len(self.tools):
                self.cancelled.add(value)
                await self.peer.send(cancelled(value))
            case "answer" if self.open:
                await self.answer_one(value)
            case "bogus":
                await self.peer.send(answer(value, result={}), answer("genmcp-0", error={}))
            case "read":
                for _ in range(value):
                    with trio.move_on_after(0.01):
                        await self.hear()
            case "pause":
                for _ in range(value):
                    await trio.lowlevel.checkpoint()

    async def hear_until_silent(self) -> None:
        while True:
            with trio.move_on_after(5) as waiting:
                await self.hear()
            if waiting.cancelled_caught:
                return


async def play(plan: list[tuple[str, Any]]) -> tuple[Game, int]:
    """Return the game, and how much was heard when all cancellations had been read."""
    served = Served()
    async with session(served.make_suite(), lockstep=True) as client:
        game = Game(client.peer)
        for kind, value in plan:
            await game.take_step(kind, value)
        await client.peer.send(request("last", "ping"))
        while (await game.hear()).get("id") != "last":
            pass
        certain = len(game.heard)
        served.work.finish.set()
        served.wait.finish.set()
        await game.hear_until_silent()
        while game.open:
            await game.answer_one("error")
            await game.hear_until_silent()
        assert await client.peer.end() == []
    return game, certain


def concerned(message: dict[str, Any]) -> Any:
    """Return the id of the client's request that a message is about, if it says so."""
    if "method" not in message:
        return message["id"]
    return message["params"].get("progressToken") if "id" not in message else None


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=30))
def test_every_call_is_answered_once_or_was_cancelled(plan: list[tuple[str, Any]]) -> None:
    game, certain = trio.run(partial(play, plan), clock=MockClock(autojump_threshold=0))
    answers = Counter(message["id"] for message in game.heard if "method" not in message)
    assert max(answers.values()) == 1
    for number in range(len(game.tools)):
        assert number in game.cancelled or answers[number] == 1
    assert not game.cancelled & {concerned(message) for message in game.heard[certain:]}
    asked = Counter(m["id"] for m in game.heard if "method" in m and "id" in m)
    assert all(count == 1 for count in asked.values())
    taken_back = [
        message["params"]["requestId"]
        for message in game.heard
        if message.get("method") == "notifications/cancelled"
    ]
    # Nothing is taken back that was not asked, and nothing twice.
    assert len(set(taken_back)) == len(taken_back)
    assert set(taken_back) <= asked.keys()


async def test_a_provider_that_asks_for_ever_is_stopped(autojump_clock: Any) -> None:
    class Endless(Tool, name="endless", description="Never has enough."):
        async def call(self, request: Any, channel: Any) -> Any:
            return InputRequired(client_state=(channel.answers.client_state or 0) + 1)

    suite = Suite(server_name="s", server_version="1", tools=[Endless])
    async with session(suite) as client:
        await client.peer.send(call(1, "endless"))
        assert "more than 100 times" in (await client.peer.receive())["error"]["message"]
