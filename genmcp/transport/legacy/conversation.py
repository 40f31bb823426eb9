"""One request of 2025: its calls, and the questions to the client in between.

Layer: transport, shell. Today a provider that needs an answer ends its call, and the
client calls again. Here the rim is that client: it sends the questions on the request's
own carrier, waits for the answers, and calls again, as often as the provider asks. All
the while it has one place among the open calls.

Spec: 2025-11-25 basic/transports#sending-messages-to-the-server, basic/utilities/cancellation
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from genmcp.errors import InternalError, LimitExceeded, McpError, Overloaded, describe_shutdown
from genmcp.legacy.questions import QuestionFailed, translate_questions
from genmcp.legacy.store import (
    AnswerCame,
    CancelWanted,
    SessionEnded,
    StreamRead,
    StreamResumed,
)
from genmcp.mux.patience import try_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from genmcp.caller import Caller
    from genmcp.legacy.questions import Question
    from genmcp.legacy.store import Signal
    from genmcp.mcp import v2607 as mcp
    from genmcp.mux import Mux
    from genmcp.mux.admission import Place
    from genmcp.transport.legacy.carrier import Carrier
    from genmcp.transport.legacy.sink import CallSink

ANSWER_SECONDS: Final = 600.0
"""How long a client may take to answer what it is asked; it is often a person who does."""

MAX_ROUNDS: Final = 100
"""How often one request may ask. A provider that asks for ever is a fault."""

_RETRY_SECONDS: Final = 1.0
_LAST_FRAME_SECONDS: Final = 1.0


class Conversation:
    """Answers one request.

    Args:
        mux: runs the calls.
        carrier: takes messages to the client.
        sink: where the events of its calls go.
        reach: where its questions can be answered; see `SessionStore.reach`.
    """

    def __init__(self, mux: Mux, carrier: Carrier, sink: CallSink, *, reach: str = "") -> None:
        self._mux = mux
        self._carrier = carrier
        self._sink = sink
        self._reach = reach
        self._request_id: mcp.RequestId | None = None
        self._unanswered: dict[mcp.RequestId, Question] = {}
        self._responses: dict[mcp.RequestId, Mapping[str, Any]] = {}
        self._news = trio.lowlevel.ParkingLot()
        self._cancelled = False
        self._stopping = False

    def receive(self, signal: Signal) -> None:
        """Take a signal of the session. Never raises."""
        match signal:
            case AnswerCame(question_id=question_id, response=response):
                if question_id in self._unanswered and question_id not in self._responses:
                    self._responses[question_id] = response
                    self._news.unpark_all()
            case CancelWanted(request_id=request_id):
                # 1 and "1", and True, are equal or alike, and not the same id.
                same_type = type(request_id) is type(self._request_id)
                if same_type and request_id == self._request_id:
                    self.cancel()
            case SessionEnded():
                self.cancel()
            case StreamResumed(stream=stream) | StreamRead(stream=stream):
                self._carrier.note_reader(stream)
            case _:
                pass

    def stop(self) -> None:
        """The server shuts down: wait for no more answers."""
        self._stopping = True
        self._news.unpark_all()

    def cancel(self) -> None:
        """Stop: nobody wants the answer any more. Repeatable."""
        # An answer that is on its way has won the race.
        if not self._carrier.done:
            self._cancelled = True
            self._carrier.scope.cancel()

    async def run(self, request: mcp.Request, caller: Caller) -> None:
        """Answer the request, or say that there is no room for it.

        Cancellation: see `run_in`.
        """
        try:
            place = self._mux.enter(caller)
        except (LimitExceeded, Overloaded) as error:
            await self._sink.fail(error)
            return
        await self.run_in(place, request, caller)

    async def run_in(self, place: Place, request: mcp.Request, caller: Caller) -> None:
        """Answer the request. Whoever calls this has the carrier forget it afterwards.

        Args:
            place: of the request among the open calls, as `Mux.enter` returned it; given
                back at the end.
            request: in today's terms.
            caller: who asks.

        Raises:
            ClientGone: the client has gone, and the carrier takes that for the end.

        Cancellation: its call is cancelled as if the client had wanted it.
        """
        self._request_id = caller.request_id
        try:
            with self._carrier.scope:
                await self._run_rounds(place, request, caller)
                return
            await try_for(_LAST_FRAME_SECONDS, self._end_cancelled)
        finally:
            place.leave()

    async def _end_cancelled(self) -> None:
        await self._take_back("The request was cancelled")
        await self._carrier.end()

    async def _run_rounds(self, place: Place, request: mcp.Request, caller: Caller) -> None:
        for _ in range(MAX_ROUNDS):
            call = self._mux.open(request, caller, self._sink, place)
            await self._carrier.run_call(call)
            asked, self._sink.asked = self._sink.asked, None
            if asked is None:
                await self._see_to_the_end(request)
                return
            try:
                answers = await self._ask(asked, caller)
            except McpError as error:
                await self._sink.fail(error)
                return
            request = _answer(request, asked, answers)
        await self._sink.fail(InternalError(f"The server asked more than {MAX_ROUNDS} times"))

    async def _see_to_the_end(self, request: mcp.Request) -> None:
        """Say something where the call was cut off, which only a shutdown does."""
        if self._carrier.done or self._cancelled:
            return
        if not self._mux.draining:
            raise RuntimeError(f"{request.method} ended without an answer")
        await try_for(_LAST_FRAME_SECONDS, self._sink.fail, describe_shutdown())

    # -- questions ---------------------------------------------------------------

    async def _ask(self, asked: mcp.InputRequiredResult, caller: Caller) -> dict[str, Any]:
        """Return the answers to what is asked, by key.

        Raises:
            QuestionFailed: the client refused, or was too slow.
        """
        if self._stopping:
            raise describe_shutdown()
        questions = translate_questions(
            asked.input_requests or {}, caller.protocol_version, self._reach
        )
        if not questions:
            # Nothing to ask: the provider only wants to be called again, later.
            with trio.move_on_after(_RETRY_SECONDS):
                await self._news.park()
            if self._stopping:
                raise describe_shutdown()
            return {}
        try:
            self._unanswered = {question.id: question for question in questions}
            for question in questions:
                await self._carrier.ask(question)
            return await self._collect(questions)
        except QuestionFailed as error:
            await self._take_back(error.message)
            raise
        finally:
            self._responses.clear()

    async def _collect(self, questions: Sequence[Question]) -> dict[str, Any]:
        answers: dict[str, Any] = {}
        deadline = trio.current_time() + ANSWER_SECONDS
        while True:
            for question in questions:
                response = self._responses.pop(question.id, None)
                if response is not None:
                    del self._unanswered[question.id]
                    answers[question.key] = question.read_answer(response)
            if not self._unanswered:
                return answers
            if self._stopping:
                raise describe_shutdown()
            await self._wait(deadline)

    async def _wait(self, deadline: float) -> None:
        now = trio.current_time()
        if now >= deadline:
            raise QuestionFailed(f"The client did not answer within {ANSWER_SECONDS:g} s")
        until = min(deadline, now + self._carrier.keepalive_seconds)
        with trio.move_on_at(until):
            await self._news.park()
            return
        if until < deadline:
            await self._carrier.comment()

    async def _take_back(self, reason: str) -> None:
        unanswered, self._unanswered = self._unanswered, {}
        for question in unanswered.values():
            await self._carrier.take_back(question, reason)


def _answer(
    request: mcp.Request, asked: mcp.InputRequiredResult, answers: dict[str, Any]
) -> mcp.Request:
    """Return the request as today's clients send it again, with their answers."""
    params = attrs.evolve(
        request.params, input_responses=answers or None, request_state=asked.request_state
    )
    again: mcp.Request = attrs.evolve(request, params=params)  # type: ignore[misc]
    return again
