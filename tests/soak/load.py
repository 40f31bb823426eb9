"""What the clients of a soak do: all at the same time, each as fast as it can."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import attrs
import trio

from tests.fuzz.attack import carry_out, judge_heard, plan
from tests.fuzz.corpus import make_call, make_corpus, make_message, render_post
from tests.fuzz.target import Canary, CanaryError

_CALLS_PER_CONNECTION = 50
_CLIENTS_OF_A_KIND = 4


@attrs.define
class Load:
    """Uses and misuses the server at a port.

    Attributes:
        port: where it listens.
        dice: decides what is left to chance.
        done: how often each kind of client has done what it does.
        attacks: how many attacks there were.
    """

    port: int
    dice: random.Random
    seed: int
    done: Counter[str] = attrs.field(factory=Counter[str])
    attacks: int = 0

    async def run(self, seconds: float) -> None:
        """Run all kinds of clients for so long.

        Raises:
            CanaryError: a good client was not served as it should be.
            WrongAnswerError: any client was answered what it should not be.
        """
        corpus = make_corpus()
        kinds: list[Callable[[], Awaitable[None]]] = [
            self._use_a_connection,
            self._follow_progress,
            self._listen,
            self._answer_questions,
            self._leave_at_any_time,
            self._stop_reading,
        ]
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                for kind in kinds * _CLIENTS_OF_A_KIND:
                    nursery.start_soon(self._go_on, kind)
                for _ in range(2 * _CLIENTS_OF_A_KIND):
                    nursery.start_soon(self._go_on_attacking, corpus)

    async def _go_on(self, kind: Callable[[], Awaitable[None]]) -> None:
        while True:
            await kind()
            self.done[kind.__name__.lstrip("_")] += 1

    async def _go_on_attacking(self, corpus: list[bytes]) -> None:
        while True:
            self.attacks += 1
            attack = plan(self.seed, self.attacks, corpus)
            heard = await carry_out(attack, self.port)
            judge_heard(attack, heard)
            self.done["attack"] += 1

    # -- those who do right --------------------------------------------------------

    async def _use_a_connection(self) -> None:
        client = await Canary.connect(self.port)
        async with client.stream:
            for number in range(_CALLS_PER_CONNECTION):
                answer = await client.ask(render_post(make_call("add", number, a=number, b=1)))
                _expect(answer, number, str(number + 1))
                self.done["call"] += 1

    async def _follow_progress(self) -> None:
        client = await Canary.connect(self.port)
        async with client.stream:
            await client.stream.send_all(render_post(make_count(50)))
            steps = [one async for one in client.read_events()]
        *progress, last = steps
        if [one["params"]["progress"] for one in progress] != list(range(1, 51)):
            raise CanaryError(f"progress came as {progress}")
        _expect(last, 1, "counted")

    async def _listen(self) -> None:
        listener = await Canary.connect(self.port)
        listen = make_message("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        methods: list[str] = []
        async with listener.stream, aclosing(listener.read_events()) as messages:
            await listener.stream.send_all(render_post(listen))
            publisher = await Canary.connect(self.port)
            async with publisher.stream:
                async for message in messages:
                    methods.append(message["method"])
                    if len(methods) > 5:
                        break
                    _expect(await publisher.ask(render_post(make_call("publish"))), 1, "published")
        if set(methods[1:]) != {"notifications/tools/list_changed"}:
            raise CanaryError(f"a listener heard {methods}")

    async def _answer_questions(self) -> None:
        client = await Canary.connect(self.port)
        async with client.stream:
            asked = await client.ask(render_post(make_call("ask")))
            result = asked["result"]
            again = make_call("ask")
            again["params"]["inputResponses"] = {
                "sure": {"action": "accept", "content": {"sure": True}}
            }
            if "requestState" in result:
                again["params"]["requestState"] = result["requestState"]
            _expect(await client.ask(render_post(again)), 1, "sure")

    # -- those who leave -------------------------------------------------------------

    async def _leave_at_any_time(self) -> None:
        message = self.dice.choice([make_count(1000), make_call("wait", seconds=60)])
        request = render_post(message)
        stream = await trio.open_tcp_stream("127.0.0.1", self.port)
        async with stream:
            await stream.send_all(request[: self.dice.randint(1, len(request))])
            with trio.move_on_after(self.dice.choice([0, 0.001, 0.02, 0.1])):
                while await stream.receive_some():
                    pass

    async def _stop_reading(self) -> None:
        stream = await trio.open_tcp_stream("127.0.0.1", self.port)
        async with stream:
            await stream.send_all(render_post(make_call("large", size=5_000_000)))
            await stream.receive_some(1000)
            await trio.sleep(self.dice.choice([0, 0.1, 1]))


def make_count(steps: int, *, pause: float = 0) -> dict[str, Any]:
    """Return a call that reports so many steps."""
    params = {
        "name": "count",
        "arguments": {"steps": steps, "pause": pause},
        "_meta": {"progressToken": "t"},
    }
    return make_message("tools/call", params)


def _expect(answer: dict[str, Any], request_id: object, text: str) -> None:
    content = answer.get("result", {}).get("content")
    if answer.get("id") != request_id or content != [{"type": "text", "text": text}]:
        raise CanaryError(f"{text!r} was expected, and the answer was {str(answer)[:500]}")
