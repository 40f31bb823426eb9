"""The messages of 2025: requests and notifications, and the responses clients send.

Layer: legacy, pure. What is a message stands in `genmcp.wire.messages`.

Spec: 2025-11-25 basic/transports#sending-messages-to-the-server
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import attrs

from genmcp.errors import InvalidRequest
from genmcp.mcp import v2607 as mcp
from genmcp.value import Value
from genmcp.wire.messages import MessageError, read_message

if TYPE_CHECKING:
    from genmcp.wire.messages import NotificationMessage, RequestMessage


@attrs.frozen(eq=False, repr=False)
class ResponseMessage(Value):
    """A client's answer to a request of the server.

    Attributes:
        id: of that request.
        response: the whole message.
    """

    id: mcp.RequestId
    response: dict[str, Any]


def read_legacy_message(value: Any) -> RequestMessage | NotificationMessage | ResponseMessage:
    """Read the envelope of one message.

    Raises:
        MessageError: it is none.
    """
    if not isinstance(value, dict) or "method" in value:
        return read_message(value)
    message = cast("dict[str, Any]", value)
    if "result" not in message and "error" not in message:
        return read_message(message)
    if message.get("jsonrpc") != mcp.JSONRPC_VERSION:
        raise MessageError(InvalidRequest('The member "jsonrpc" must be "2.0"'), None)
    if "result" in message and "error" in message:
        problem = "A response has either a result or an error, not both"
        raise MessageError(InvalidRequest(problem), None)
    response_id = message.get("id")
    if type(response_id) is not str and type(response_id) is not int:
        problem = 'The "id" of a response must be that of the request it answers'
        raise MessageError(InvalidRequest(problem), None)
    return ResponseMessage(response_id, message)
