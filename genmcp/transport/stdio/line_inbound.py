"""From one line of stdin to a request, a notification, or a refusal.

Layer: transport, pure; the station of a call between `genmcp.transport.stdio.connection`
and `genmcp.mux.call`. What `genmcp.transport.inbound` is for HTTP, without the headers:
all that a request says of itself is in the line.

The order of the checks is that of HTTP: size, JSON, one message, `_meta`, version served,
method served, params. What belongs to 2025 is told by one key, as there
(`genmcp.legacy.era`), and handed on as it is.

Spec: basic/transports/stdio#request-metadata, basic/versioning
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, cast

import attrs

from genmcp.caller import read_caller
from genmcp.errors import InvalidParams, InvalidRequest, McpError, MethodNotFound, ParseError
from genmcp.legacy.era import is_modern
from genmcp.legacy.messages import ResponseMessage, read_legacy_message
from genmcp.setting import describe_setting
from genmcp.transport.envelope import (
    SUPPORTED_VERSIONS,
    check_served,
    describe_unknown,
    read_meta,
)
from genmcp.transport.headers import RequestHeaders
from genmcp.transport.inbound import (
    BOTH_ERAS,
    ReceivedNotification,
    ReceivedRequest,
    Refusal,
)
from genmcp.transport.stdio.line_splitter import OverlongLine
from genmcp.value import Value
from genmcp.wire.json_text import TooDeepError, read_json
from genmcp.wire.messages import (
    MessageError,
    RequestMessage,
    decode_notification,
    decode_request,
    read_message,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from genmcp.limits import Limits
    from genmcp.mcp import v2607 as mcp
    from genmcp.transport.stdio.line_splitter import Line
    from genmcp.wire.messages import NotificationMessage

_NO_HEADERS: Final = RequestHeaders({}, {}, frozenset())

_NUMBER: Final = rb"0|-?[1-9][0-9]{0,17}"
_STRING: Final = rb'"[^"\\\x00-\x1f]{0,200}"'
_JSONRPC: Final = rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?'
_METHOD: Final = rb'"method"\s*:'
_ID: Final = rb'"id"\s*:\s*(?:(?P<number>%b)|(?P<string>%b))\s*,\s*' % (_NUMBER, _STRING)
_ID_FIRST: Final = re.compile(_JSONRPC + _ID + _METHOD)
_METHOD_FIRST: Final = re.compile(_JSONRPC + _METHOD + rb"\s*" + _STRING + rb"\s*,\s*" + _ID)


@attrs.frozen(eq=False, repr=False)
class Unanswerable(Value):
    """A message that nothing can be sent back for.

    Attributes:
        refusal: what is wrong with it, for the log.
    """

    refusal: Refusal


@attrs.frozen(eq=False, repr=False)
class ReceivedLegacyRequest(Value):
    """A request of a client of 2025, which `genmcp.transport.stdio.legacy_session` answers."""

    message: RequestMessage


Received: TypeAlias = (
    ReceivedRequest
    | ReceivedLegacyRequest
    | ReceivedNotification
    | ResponseMessage
    | Refusal
    | Unanswerable
)


def refuse_stranger(
    message: RequestMessage, supported: Sequence[str] = SUPPORTED_VERSIONS
) -> NoReturn:
    """Refuse a request that names no protocol version, and belongs to no session.

    Args:
        message: the request.
        supported: the protocol versions served.

    Raises:
        UnsupportedProtocolVersion: it is `initialize`. Wire form: -32022, naming the
            versions served.
        InvalidParams: it is anything else.

    Spec: basic/versioning#backward-compatibility-with-initialization-based-versions
    """
    read_meta(_NO_HEADERS, message, supported)
    raise AssertionError("a request that names its protocol version is no stranger's")


class LineInbound:
    """Reads the lines of one client.

    Args:
        methods: the methods that are answered, as `Server.methods` gives them.
        limits: how long a line, and how deep its JSON, may be.
        legacy: whether clients of 2025 are served, too. Then their responses are taken as
            well.

    Attributes:
        supported: the protocol versions that are served.
    """

    def __init__(
        self,
        methods: Collection[str],
        limits: Limits,
        *,
        legacy: bool = False,
    ) -> None:
        self._methods = frozenset(methods)
        self._max_line_bytes = limits.max_body_bytes
        self._max_json_depth = limits.max_json_depth
        self._legacy = legacy
        self.supported = BOTH_ERAS if legacy else SUPPORTED_VERSIONS

    def read_line(self, line: Line) -> Received:
        """Read one line. The statuses of refusals are those that HTTP would have."""
        if isinstance(line, OverlongLine):
            return self._refuse_size(line)
        try:
            value = read_json(line, max_depth=self._max_json_depth)
        except TooDeepError as error:
            data = describe_setting("max_json_depth", limit=error.max_depth)
            return Refusal(400, ParseError(f"{error.message} (max_json_depth)", data=data))
        except ParseError as error:
            return Refusal(400, error)
        is_response = _is_response(value)
        try:
            takes_it = is_response and self._legacy
            message = read_legacy_message(value) if takes_it else read_message(value)
        except MessageError as error:
            refusal = Refusal(400, error.error, error.request_id)
            # Two that answer each other's errors would do so for ever.
            return Unanswerable(refusal) if is_response else refusal
        match message:
            case RequestMessage():
                return self._read_request(message, modern=is_modern(value))
            case ResponseMessage():
                return message
            case _:
                return _read_notification(message)

    def _read_request(
        self, message: RequestMessage, *, modern: bool
    ) -> ReceivedRequest | ReceivedLegacyRequest | Refusal:
        if self._legacy and not modern:
            return ReceivedLegacyRequest(message)
        try:
            return self._decode(message) if modern else refuse_stranger(message)
        except MethodNotFound as error:
            return Refusal(404, error, message.id)
        except McpError as error:
            return Refusal(400, error, message.id)

    def _decode(self, message: RequestMessage) -> ReceivedRequest:
        meta = read_meta(_NO_HEADERS, message, self.supported)
        check_served(meta, self.supported)
        if message.method not in self._methods:
            raise MethodNotFound(describe_unknown(message.method))
        request = decode_request(message.method, message.params or {})
        caller = read_caller(message.id, request, meta, None)
        return ReceivedRequest(request, attrs.evolve(caller, scopes_apply=False))

    def _refuse_size(self, line: OverlongLine) -> Refusal:
        limit = self._max_line_bytes
        error = InvalidRequest(
            f"The line is longer than {limit} bytes (max_body_bytes)",
            data=describe_setting("max_body_bytes", limit=limit),
        )
        return Refusal(413, error, find_id(line.start))


def _is_response(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    message = cast("dict[str, Any]", value)
    return "method" not in message and ("result" in message or "error" in message)


def _read_notification(message: NotificationMessage) -> ReceivedNotification | Unanswerable:
    try:
        return ReceivedNotification(decode_notification(message.method, message.params))
    except InvalidParams as error:
        # As the page of cancellation wants those that are malformed to be treated.
        return Unanswerable(Refusal(400, error))


def find_id(start: bytes) -> mcp.RequestId | None:
    """Return the id of the request that a line begins with, if that is beyond doubt.

    A line that is too long is not read, but whoever sent it waits for an answer under this
    id, and would not know a refusal without it for the answer. Taken for an id is only what
    stands where clients write it, with `method` beside it: responses have ids too.
    """
    found = _ID_FIRST.match(start) or _METHOD_FIRST.match(start)
    if found is None:
        return None
    if found["number"] is not None:
        return int(found["number"])
    try:
        return cast("bytes", found["string"])[1:-1].decode("utf-8")
    except UnicodeDecodeError:
        return None
