"""The JSON-RPC envelope around requests, notifications, results and errors.

Layer: vocabulary. The errors the protocol defines are in `jsonrpc_errors`.
Spec: basic/index#messages
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, TypeAlias

import attrs
from typing_extensions import TypeVar

from genmcp.mcp.unset import UNSET, Unset
from genmcp.mcp.v2607.base import RequestId
from genmcp.mcp.v2607.exchange import Result
from genmcp.mcp.v2607.fields import WireObject, checked

R = TypeVar("R", default=Result)


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class JSONRPCRequest(WireObject):
    """A request in its envelope."""

    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"
    id: RequestId
    method: str
    params: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class JSONRPCNotification(WireObject):
    """A notification in its envelope: no id."""

    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"
    method: str
    params: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class JSONRPCResultResponse(WireObject, Generic[R]):
    """A result in its envelope, such as `JSONRPCResultResponse[CallToolResult]`."""

    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"
    id: RequestId
    result: R


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class Error(WireObject):
    """What went wrong.

    Attributes:
        message: one concise sentence.
        data: any JSON value, null included; `UNSET` when absent.
    """

    code: int
    message: str
    data: Any | Unset = UNSET


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class JSONRPCErrorResponse(WireObject):
    """An error in its envelope; without an id when none could be read."""

    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"
    id: RequestId | None = None
    error: Error


JSONRPCResponse: TypeAlias = JSONRPCResultResponse[Result] | JSONRPCErrorResponse
JSONRPCMessage: TypeAlias = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse
