"""From bytes and headers to a request, or a refusal.

Layer: transport, pure; the station of a call between `genmcp.transport.endpoint` and
`genmcp.mux.call`. The endpoint calls `check_verb` and `check_head` when the head of a
request has arrived (and `genmcp.transport.sender` has nothing against who sent it), and
`read_body` when its body has; what comes back is a `Refusal` to send, a notification, a
request for the mux, or a message of 2025, for `genmcp.transport.legacy`. Nothing here
waits, reads or writes.

The order of the checks is the protocol's where it fixes one, and each answer depends
on it: a header that differs from the body is -32020 even if it names a version that
is not served, and a missing `_meta` is -32602 before any header is looked at.

    check_verb   the HTTP method
    check_head   type, encoding and declared length
    read_body    size, JSON, one message, `_meta`, version header, version served,
                 Mcp-Method, Mcp-Name (`genmcp.transport.envelope`), method served, params

Spec: basic/transports/streamable-http#sending-messages, and #server-validation
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from genmcp.caller import read_caller
from genmcp.errors import (
    InvalidParams,
    InvalidRequest,
    McpError,
    MethodNotFound,
    ParseError,
    UnsupportedProtocolVersion,
    describe_shutdown,
)
from genmcp.legacy import versions as legacy_versions
from genmcp.legacy.era import Route, find_route, is_modern
from genmcp.legacy.messages import ResponseMessage, read_legacy_message
from genmcp.limits import DEFAULT_LIMITS
from genmcp.mcp import v2607 as mcp
from genmcp.setting import describe_setting
from genmcp.telemetry import RefusalReason
from genmcp.transport import headers as header
from genmcp.transport.envelope import (
    SUPPORTED_VERSIONS,
    check_headers,
    describe_unknown,
    read_meta,
)
from genmcp.transport.headers import RequestHeaders, read_params, show
from genmcp.value import Value
from genmcp.wire.json_text import TooDeepError, read_json
from genmcp.wire.messages import (
    MessageError,
    NotificationMessage,
    RequestMessage,
    decode_notification,
    decode_request,
    read_message,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from genmcp.access import Access
    from genmcp.caller import Caller
    from genmcp.transport.reply import HeaderPairs

VERBS: Final = ("POST",)
"""The HTTP methods of today's protocol."""

LEGACY_VERBS: Final = ("POST", "GET", "DELETE")
"""The HTTP methods where clients of 2025 are served, too."""

BOTH_ERAS: Final = (*SUPPORTED_VERSIONS, *legacy_versions.VERSIONS)
"""The protocol versions that are served where clients of 2025 are."""

_MAX_LENGTH_DIGITS: Final = 18
_JSON: Final = b"application/json"


@attrs.frozen(eq=False, repr=False)
class Refusal(Value):
    """The request is not taken; this is the answer.

    Attributes:
        status: the HTTP status, 4xx (a shell may make its own with 5xx).
        error: the JSON-RPC error for the body.
        request_id: the request's id, if it could be read.
        headers: what the response must say besides its type and length.
        reason: why, for the log; `None` where status and error tell
            (`genmcp.transport.refused`).
    """

    status: int
    error: McpError
    request_id: mcp.RequestId | None = None
    headers: HeaderPairs = ()
    reason: RefusalReason | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(eq=False, repr=False)
class ReceivedNotification(Value):
    """A notification. It is answered 202, whatever becomes of it."""

    notification: mcp.ClientNotification


@attrs.frozen(eq=False, repr=False)
class ReceivedRequest(Value):
    """A request that may run.

    Attributes:
        caller: who calls; its `assigns`, and a `principal` that the application knows of,
            are the shell's to fill in.
    """

    request: mcp.Request
    caller: Caller


@attrs.frozen(eq=False, repr=False)
class ReceivedLegacy(Value):
    """A message of a client of 2025, which `genmcp.transport.legacy` answers.

    Attributes:
        message: what was sent.
        session_id: the session it belongs to; `None` for the handshake, and for a ping.
        version: the protocol version its header names, if it does.
    """

    message: RequestMessage | NotificationMessage | ResponseMessage
    session_id: str | None
    version: str | None


Received: TypeAlias = ReceivedRequest | ReceivedNotification | ReceivedLegacy | Refusal


class Inbound:
    """Reads the requests of one endpoint. Built once, used for every request.

    Args:
        methods: the methods that are answered, as `Server.methods` gives them.
        max_body_bytes: the largest body that is read.
        max_json_depth: how deep its arrays and objects may be nested.
        legacy: whether clients of 2025 are served, too.

    Raises:
        ValueError: a limit is not positive.

    Attributes:
        verbs: the HTTP methods that are served.
        supported: the protocol versions that are served.
    """

    def __init__(
        self,
        methods: Collection[str],
        *,
        max_body_bytes: int = DEFAULT_LIMITS.max_body_bytes,
        max_json_depth: int = DEFAULT_LIMITS.max_json_depth,
        legacy: bool = False,
    ) -> None:
        if max_body_bytes < 1:
            raise ValueError(f"max_body_bytes must be positive, got {max_body_bytes!r}")
        if max_json_depth < 1:
            raise ValueError(f"max_json_depth must be positive, got {max_json_depth!r}")
        self.max_body_bytes = max_body_bytes
        self.verbs = LEGACY_VERBS if legacy else VERBS
        self.supported = BOTH_ERAS if legacy else SUPPORTED_VERSIONS
        self._legacy = legacy
        self._methods = frozenset(methods)
        self._max_json_depth = max_json_depth

    # -- the head ----------------------------------------------------------------

    def check_verb(self, verb: str) -> Refusal | None:
        """Check the HTTP method alone, which comes before who is calling."""
        return None if verb in self.verbs else refuse_verb(verb, self.verbs)

    def check_head(self, headers: RequestHeaders) -> Refusal | None:
        """Check what headers say of the body; return a refusal, or `None` to go on."""
        values = headers.values
        if headers.repeated:
            for spelling in ("Content-Type", "Content-Length", "Content-Encoding"):
                if spelling in headers.repeated:
                    return _refuse(400, f"The header {spelling} was sent more than once")
        content_type = values.get(header.CONTENT_TYPE)
        # The protocol demands no type. What is refused is what is not JSON for sure,
        # the three types a web form can send among them.
        if content_type is not None and not _is_json(content_type):
            return _refuse(
                415,
                f"Content-Type {show(content_type)} is not JSON; send application/json",
                ((b"accept", _JSON),),
            )
        encoding = values.get(header.CONTENT_ENCODING)
        if encoding is not None and encoding.lower() not in (b"", b"identity"):
            return _refuse(
                415,
                f"Content-Encoding {show(encoding)} is not understood; send the body as it is",
                ((b"accept-encoding", b"identity"),),
            )
        length = values.get(header.CONTENT_LENGTH)
        if length is None:
            return None
        if not length.isdigit():
            return _refuse(400, f"Content-Length must be a number of bytes, got {show(length)}")
        if len(length) > _MAX_LENGTH_DIGITS or int(length) > self.max_body_bytes:
            return self.refuse_size()
        return None

    def refuse_size(self) -> Refusal:
        """Return the refusal of a body over the limit, declared or found while reading."""
        return refuse_limit(
            413,
            f"The body is larger than {self.max_body_bytes} bytes (max_body_bytes)",
            "max_body_bytes",
            self.max_body_bytes,
        )

    # -- the body ----------------------------------------------------------------

    def read_body(
        self,
        headers: RequestHeaders,
        body: bytes,
        *,
        access: Access | None = None,
        client_address: str | None = None,
    ) -> Received:
        """Read the message of a request whose head passed `check_head`.

        Args:
            headers: the request's.
            body: all of it.
            access: what the access token allows that came with it, if one did.
            client_address: where it came from.
        """
        if len(body) > self.max_body_bytes:
            return self.refuse_size()
        try:
            value = read_json(body, max_depth=self._max_json_depth)
            if self._legacy and not is_modern(value):
                legacy = self._read_legacy(headers, value)
                if legacy is not None:
                    return legacy
            message = read_message(value)
        except TooDeepError as error:
            data = describe_setting("max_json_depth", limit=error.max_depth)
            return Refusal(400, ParseError(f"{error.message} (max_json_depth)", data=data))
        except ParseError as error:
            return Refusal(400, error)
        except MessageError as error:
            return Refusal(400, error.error, error.request_id)
        if isinstance(message, NotificationMessage):
            return ReceivedNotification(_read_notification(message))
        try:
            return self._read_request(headers, message, access, client_address)
        except MethodNotFound as error:
            return Refusal(404, error, message.id)
        except McpError as error:
            return Refusal(400, error, message.id)

    def _read_request(
        self,
        headers: RequestHeaders,
        message: RequestMessage,
        access: Access | None,
        client_address: str | None,
    ) -> ReceivedRequest:
        meta = read_meta(headers, message, self.supported)
        check_headers(headers, message, meta, self.supported)
        if message.method not in self._methods:
            raise MethodNotFound(describe_unknown(message.method))
        request = decode_request(message.method, message.params or {})
        caller = read_caller(
            message.id,
            request,
            meta,
            read_params(headers),
            access=access,
            client_address=client_address,
        )
        return ReceivedRequest(request, caller)

    # -- 2025 --------------------------------------------------------------------

    def _read_legacy(self, headers: RequestHeaders, value: Any) -> ReceivedLegacy | Refusal | None:
        """Read a message of a client of 2025; `None` if it is none.

        Raises:
            MessageError: it is not one message.
        """
        named = headers.get(header.PROTOCOL_VERSION)
        version = None if named is None else named.decode("latin-1")
        session_id = headers.get(header.SESSION_ID)
        route = find_route(value, version, has_session=session_id is not None)
        if route is Route.MODERN:
            return None
        message = read_legacy_message(value)
        if route is Route.HANDSHAKE:
            return ReceivedLegacy(message, None, version)
        request_id = message.id if isinstance(message, RequestMessage) else None
        for spelling in ("MCP-Session-Id", "MCP-Protocol-Version"):
            if spelling in headers.repeated:
                error: McpError = InvalidRequest(f"The header {spelling} was sent more than once")
                return Refusal(400, error, request_id)
        if version is not None and version not in legacy_versions.VERSIONS:
            error = UnsupportedProtocolVersion(version, self.supported)
            return Refusal(400, error, request_id)
        if session_id is not None:
            return ReceivedLegacy(message, session_id.decode("latin-1"), version)
        return self._read_stranger(message, version)

    def _read_stranger(
        self, message: RequestMessage | NotificationMessage | ResponseMessage, version: str | None
    ) -> ReceivedLegacy | Refusal | None:
        """Read what belongs to no session; a ping is answered all the same."""
        match message:
            case RequestMessage(method="ping"):
                return ReceivedLegacy(message, None, version)
            case NotificationMessage() if version is None:
                # Dropped, whatever era it is of.
                return None
            case RequestMessage() if version is None:
                # Rather a client of today that forgot everything; the answer tells both.
                return None
            case _:
                request_id = message.id if isinstance(message, RequestMessage) else None
                return refuse_missing_session(request_id)


