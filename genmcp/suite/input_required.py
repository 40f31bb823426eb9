"""Input required: asking the client, and knowing one's own questions again.

Layer: suite. A provider that returns `InputRequired` is asked again later, in
another request, perhaps in another process. What was asked, what was answered so
far and what the provider wants to remember travel with the client as
`requestState`, sealed, and bound to the method, the target and the arguments of
the call they belong to, and to whoever made it. The request's id, its `_meta` and
the answers are not bound: they differ in the retry.

Answers without a state are taken too, since a client may know beforehand what will
be asked; the provider reads them by the kind it would have asked for.

Spec: basic/patterns/mrtr
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import attrs
import orjson

from genmcp.answers import Answers
from genmcp.errors import InvalidParams, TokenError
from genmcp.mcp import v2607 as mcp
from genmcp.suite.client_capabilities import check_capabilities, needs_of
from genmcp.value import Value
from genmcp.wire.codec import DecodeError, decode, encode
from genmcp.wire.json_text import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from genmcp.channel import Channel
    from genmcp.outcome import InputRequired

_PURPOSE: Final = "request state"
TTL_SECONDS: Final = 20 * 60
"""How long a client may take to answer."""


@attrs.frozen(eq=False, repr=False)
class Conversation(Value):
    """Questions and answers of one call, over all its requests.

    Attributes:
        method, target, arguments: the call, which the state is bound to.
        channel: the request's channel; its `answers` are set by `resume`.
    """

    method: str
    target: str
    arguments: Mapping[str, Any] | None
    channel: Channel

    def resume(self, params: mcp.InputResponseRequestParams) -> mcp.InputRequiredResult | None:
        """Put the answers so far on the channel; ask again for those that are missing.

        Returns:
            What to answer at once, if something that was asked is not answered.

        Raises:
            InvalidParams: the state is not one this call was given, or an answer
                is not of the kind that was asked for.
        """
        given = params.input_responses or {}
        if params.request_state is None:
            if given:
                self.channel.answers = Answers(given)
            return None
        state = self._unseal(params.request_state)
        asked: dict[str, Any] = state["asked"]
        answers: dict[str, Any] = state["answers"]
        # What was not asked for is ignored; only the server's own state tells.
        answers |= {key: _check(key, given[key], asked[key]) for key in asked if key in given}
        self.channel.answers = Answers(answers, state["client"])
        missing = {key: question for key, question in asked.items() if key not in answers}
        if not missing:
            return None
        questions = {key: decode(_find_kinds(q)[0], q) for key, q in missing.items()}
        return self._ask(questions, answers, state["client"])

    def ask(self, required: InputRequired) -> mcp.InputRequiredResult:
        """Return the result that asks, its state sealed.

        Raises:
            MissingRequiredClientCapability: it asks for what the client did not
                declare on this request.
            EncodeError: the state is not JSON.
        """
        answers = {
            key: answer
            for key, answer in self.channel.answers.items()
            if key not in required.requests
        }
        return self._ask(required.requests, answers, required.client_state)

    def _ask(
        self,
        questions: Mapping[str, mcp.InputRequest],
        answers: Mapping[str, Any],
        client_state: Any,
    ) -> mcp.InputRequiredResult:
        check_capabilities(needs_of(questions.values()), self.channel.client_capabilities)
        state = {
            "asked": {key: encode(question) for key, question in questions.items()},
            "answers": dict(answers),
            "client": client_state,
        }
        token = self.channel.keyring.seal(
            _PURPOSE, write_json(state), ttl_seconds=TTL_SECONDS, bound_to=self._bound_to()
        )
        return mcp.InputRequiredResult(input_requests=dict(questions) or None, request_state=token)

    def _unseal(self, token: str) -> dict[str, Any]:
        try:
            sealed = self.channel.keyring.unseal(_PURPOSE, token, bound_to=self._bound_to())
        except TokenError as error:
            refused = InvalidParams("requestState is not valid for this call")
            refused.log_message = f"requestState refused: {error.cause}"
            raise refused from None
        state: dict[str, Any] = orjson.loads(sealed)
        return state

    def _bound_to(self) -> bytes:
        # Clients may write the same arguments differently the second time.
        return orjson.dumps(
            [self.method, self.target, _canonical(self.arguments or {}), self.channel.principal],
            option=orjson.OPT_SORT_KEYS,
        )


def _check(key: str, answer: Any, question: Mapping[str, Any]) -> Any:
    """Return `answer` if it is of the kind that `question` asks for."""
    try:
        decode(_find_kinds(question)[1], answer)
    except DecodeError as error:
        raise InvalidParams(str(error.under("inputResponses", key))) from None
    return answer


def _find_kinds(question: Mapping[str, Any]) -> tuple[type[Any], type[mcp.InputResponse]]:
    """Return the classes of a question and of its answer."""
    kinds = (
        (mcp.ElicitRequest, mcp.ElicitResult),
        (mcp.CreateMessageRequest, mcp.CreateMessageResult),
        (mcp.ListRootsRequest, mcp.ListRootsResult),
    )
    [found] = [kind for kind in kinds if kind[0].method == question["method"]]
    return found


def _canonical(value: Any) -> Any:
    """Write numbers that are equal alike: `1.0` is `1`."""
    match value:
        case float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case dict():
            members = cast("dict[str, Any]", value)
            return {key: _canonical(item) for key, item in members.items()}
        case list():
            items = cast("list[Any]", value)
            return [_canonical(item) for item in items]
        case _:
            return value
