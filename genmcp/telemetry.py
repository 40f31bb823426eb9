"""Telemetry: what can be known of each call and each refusal, and who is told.

Layer: contract, at the bottom. `genmcp.mux.reporter` tells the observers and writes the
log, for calls and for what `genmcp.transport` refuses; `genmcp.otel` is a ready-made
observer, for OpenTelemetry.

What is told here has no argument, no result, no token and no text of an exception in it.
Who calls is told to observers alone.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final

import attrs

from genmcp.errors import (
    HeaderMismatch,
    InsufficientScope,
    LimitExceeded,
    Overloaded,
    show_line,
)
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from genmcp.errors import McpError
    from genmcp.mcp import v2607 as mcp

TRACE_KEYS: Final = ("traceparent", "tracestate", "baggage")
"""The keys of `_meta` that carry a W3C trace context and baggage, as they are spelled."""

MAX_SHOWN: Final = 200
"""How many characters of what a client sent a log line or an observer gets to see."""


MAX_MESSAGE: Final = 1_000
"""How many characters of an error's message, part of it perhaps a client's, are logged."""


class Outcome(enum.StrEnum):
    """How a call ended. Closed: there are no others."""

    OK = "ok"
    """A result."""
    TOOL_ERROR = "tool_error"
    """A result with `isError`, such as a `ToolError` or arguments that do not fit."""
    INPUT_REQUIRED = "input_required"
    """A result that asks the client; its answer is a call of its own."""
    ERROR = "error"
    """A JSON-RPC error that was meant for the client."""
    CRASH = "crash"
    """A fault of the server, masked for the client. The log has it under the error id."""
    CANCELLED = "cancelled"
    """The client left before it had the answer. How most subscriptions end."""
    CLOSED = "closed"
    """The handler closed its channel."""
    SHUTDOWN = "shutdown"
    """The server shut down while the call was open."""


class RefusalReason(enum.StrEnum):
    """Why a request was refused. Closed: there are no others.

    Most are refused before they are a call, and that is a `RequestRefused`. What only the
    call finds out, such as the rate of one tool or a scope it needs, is the `reason` of
    its `CallEnded`; what the HTTP status is then is the same.
    """

    PATH = "path"
    """Nothing is served there: 404."""
    ORIGIN = "origin"
    """The `Origin` is not allowed: 403. See `allowed_origins`."""
    HOST = "host"
    """The `Host` is not allowed: 403. See `allowed_hosts`."""
    VERB = "verb"
    """Another HTTP method than POST: 405."""
    UNAUTHORIZED = "unauthorized"
    """No access token, or none that is good: 401."""
    FORBIDDEN = "forbidden"
    """The caller may not: 403."""
    CONTENT_TYPE = "content_type"
    """The body is of another type or encoding: 415."""
    TOO_LARGE = "too_large"
    """The body is over `max_body_bytes`: 413."""
    TIMEOUT = "timeout"
    """The body did not arrive within `body_timeout_seconds`, or stalled: 408."""
    PARSE = "parse"
    """The body is not JSON: -32700."""
    INVALID_REQUEST = "invalid_request"
    """It is no JSON-RPC message, or not good HTTP: -32600."""
    META = "meta"
    """`params._meta` is missing or wrong: -32602."""
    HEADER_MISMATCH = "header_mismatch"
    """A header does not say what the body says: -32020."""
    VERSION = "version"
    """The protocol version is not served: -32022."""
    SESSION = "session"
    """The session of a client of 2025 is missing (400), or unknown or ended (404); or what is
    asked of it is remembered by another process, with which no store is shared (400)."""
    METHOD = "method"
    """The method is not served: -32601, 404."""
    PARAMS = "params"
    """The params have not the form of their method: -32602."""
    LIMIT = "limit"
    """The caller has reached a limit: 429."""
    OVERLOADED = "overloaded"
    """The server has reached a limit: 503."""
    STORE = "store"
    """What is remembered of the sessions of 2025 cannot be reached now, or took too long:
    503. See `SessionStore`."""
    IDENTITY = "identity"
    """It cannot be found out now who is calling: what verifies access tokens is away, or
    took too long: 503."""
    SHUTTING_DOWN = "shutting_down"
    """The server shuts down and takes no more calls: 503."""
    CRASH = "crash"
    """Something failed that must not, such as the function for `assigns`: 500."""


@attrs.frozen(kw_only=True, eq=False)
class CallInfo:
    """What is known of a call when it begins. Each call has an object of its own.

    Attributes:
        method: the method, such as `tools/call`: one that the server answers.
        target: the tool's or prompt's name or the resource's URI, as the client wrote
            it, cut to `MAX_SHOWN` characters; `None` for other methods. Whether there is
            such a tool is known at the end only: no label for a metric.
        request_id: the JSON-RPC id.
        protocol_version: the version the call is answered in.
        client_info: how the client names itself, if it does. Self-reported.
        authenticated: whether it is known who calls.
        principal: who calls, if that is known: for an audit. This, the client's id and the
            address are for observers alone: genmcp writes them into no log and exports
            them nowhere. No labels for a metric.
        client_id: the client that the access token was issued to, if it says so.
        client_address: the network address the request came from, if that is known.
        trace: those of `TRACE_KEYS` that the request's `_meta` has as strings, unchecked.
    """

    method: str
    target: str | None
    request_id: mcp.RequestId
    protocol_version: str
    client_info: mcp.Implementation | None
    authenticated: bool
    principal: str | None = attrs.field(default=None, repr=False)
    client_id: str | None = attrs.field(default=None, repr=False)
    client_address: str | None = attrs.field(default=None, repr=False)
    trace: Mapping[str, str] = attrs.field(repr=False)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class CallEnded(Value):
    """How a call ended.

    Attributes:
        outcome: in one word.
        code: the code of the JSON-RPC error that was the answer, if one was.
        reason: why it was refused, if the answer is such a refusal: `LIMIT` with 429,
            `FORBIDDEN` with 403, `OVERLOADED` with 503, `HEADER_MISMATCH` with 400.
        duration_seconds: from the request to its last byte, or to when the client left
            or the server gave the call up. Clean-ups that come after do not count.
        error_id: under which the log has the traceback of a crash.
        streamed: whether something was sent before the end.
        served_target: the target, if the server has such a tool or prompt: fit for a
            label. `None` for URIs, of which there are too many.
    """

    outcome: Outcome
    code: int | None
    reason: RefusalReason | None
    duration_seconds: float
    error_id: str | None
    streamed: bool
    served_target: str | None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RequestRefused(Value):
    """A request that was refused before it was a call.

    Attributes:
        status: the HTTP status; over stdio the one it would have been.
        code: the code of the JSON-RPC error in the body.
        reason: why, in one word.
        request_id: the JSON-RPC id, if it was read.
    """

    status: int
    code: int
    reason: RefusalReason
    request_id: mcp.RequestId | None


class Observer:
    """Is told of every call and every refusal. Subclass it; each hook does nothing.

    Give instances as `observers=[...]` to `StreamableHTTP` or `serve`. The hooks are plain
    functions that run on the event loop, between a client and its answer: count, write
    into a queue, and return. One that raises is logged the first time and harms no call.

    For each call the hooks come in this order, each at most once, with the same
    `CallInfo`: `call_started`, `stream_opened`, `stream_closed`, `call_ended`. For every
    `call_started` there is one `call_ended`, whatever happens to the call; for every
    `stream_opened` one `stream_closed`. Calls overlap.
    """

    def call_started(self, call: CallInfo) -> AbstractContextManager[Any] | None:
        """Take notice of a call that begins, before anything of the application runs.

        A context manager that is returned is entered at once and left after
        `call_ended`, both in the call's task. Context variables set in it are seen by the
        handler, by the threads and tasks it starts, and by whatever those call.
        """
        return None

    def stream_opened(self, call: CallInfo) -> None:
        """Take notice that something was sent and the call goes on."""

    def stream_closed(self, call: CallInfo) -> None:
        """Take notice that a call which was streaming is over."""

    def call_ended(self, call: CallInfo, ended: CallEnded) -> None:
        """Take notice of the end, when nothing of the call runs any more."""

    def request_refused(self, refused: RequestRefused) -> None:
        """Take notice of a request that never was a call."""


_BY_ERROR: Final = {
    Overloaded: RefusalReason.OVERLOADED,
    LimitExceeded: RefusalReason.LIMIT,
    InsufficientScope: RefusalReason.FORBIDDEN,
    HeaderMismatch: RefusalReason.HEADER_MISMATCH,
}


def find_reason(error: McpError) -> RefusalReason | None:
    """Return why a request was refused, where the kind of the error says so.

    These are the refusals that a call may end with as well; their codes alone do not tell
    them apart.
    """
    for kind, reason in _BY_ERROR.items():
        if isinstance(error, kind):
            return reason
    return None


def show_id(request_id: mcp.RequestId | None) -> int | str | None:
    """Return a JSON-RPC id as it may stand in a log; numbers stay numbers."""
    return show_line(request_id, MAX_SHOWN) if isinstance(request_id, str) else request_id