def refuse_missing_session(request_id: mcp.RequestId | None = None) -> Refusal:
    """Return the refusal of a request of 2025 that names no session."""
    return Refusal(
        400,
        InvalidRequest(
            "The header Mcp-Session-Id is missing; send the one that came with the result "
            "of initialize"
        ),
        request_id,
        reason=RefusalReason.SESSION,
    )


def refuse_shutdown(request_id: mcp.RequestId | None = None) -> Refusal:
    """Return the refusal of a request that comes while the server shuts down."""
    return Refusal(503, describe_shutdown(), request_id, reason=RefusalReason.SHUTTING_DOWN)


def refuse_limit(status: int, message: str, setting: str, limit: float) -> Refusal:
    """Return the refusal of a request that goes beyond a limit."""
    return Refusal(status, InvalidRequest(message, data=describe_setting(setting, limit=limit)))


def _refuse(status: int, message: str, headers: HeaderPairs = ()) -> Refusal:
    return Refusal(status, InvalidRequest(message), headers=headers)


def refuse_verb(verb: str, verbs: Iterable[str] = VERBS) -> Refusal:
    """Return the refusal of an HTTP method; `verbs` are those that are served."""
    allow = ", ".join(verbs).encode("ascii")
    return _refuse(
        405, f"{show(verb)} is not served here; send each message by POST", ((b"allow", allow),)
    )


def _is_json(content_type: bytes) -> bool:
    if content_type == _JSON:
        return True  # as nearly all are
    media_type = content_type.partition(b";")[0].rstrip(b" \t").lower()
    return media_type == _JSON or media_type.endswith(b"+json")


def _read_notification(message: NotificationMessage) -> mcp.ClientNotification:
    """Return the notification; a malformed cancellation as one that is not known.

    Malformed ones are to be ignored, and over HTTP, where any client could name any id,
    even a proper one cancels nothing. So there is nothing to refuse it for.

    Spec: basic/patterns/cancellation#error-handling
    """
    try:
        return decode_notification(message.method, message.params)
    except InvalidParams:
        return mcp.UnknownNotification(message.method, message.params or {})
