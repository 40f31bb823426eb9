"""One request of 2025 from a stdio client, while it runs.

Layer: transport, shell. Made by `genmcp.transport.stdio.legacy_session` for each request.
What a request of 2025 does is told by `genmcp.transport.legacy.conversation`; here it is
carried by lines.

When it is cancelled nothing more is written for it. Only its questions, which are requests of
the server's own, are taken back, as far as the client has seen any.

Spec: 2025-11-25 basic/transports#stdio, basic/utilities/cancellation
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import trio

from genmcp.legacy.store import AnswerCame
from genmcp.mcp import v2607 as mcp
from genmcp.transport.legacy.carrier import Carrier
from genmcp.transport.legacy.conversation import Conversation
from genmcp.transport.legacy.sink import CallSink
from genmcp.transport.stdio.line_reply import render_line
from genmcp.transport.stdio.open_call import OpenCall
from genmcp.transport.stdio.output import Voice
from genmcp.transport.watch import NeverGone, run_watched

if TYPE_CHECKING:
    from genmcp.caller import Caller
    from genmcp.errors import McpError
    from genmcp.legacy.questions import Question
    from genmcp.mux import Call, Mux
    from genmcp.mux.admission import Place
    from genmcp.transport.legacy.carrier import WriteError
    from genmcp.transport.legacy.session_requests import SessionRequest
    from genmcp.transport.stdio.output import Output

OpenQuestions: TypeAlias = dict[mcp.RequestId, Callable[[AnswerCame], None]]
"""The questions that wait for their answers, by their ids, and who waits."""


class LineCarrier(Carrier):
    """Carries one request, a line for each message.

    Args:
        output: where the lines go.
        questions: where its questions stand while they wait for their answers.
        on_done: called when the answer has gone out.

    Attributes:
        voice: what writes for the request.
        leaving: whether the client is on its way out, and is told nothing more at all.
        receive: gets the answers; to be set before it carries anything.
    """

    receive: Callable[[AnswerCame], None]

    def __init__(
        self, output: Output, questions: OpenQuestions, on_done: Callable[[], None]
    ) -> None:
        self.scope = trio.CancelScope()
        self.done = False
        self.keepalive_seconds = math.inf
        self.voice = Voice(output)
        self.leaving = False
        self._output = output
        self._questions = questions
        self._asked: set[str] = set()
        self._on_done = on_done

    async def run_call(self, call: Call) -> None:
        """See `Carrier.run_call`."""
        await run_watched(call, NeverGone(), self.keepalive_seconds)

    async def open(self) -> None:
        """Do nothing: there is no stream to open."""
        await trio.lowlevel.checkpoint()

    async def comment(self) -> None:
        """Do nothing: there is no proxy to keep awake."""
        await trio.lowlevel.checkpoint()

    async def send(self, message: bytes) -> None:
        """See `Carrier.send`."""
        await self.voice.send(render_line(message))

    async def ask(self, question: Question) -> None:
        """See `Carrier.ask`."""
        # Before it is written: its answer may be faster than this task.
        self._asked.add(question.id)
        self._questions[question.id] = self.receive
        try:
            await self.send(question.write())
        except BaseException:
            # Nothing of it was written, so there is nothing to take back.
            self._strike_out(question.id)
            raise

    async def take_back(self, question: Question, reason: str) -> None:
        """See `Carrier.take_back`."""
        if self._strike_out(question.id) and not self.leaving:
            await self._output.send(render_line(question.write_cancellation(reason)))

    async def finish(self, message: bytes) -> None:
        """See `Carrier.finish`. An answer that waits for its turn can still be cancelled."""
        await self.send(message)
        self.done = True
        self._on_done()

    async def fail(self, error: McpError, write: WriteError) -> None:
        """See `Carrier.fail`."""
        await self.finish(write(error))

    async def end(self) -> None:
        """Do nothing: there is no stream to end."""
        await trio.lowlevel.checkpoint()

    async def forget(self) -> None:
        """See `Carrier.forget`."""
        for question_id in tuple(self._asked):
            self._strike_out(question_id)

    def _strike_out(self, question_id: str) -> bool:
        """Wait for the answer no more; return whether it was waited for."""
        self._asked.discard(question_id)
        return self._questions.pop(question_id, None) is not None


class LegacyCall(OpenCall):
    """Answers one request.

    Args:
        mux: runs its calls.
        place: of the request among the open ones.
        read: the request.
        caller: who asks.
        output: where the answer goes.
        questions: where its questions stand while they wait for their answers.
        on_end: called when no answer can be written for the request any more.
    """

    def __init__(
        self,
        mux: Mux,
        place: Place,
        read: SessionRequest,
        caller: Caller,
        *,
        output: Output,
        questions: OpenQuestions,
        on_end: Callable[[OpenCall], None],
    ) -> None:
        self.request_id = caller.request_id
        self._place = place
        self._request = read.request
        self._caller = caller
        self._output = output
        self._on_end = on_end
        self._carrier = LineCarrier(output, questions, lambda: on_end(self))
        sink = CallSink(self._carrier, self.request_id, read.request.method, read.translate)
        self._conversation = Conversation(mux, self._carrier, sink)
        self._carrier.receive = self._conversation.receive

    @property
    def owed(self) -> bool:
        """See `OpenCall.owed`."""
        silent = self._carrier.voice.silent
        return not (silent or self._carrier.done or self._output.gone.is_set())

    async def run(self) -> None:
        """See `OpenCall.run`."""
        try:
            await self._conversation.run_in(self._place, self._request, self._caller)
        finally:
            await self._carrier.forget()

    def cancel(self) -> None:
        """See `OpenCall.cancel`. Its questions are taken back."""
        self._carrier.voice.silence()
        self._on_end(self)
        self._conversation.cancel()

    def abandon(self) -> None:
        """See `OpenCall.abandon`."""
        self._carrier.leaving = True
        self.cancel()

    def stop(self) -> None:
        """See `OpenCall.stop`: the answers to its questions."""
        self._conversation.stop()
