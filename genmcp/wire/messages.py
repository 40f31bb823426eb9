"""JSON-RPC messages: the envelope read, checked and written.

Layer: wire. `read_message` looks at the envelope only, `decode_request` at the
parameters; the transport checks its headers in between. Writers give one line of
JSON text, ready for an HTTP body, an SSE event or a line on stdout.

Spec: basic/index#messages
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import attrs

from genmcp.errors import InvalidParams, InvalidRequest, McpError
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.unset import UNSET
from genmcp.mcp.v2607.fields import make_checked
from genmcp.value import Value
from genmcp.wire.codec import DecodeError, decode_with, encode, path_text
from genmcp.wire.json_kinds import OBJECT
from genmcp.wire.json_text import write_json
from genmcp.wire.members import members_of
from genmcp.wire.scalars import describe
from genmcp.wire.structure import hook_for

if TYPE_CHECKING:
    from genmcp.mcp.v2607 import RequestId
    from genmcp.wire.scalars import Hook

_last_list: tuple[mcp.Result | None, bytes] = (None, b"")
_NO_PARAMS: Final = "params: required, but missing; every request carries params._meta"


@attrs.frozen(eq=False, repr=False)
class RequestMessage(Value):
    """A well-formed request. What its method wants of `params` is not checked yet."""

    id: RequestId
    method: str
    params: dict[str, Any] | None = None


@attrs.frozen(eq=False, repr=False)
class NotificationMessage(Value):
    """A well-formed notification."""

    method: str
    params: dict[str, Any] | None = None


class MessageError(Exception):
    """A JSON value is not one JSON-RPC request or notification.

    Attributes:
        error: what the sender is told, -32600.
        request_id: the id to answer under, or None if there was no usable one.
    """

    def __init__(self, error: InvalidRequest, request_id: RequestId | None) -> None:
        super().__init__(error.message)
        self.error = error
        self.request_id = request_id


# -- reading ---------------------------------------------------------------------


def read_message(value: Any) -> RequestMessage | NotificationMessage:
    """Read the envelope of one message.

    Raises:
        MessageError: it is not one request or notification. Wire form: -32600,
            HTTP 400, under the message's id if it has a usable one.
    """
    if type(value) is list:
        raise _refuse("Batches are not part of the protocol: send one message at a time")
    if type(value) is not OBJECT:
        raise _refuse(f"A message must be a JSON object, got {describe(value)}")
    message: dict[str, Any] = value
    if message.get("method") is None and ("result" in message or "error" in message):
        # Its id names a request of ours, and there are none: not echoed.
        raise _refuse("This server sends no requests, so it takes no responses")
    request_id = message.get("id")
    usable_id = request_id if type(request_id) is str or type(request_id) is int else None
    problem = _envelope_problem(message)
    if problem is not None:
        raise _refuse(problem, usable_id)
    method: str = message["method"]
    params: dict[str, Any] | None = message.get("params")
    if usable_id is None:
        return NotificationMessage(method, params)
    return RequestMessage(usable_id, method, params)


def _envelope_problem(message: dict[str, Any]) -> str | None:
    if message.get("jsonrpc") != mcp.JSONRPC_VERSION:
        return 'The member "jsonrpc" must be "2.0"'
    if "id" in message:
        request_id = message["id"]
        if request_id is None:
            return 'The "id" of a request must not be null; a notification has none'
        if type(request_id) is not str and type(request_id) is not int:
            return f'The "id" of a request must be a string or an integer, got {_kind(request_id)}'
    if "method" not in message:
        return 'The member "method" is required'
    if type(message["method"]) is not str:
        return f'The member "method" must be a string, got {describe(message["method"])}'
    if "params" in message and type(message["params"]) is not dict:
        return f'The member "params" must be an object, got {describe(message["params"])}'
    return None


def _kind(value: Any) -> str:
    return "a number with a fraction or an exponent" if type(value) is float else describe(value)


def _refuse(problem: str, request_id: RequestId | None = None) -> MessageError:
    return MessageError(InvalidRequest(problem), request_id)


def decode_request(method: str, params: dict[str, Any] | None) -> mcp.Request:
    """Read the parameters of a request as the class of its method.

    A method the vocabulary does not have gives an `UnknownRequest`, unchecked.

    Raises:
        InvalidParams: they have not the form of the method's parameters. Wire form:
            -32602, `data: {"path": "params.name"}`.
    """
    cls: Any = mcp.REQUESTS.get(method)
    if cls is None:
        return mcp.UnknownRequest(method, params if params is not None else {})
    if params is None:
        raise InvalidParams(_NO_PARAMS, data={"path": "params"})
    request: mcp.Request = make_checked(cls, params=_decode_params(cls, params))
    return request


def decode_notification(method: str, params: dict[str, Any] | None) -> mcp.ClientNotification:
    """Read a notification of a client.

    Raises:
        InvalidParams: it is `notifications/cancelled` without a usable request id.
            Nothing can be answered to a notification; HTTP may say 400.
    """
    if method != mcp.CancelledNotification.method:
        return mcp.UnknownNotification(method, params if params is not None else {})
    if params is None:
        raise InvalidParams("params: required, but missing", data={"path": "params"})
    return mcp.CancelledNotification(params=_decode_params(mcp.CancelledNotification, params))


def _decode_params(cls: type, params: dict[str, Any]) -> Any:
    try:
        return decode_with(_params_hook(cls), params)
    except DecodeError as error:
        path = ("params", *error.path)
        raise InvalidParams(
            f"{path_text(path)}: {error.problem}", data={"path": path_text(path)}
        ) from None


@functools.cache
def _params_hook(cls: type) -> Hook:
    return hook_for(members_of(cls)["params"].type)


# -- writing ---------------------------------------------------------------------


def write_result(request_id: RequestId, result: mcp.Result) -> bytes:
    """Write a result in its envelope.

    Raises:
        EncodeError: it holds something that is not JSON; paths start in the result.
    """
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (
        b"%d" % request_id if type(request_id) is int else write_json(request_id),
        _write_members(result),
    )


def _write_members(result: mcp.Result) -> bytes:
    if type(result) is not mcp.ListToolsResult or type(result.tools) is not tuple:
        return write_json(encode(result))
    # A suite gives one and the same list of its tools again and again; as a tuple, which
    # authors do not get to see, for what is built has lists, and these can be changed.
    # Both in one: another thread may write in between.
    global _last_list  # noqa: PLW0603 - the last of the process, whoever gave it
    known, text = _last_list
    if known is not result:
        text = write_json(encode(result))
        _last_list = (result, text)
    return text


def write_error(request_id: RequestId | None, error: McpError) -> bytes:
    """Write an error in its envelope; without an id when none could be read.

    Raises:
        EncodeError: its data is not JSON.
    """
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not UNSET:
        body["data"] = error.data
    written = write_json(body)
    if request_id is None:
        return b'{"jsonrpc":"2.0","error":%b}' % written
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (write_json(request_id), written)


def write_notification(notification: mcp.Notification) -> bytes:
    """Write a notification in its envelope.

    Raises:
        EncodeError: it holds something that is not JSON; paths start with `params`.
    """
    return write_json({"jsonrpc": mcp.JSONRPC_VERSION, **encode(notification)})
