"""A call's events, turned into the parts of an HTTP response.

Layer: transport, pure; the last station of a call, after `genmcp.mux.call`. What
carries the request (`genmcp.transport.exchange`) feeds a `Reply` the events the mux wrote,
and sends the parts it gives, in order.

The first byte of a stream freezes the status at 200, while many errors have a status
the protocol fixes. So a stream is opened as late as possible: by the first event that
cannot wait, never before.

Spec: basic/transports/streamable-http#sending-messages, and #receiving-messages
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

import attrs

from genmcp.errors import InsufficientScope, LimitExceeded, McpError, Overloaded
from genmcp.events import Answered, Failed, KeptAlive, Notified, Opened
from genmcp.legacy.store import StoreUnavailable
from genmcp.mcp import v2607 as mcp
from genmcp.transport.sse import KEEP_ALIVE, render_event
from genmcp.value import Value
from genmcp.wire.messages import write_error, write_notification, write_result

if TYPE_CHECKING:
    from genmcp.events import Event

HeaderPairs: TypeAlias = tuple[tuple[bytes, bytes], ...]
"""Response headers: lower-case name and value."""

OK: Final = 200

STREAM_HEADERS: Final[HeaderPairs] = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)

Challenge: TypeAlias = Callable[[InsufficientScope], tuple[InsufficientScope, HeaderPairs]]
"""Completes the scopes that a client is told to ask for, and renders the headers of it."""


def _leave_as_it_is(error: InsufficientScope) -> tuple[InsufficientScope, HeaderPairs]:
    return error, ()


_ANSWER_STATUS: Final = {
    mcp.PARSE_ERROR: 400,
    mcp.INVALID_REQUEST: 400,
    mcp.METHOD_NOT_FOUND: 404,
    mcp.INTERNAL_ERROR: 500,
    mcp.HEADER_MISMATCH: 400,
    mcp.MISSING_REQUIRED_CLIENT_CAPABILITY: 400,
    mcp.UNSUPPORTED_PROTOCOL_VERSION: 400,
}


@attrs.frozen(eq=False, repr=False)
class Whole(Value):
    """A complete response. Its length is in the headers."""

    status: int
    headers: HeaderPairs
    body: bytes


@attrs.frozen(eq=False, repr=False)
class Head(Value):
    """The start of a stream. A `Chunk` always follows in the same `render`."""

    status: int
    headers: HeaderPairs


@attrs.frozen(eq=False, repr=False)
class Chunk(Value):
    """Bytes of an open stream, to be sent at once."""

    body: bytes


@attrs.frozen(eq=False, repr=False)
class End(Value):
    """The end of an open stream."""


Part = Whole | Head | Chunk | End


class _State(enum.Enum):
    IDLE = enum.auto()
    STREAMING = enum.auto()
    DONE = enum.auto()


# Under names of their own: an attribute of an enumeration is looked up in Python.
_IDLE, _STREAMING, _DONE = _State


class Reply:
    """The response to one request, as a state machine.

    =========  ================  ================  ================  ================
    state      Opened            KeptAlive         Notified          Answered, Failed
    =========  ================  ================  ================  ================
    idle       Head and comment  Head and comment  Head and event    Whole
               -> streaming      -> streaming      -> streaming      -> done
    streaming  nothing           comment           event             event and End
                                                                     -> done
    done       RuntimeError      RuntimeError      RuntimeError      RuntimeError
    =========  ================  ================  ================  ================

    Opening sends a comment along: some servers and proxies hold the head back until
    the first byte of the body, and the client should see now that it is a stream.

    Args:
        request_id: the id of the request.
        challenge: completes the error of a call that ends for want of a scope, and
            renders what a 403 says besides.
    """

    __slots__ = ("_challenge", "_request_id", "_state")

    def __init__(self, request_id: mcp.RequestId, challenge: Challenge = _leave_as_it_is) -> None:
        self._request_id = request_id
        self._challenge = challenge
        self._state = _IDLE

    @property
    def idle(self) -> bool:
        """Whether nothing was rendered yet, so that any status can still be given."""
        return self._state is _IDLE

    @property
    def done(self) -> bool:
        """Whether the response is complete."""
        return self._state is _DONE

    def render(self, event: Event) -> tuple[Part, ...]:
        """Return what goes out for `event`, and move on to the next state.

        Raises:
            EncodeError: the event holds something that is not JSON. The state is what
                it was; another event may follow.
            RuntimeError: the response is complete already.
        """
        if self._state is _DONE:
            raise RuntimeError(f"the reply is complete, {event!r} comes after its end")
        match event:
            case Answered(result=result):
                return self._end(write_result(self._request_id, result), OK)
            case Failed(error=error):
                headers = find_delay(error)
                if isinstance(error, InsufficientScope):
                    error, headers = self._challenge(error)
                message = write_error(self._request_id, error)
                return self._end(message, find_status(error), headers)
            case Notified(notification=notification):
                return self._stream(render_event(write_notification(notification)))
            case KeptAlive():
                return self._stream(KEEP_ALIVE)
            case Opened():
                return self._stream(KEEP_ALIVE) if self._state is _IDLE else ()
            case _:
                assert_never(event)

    def _stream(self, body: bytes) -> tuple[Part, ...]:
        if self._state is _STREAMING:
            return (Chunk(body),)
        self._state = _STREAMING
        return Head(OK, STREAM_HEADERS), Chunk(body)

    def _end(self, message: bytes, status: int, headers: HeaderPairs = ()) -> tuple[Part, ...]:
        idle = self._state is _IDLE
        self._state = _DONE
        if idle:
            return (render_json(status, message, headers),)
        return Chunk(render_event(message)), End()


def find_status(error: McpError) -> int:
    """Return the HTTP status for the error an accepted request ended with.

    Statuses the protocol fixes, those of HTTP for scopes and limits, 500 for a fault of
    the server, and 200 for what is the request's own answer: invalid params and the
    application's codes.
    """
    match error:
        case InsufficientScope():
            return 403
        case LimitExceeded():
            return 429
        case Overloaded() | StoreUnavailable():
            return 503
        case _:
            return _ANSWER_STATUS.get(error.code, OK)


def find_delay(error: McpError) -> HeaderPairs:
    """Return the header that says when to come back, for an error that knows it."""
    if isinstance(error, LimitExceeded | Overloaded | StoreUnavailable):
        return ((b"retry-after", b"%d" % error.retry_after_seconds),)
    return ()


def render_json(status: int, body: bytes, headers: HeaderPairs = ()) -> Whole:
    """Return the response whose body is the JSON text `body`."""
    length = b"%d" % len(body)
    return Whole(
        status,
        ((b"content-type", b"application/json"), (b"content-length", length), *headers),
        body,
    )


def render_refusal(
    status: int,
    error: McpError,
    request_id: mcp.RequestId | None = None,
    headers: HeaderPairs = (),
) -> Whole:
    """Return the response that refuses a request, with a JSON-RPC error as its body."""
    return render_json(status, write_error(request_id, error), headers)


def render_accepted() -> Whole:
    """Return the response to a notification: 202 without a body."""
    return Whole(202, ((b"content-length", b"0"),), b"")
