"""The protocol's errors as they are written, with the shape of their data.

Layer: vocabulary. Servers raise the exceptions of `genmcp.errors`; the classes
here are for clients and tests. The first five describe the `error` member, the
last three the whole response, as in the specification. The codes are in `error_codes`.
Spec: basic/index#error-codes
"""

from collections.abc import Sequence
from typing import Literal

import attrs

from genmcp.mcp.v2607.capabilities import ClientCapabilities
from genmcp.mcp.v2607.error_codes import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from genmcp.mcp.v2607.fields import WireObject, checked, required
from genmcp.mcp.v2607.jsonrpc import Error, JSONRPCErrorResponse


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ParseError(Error):
    """The text was not JSON."""

    code: Literal[-32700] = attrs.field(default=PARSE_ERROR, metadata=required())


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class InvalidRequestError(Error):
    """The JSON was not a request."""

    code: Literal[-32600] = attrs.field(default=INVALID_REQUEST, metadata=required())


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class MethodNotFoundError(Error):
    """The method is unknown, or its capability not offered."""

    code: Literal[-32601] = attrs.field(default=METHOD_NOT_FOUND, metadata=required())


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class InvalidParamsError(Error):
    """The parameters were wrong."""

    code: Literal[-32602] = attrs.field(default=INVALID_PARAMS, metadata=required())


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class InternalError(Error):
    """The server failed."""

    code: Literal[-32603] = attrs.field(default=INTERNAL_ERROR, metadata=required())


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class HeaderMismatchErrorObject(Error):
    """The `error` member of a `HeaderMismatchError`."""

    code: Literal[-32020] = attrs.field(default=HEADER_MISMATCH, metadata=required())


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class HeaderMismatchError(JSONRPCErrorResponse):
    """A header did not say what the body says."""

    error: HeaderMismatchErrorObject


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class MissingRequiredClientCapabilityErrorData(WireObject):
    """What the client would have to declare: only what is missing."""

    required_capabilities: ClientCapabilities


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class MissingRequiredClientCapabilityErrorObject(Error):
    """The `error` member of a `MissingRequiredClientCapabilityError`."""

    code: Literal[-32021] = attrs.field(
        default=MISSING_REQUIRED_CLIENT_CAPABILITY, metadata=required()
    )
    # Required, where other errors can do without.
    data: MissingRequiredClientCapabilityErrorData  # pyright: ignore[reportGeneralTypeIssues]


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class MissingRequiredClientCapabilityError(JSONRPCErrorResponse):
    """The request needs what the client did not declare."""

    error: MissingRequiredClientCapabilityErrorObject


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class UnsupportedProtocolVersionErrorData(WireObject):
    """Which versions are served, and which was asked for."""

    supported: Sequence[str]
    requested: str


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class UnsupportedProtocolVersionErrorObject(Error):
    """The `error` member of an `UnsupportedProtocolVersionError`."""

    code: Literal[-32022] = attrs.field(default=UNSUPPORTED_PROTOCOL_VERSION, metadata=required())
    # As above.
    data: UnsupportedProtocolVersionErrorData  # pyright: ignore[reportGeneralTypeIssues]


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class UnsupportedProtocolVersionError(JSONRPCErrorResponse):
    """The protocol version is not served here."""

    error: UnsupportedProtocolVersionErrorObject
