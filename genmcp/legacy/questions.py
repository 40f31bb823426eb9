"""What a provider asks with `InputRequired`, as requests of the server.

Layer: legacy, pure. Today a client retries its call with the answers. In 2025 the server
sends each question as a request of its own, with an id, on the stream of the call (over
stdio, between all other lines), and the client sends the answer.

Spec: 2025-11-25 client/elicitation, client/sampling, client/roots
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from genmcp.errors import InternalError
from genmcp.legacy.versions import JUNE
from genmcp.mcp import v2607 as mcp
from genmcp.value import Value
from genmcp.wire.codec import encode
from genmcp.wire.json_text import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_QUESTION_ID: Final = re.compile(r"genmcp-([A-Za-z0-9_-]*)\.[0-9a-f]{24}\Z")


class QuestionFailed(InternalError):
    """The client was asked, or would have been, and there is no answer.

    Wire form: for a tool, a result with `isError`; otherwise -32603.
    """


@attrs.frozen(eq=False, repr=False)
class Question(Value):
    """One question, ready to be sent.

    Attributes:
        key: what the provider asked it under.
        id: of the request; unlike any other, so that no answer fits by chance.
        method: what is asked.
        params: what is asked, in the wire form of the client's version.
    """

    key: str
    id: str
    method: str
    params: dict[str, Any] | None

    def write(self) -> bytes:
        """Write the request."""
        params = {} if self.params is None else {"params": self.params}
        return write_json(
            {"jsonrpc": mcp.JSONRPC_VERSION, "id": self.id, "method": self.method, **params}
        )

    def write_cancellation(self, reason: str) -> bytes:
        """Write the notification that takes the question back."""
        params = {"requestId": self.id, "reason": reason}
        return write_json(
            {
                "jsonrpc": mcp.JSONRPC_VERSION,
                "method": mcp.CancelledNotification.method,
                "params": params,
            }
        )

    def read_answer(self, response: Mapping[str, Any]) -> Any:
        """Return what the client answered, as its retry would say it today.

        Raises:
            QuestionFailed: it answered with an error. A user who is not asked has
                cancelled; a model or folders that are refused leave nothing to go on with.
        """
        if "error" not in response:
            return response.get("result")
        if self.method == mcp.ElicitRequest.method:
            return {"action": "cancel"}
        error = response["error"]
        said: Any = cast("dict[str, Any]", error).get("message") if isinstance(error, dict) else ""
        raise QuestionFailed(f"The client refused {self.method}: {str(said)[:200]}")


def translate_questions(
    asked: Mapping[str, mcp.InputRequest], version: str, reach: str = ""
) -> tuple[Question, ...]:
    """Return questions as requests of `version`.

    Args:
        asked: the questions.
        version: the session's.
        reach: where their answers can be taken; see `SessionStore.reach`.

    Raises:
        QuestionFailed: that version cannot ask one of them.
    """
    return tuple(_translate(key, question, version, reach) for key, question in asked.items())


def is_within_reach(question_id: mcp.RequestId, reach: str) -> bool:
    """Tell whether the answer to a question can be taken here, if it is one of ours."""
    if not isinstance(question_id, str):
        return True
    found = _QUESTION_ID.match(question_id)
    return found is None or found[1] == reach


def _translate(key: str, question: mcp.InputRequest, version: str, reach: str) -> Question:
    wire: dict[str, Any] = encode(question)
    params: dict[str, Any] | None = wire.get("params")
    match question:
        case mcp.ElicitRequest(params=mcp.ElicitRequestURLParams()):
            params = {**(params or {}), "elicitationId": secrets.token_urlsafe(16)}
        case mcp.ElicitRequest() if version == JUNE:
            params = _simplify_form(params or {})
        case mcp.CreateMessageRequest() if version == JUNE:
            params = _simplify_sampling(params or {})
        case _:
            pass
    question_id = f"genmcp-{reach}.{secrets.token_hex(12)}"
    return Question(key, question_id, question.method, params)


# -- 2025-06-18 ------------------------------------------------------------------


def _simplify_form(params: dict[str, Any]) -> dict[str, Any]:
    schema = {name: v for name, v in params["requestedSchema"].items() if name != "$schema"}
    schema["properties"] = {
        name: _simplify_field(name, field) for name, field in schema["properties"].items()
    }
    return {"message": params["message"], "requestedSchema": schema}


def _simplify_field(name: str, field: dict[str, Any]) -> dict[str, Any]:
    if field["type"] == "array":
        raise QuestionFailed(
            f"The client's protocol version, {JUNE}, has no field of several choices: {name}"
        )
    simple = dict(field)
    if field["type"] != "boolean":
        simple.pop("default", None)
    options: list[dict[str, str]] | None = simple.pop("oneOf", None)
    if options is not None:
        simple["enum"] = [option["const"] for option in options]
        simple["enumNames"] = [option["title"] for option in options]
    return simple


def _simplify_sampling(params: dict[str, Any]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for message in params["messages"]:
        content = message["content"]
        several = isinstance(content, list)
        blocks = cast("list[dict[str, Any]]", content if several else [content])
        for block in blocks:
            if block.get("type") not in {"text", "image", "audio"}:
                raise QuestionFailed(
                    f"The client's protocol version, {JUNE}, has no {block.get('type')} in a prompt"
                )
            # One block each: a message of several is several messages.
            messages.append({**message, "content": block})
    return {**params, "messages": messages}
