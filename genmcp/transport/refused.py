"""Why a request was refused, in one word.

Layer: transport, pure. Wherever a `Refusal` is made, its status and its error say nearly
always why; this reads it from them, for whoever sends it to tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from genmcp.errors import (
    InvalidParams,
    MethodNotFound,
    ParseError,
    UnsupportedProtocolVersion,
)
from genmcp.telemetry import RefusalReason, RequestRefused, find_reason

if TYPE_CHECKING:
    from genmcp.transport.inbound import Refusal

_BY_ERROR: Final = {
    MethodNotFound: RefusalReason.METHOD,
    ParseError: RefusalReason.PARSE,
    UnsupportedProtocolVersion: RefusalReason.VERSION,
}

_BY_STATUS: Final = {
    401: RefusalReason.UNAUTHORIZED,
    403: RefusalReason.FORBIDDEN,
    404: RefusalReason.PATH,
    405: RefusalReason.VERB,
    408: RefusalReason.TIMEOUT,
    413: RefusalReason.TOO_LARGE,
    415: RefusalReason.CONTENT_TYPE,
    429: RefusalReason.LIMIT,
    500: RefusalReason.CRASH,
    503: RefusalReason.OVERLOADED,
}


def describe_refusal(refusal: Refusal) -> RequestRefused:
    """Return what is told of `refusal`."""
    return RequestRefused(
        status=refusal.status,
        code=refusal.error.code,
        reason=read_reason(refusal),
        request_id=refusal.request_id,
    )


def read_reason(refusal: Refusal) -> RefusalReason:
    """Return why: as the refusal says, or else by its error, or else by its status."""
    if refusal.reason is not None:
        return refusal.reason
    if (told := find_reason(refusal.error)) is not None:
        return told
    for kind, reason in _BY_ERROR.items():
        if isinstance(refusal.error, kind):
            return reason
    # Before the params: an application that refuses by its status means the caller.
    if refusal.status in _BY_STATUS:
        return _BY_STATUS[refusal.status]
    if isinstance(refusal.error, InvalidParams):
        return RefusalReason.META if _is_about_meta(refusal) else RefusalReason.PARAMS
    return RefusalReason.INVALID_REQUEST


def _is_about_meta(refusal: Refusal) -> bool:
    data: Any = refusal.error.data
    if not isinstance(data, dict):
        return False
    path: object = cast("dict[str, Any]", data).get("path")
    return isinstance(path, str) and path.startswith("params._meta")
