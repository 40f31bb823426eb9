"""Every error of the library, and what each one is on the wire.

Layer: below everything but the vocabulary. Providers raise these, the mux turns
them into a call's ending, `genmcp.transport` into HTTP. Nothing here knows how
an error is written out; it only carries the code, the sentence and the data.

The codes that may appear on the wire are closed: the five of JSON-RPC, the three
the protocol allocated, and application codes outside the reserved range.

Spec: basic/index#error-codes
"""

from __future__ import annotations

import inspect
import math
import re
import reprlib
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from genmcp.mcp.unset import UNSET, Unset
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
from genmcp.setting import describe_setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RESERVED_CODES: Final = range(-32768, -31999)
"""JSON-RPC's own range: application codes stay outside it (both ends included)."""

ALLOCATED_CODES: Final = frozenset(
    {
        PARSE_ERROR,
        INVALID_REQUEST,
        METHOD_NOT_FOUND,
        INVALID_PARAMS,
        INTERNAL_ERROR,
        HEADER_MISMATCH,
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        UNSUPPORTED_PROTOCOL_VERSION,
    }
)
"""The codes inside the reserved range that this protocol revision defines."""


# RFC 6749, 3.3: visible ASCII without the quote and the backslash.
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+\Z")

_MAX_LINE: Final = 500
_SHORT: Final = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


class McpError(Exception):
    """A JSON-RPC error the client gets as it stands.

    Raise it (or a subclass) from any hook; it is never masked, so the message
    must be fit for a stranger to read. `code` is refused when it lies in the
    reserved range without being allocated: such a code would mean something
    else to the client, or will once the protocol allocates it.

    Wire form: `{"code": code, "message": message, "data": data}`; `data` is left
    out while it is `UNSET`, and may be `None` (JSON null).

    Raises:
        ValueError: `code` is reserved and not allocated.
        TypeError: `code` is not an `int`, or `message` is not a `str`.

    Spec: basic/index#error-responses
    """

    code: int
    message: str
    data: Any
    log_message: str | None = None
    """What the log says instead of `message`: set where that repeats values the client
    sent, or where the log may say more than the client."""

    def __init__(self, message: str, *, code: int, data: Any | Unset = UNSET) -> None:
        if type(code) is not int:
            raise TypeError(f"code must be an int, got {code!r}")
        # The type says str, but the message often comes from data; what is not
        # text here would surface only when the answer is written.
        if not isinstance(message, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"message must be a str, got {message!r}")
        if code in RESERVED_CODES and code not in ALLOCATED_CODES:
            raise ValueError(
                f"code {code} is reserved by JSON-RPC and MCP; "
                "use a code outside -32768..-32000 for your application's errors"
            )
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, code={self.code}, data={self.data!r})"


class _FixedCode(McpError):
    """Base of the errors whose code the protocol fixes."""

    fixed_code: ClassVar[int]

    def __init__(self, message: str, *, data: Any | Unset = UNSET) -> None:
        super().__init__(message, code=self.fixed_code, data=data)


class ParseError(_FixedCode):
    """The bytes are not JSON text this library accepts.

    Wire form: -32700, HTTP 400, no `id`.
    """

    fixed_code = PARSE_ERROR


class InvalidRequest(_FixedCode):
    """The JSON is not one well-formed JSON-RPC request or notification.

    Wire form: -32600, HTTP 400; the `id` is echoed if one was readable.
    """

    fixed_code = INVALID_REQUEST


class MethodNotFound(_FixedCode):
    """The method is unknown, or belongs to a capability this server does not offer.

    Wire form: -32601, HTTP 404.
    """

    fixed_code = METHOD_NOT_FOUND


class InvalidParams(_FixedCode):
    """The parameters are wrong: shape, unknown name, bad cursor, bad state.

    Wire form: -32602. HTTP 400 while the request is being read, 200 once it was
    accepted.
    """

    fixed_code = INVALID_PARAMS


class NotFound(InvalidParams):
    """What was asked for does not exist.

    Wire form: -32602; for resources `data` is `{"uri": ...}`.
    """

    def __init__(self, message: str = "Not found", *, data: Any | Unset = UNSET) -> None:
        super().__init__(message, data=data)


class InternalError(_FixedCode):
    """The server failed in a way the client can do nothing about.

    Wire form: -32603, HTTP 500, or the last event of an open stream.
    """

    fixed_code = INTERNAL_ERROR


class HeaderMismatch(_FixedCode):
    """A mirrored header is missing, malformed or different from the body.

    Wire form: -32020, HTTP 400.

    Spec: basic/transports/streamable-http#server-validation
    """

    fixed_code = HEADER_MISMATCH


class MissingRequiredClientCapability(_FixedCode):
    """The request cannot go on without a capability the client did not declare.

    Args:
        required: a `ClientCapabilities` object in wire form that holds only what
            is missing, such as `{"elicitation": {"url": {}}}`.

    Wire form: -32021, HTTP 400, `data: {"requiredCapabilities": required}`.
    """

    fixed_code = MISSING_REQUIRED_CLIENT_CAPABILITY

    def __init__(self, required: Mapping[str, Any]) -> None:
        names = ", ".join(sorted(required))
        super().__init__(
            f"This request needs client capabilities that were not declared: {names}",
            data={"requiredCapabilities": dict(required)},
        )
        self.required = required


class UnsupportedProtocolVersion(_FixedCode):
    """The request's protocol version is not served here.

    Wire form: -32022, HTTP 400, `data: {"supported": [...], "requested": "..."}`.
    """

    fixed_code = UNSUPPORTED_PROTOCOL_VERSION

    def __init__(self, requested: str, supported: Sequence[str]) -> None:
        super().__init__(
            f"Unsupported protocol version {show(requested)}; supported: {', '.join(supported)}",
            data={"supported": list(supported), "requested": requested},
        )
        self.requested = requested
        self.supported = supported


class InsufficientScope(InvalidRequest):
    """The caller's access token does not cover what this request needs.

    Args:
        required: every scope the request needs, those the token has included, so that
            one new token is enough.

    Raises:
        TypeError, ValueError: there is something in it that is no scope. Scopes go into a
            header, and what is made of arguments could write parameters of its own there.

    Wire form: -32600, HTTP 403, `data: {"requiredScopes": [...]}`; over HTTP with
    `WWW-Authenticate: Bearer error="insufficient_scope", scope="..."`.

    Spec: basic/authorization/index#runtime-insufficient-scope-errors
    """

    def __init__(self, required: Iterable[str]) -> None:
        if isinstance(required, str):
            raise TypeError(
                f'required must be a list of scopes, such as ["files:read"], got {show(required)}'
            )
        given = set(required)
        for scope in given:
            check_scope(scope)
        self.required = tuple(sorted(given))
        super().__init__(
            f"This request needs an access token with the scopes: {' '.join(self.required)}",
            data={"requiredScopes": list(self.required)},
        )


class LimitExceeded(InvalidRequest):
    """The caller has as much open, or calls as often, as one caller may.

    Args:
        message: what there is too much of.
        setting: what sets the limit, such as `max_calls_per_caller`.
        retry_after_seconds: when it makes sense to try again; rounded up.
        limit: the limit itself: a number, or the text of a `RateLimit`.
        is_option: whether `setting` is an option of the endpoint, as those of the library
            are. Then its flag and its environment variable are named as well.

    Wire form: -32600, HTTP 429 with `Retry-After`, `data: {"setting": setting,
    "flag": "--...", "variable": "GENMCP_...", "limit": limit, "retryAfterSeconds": n}`;
    without what does not apply.
    """

    def __init__(
        self,
        message: str,
        *,
        setting: str,
        retry_after_seconds: float,
        limit: float | str | None = None,
        is_option: bool = False,
    ) -> None:
        self.retry_after_seconds = _read_delay(retry_after_seconds)
        data = _describe_limit(setting, limit, self.retry_after_seconds, is_option=is_option)
        super().__init__(message, data=data)


class Overloaded(InternalError):
    """The server has as much open as it takes from all callers together.

    Args: as for `LimitExceeded`.

    Wire form: -32603, HTTP 503 with `Retry-After`, `data` as of `LimitExceeded`.
    """

    def __init__(
        self,
        message: str,
        *,
        setting: str,
        retry_after_seconds: float,
        limit: float | str | None = None,
        is_option: bool = False,
    ) -> None:
        self.retry_after_seconds = _read_delay(retry_after_seconds)
        data = _describe_limit(setting, limit, self.retry_after_seconds, is_option=is_option)
        super().__init__(message, data=data)


def _read_delay(seconds: float) -> int:
    # A client told 0 would come back at once.
    return max(1, math.ceil(seconds))


def _describe_limit(
    setting: str, limit: float | str | None, retry_after_seconds: int, *, is_option: bool
) -> dict[str, Any]:
    # A flag is named only where it would help: what an application limits by itself, and
    # what a tool says of its own, is set in code.
    named = describe_setting(setting) if is_option else {"setting": setting}
    reached = {} if limit is None else {"limit": limit}
    return {**named, **reached, "retryAfterSeconds": retry_after_seconds}


class ToolError(Exception):
    """The tool could not do what the model asked, and says why.

    Raise it from `Tool.call` or `Tool.handle_message`. It is an answer, not a
    failure: the model reads the text and may try again.

    Wire form: a `CallToolResult` with `isError: true` and `message` as its text.

    Spec: server/tools#error-handling
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class CallbackReturnError(TypeError):
    """A hook of the application returned something it must not return.

    The message names the class, the hook and the value. The client sees only a
    masked -32603; the log has this error under the same error id.
    """

    def __init__(self, owner: object, hook: str, value: object, expected: str) -> None:
        cls = owner if isinstance(owner, type) else type(owner)
        super().__init__(
            f"{cls.__module__}.{cls.__qualname__}.{hook} returned {show(value)} "
            f"({type(value).__name__}); it must return {expected}{_explain_return(value)}"
        )
        self.owner = cls
        self.hook = hook
        self.value = value


def _explain_return(value: object) -> str:
    if inspect.isawaitable(value):
        return "; is an await missing?"
    if inspect.isasyncgen(value) or inspect.isgenerator(value):
        return "; a hook with a yield in it is a generator: take the yield out"
    return ""


def describe_shutdown() -> InternalError:
    """Return what is said of a request that comes, or is cut off, while the server shuts down.

    Wire form: -32603; HTTP 503 for one that comes then, and 500, or the last event of its
    stream, for one that is cut off.
    """
    return InternalError("The server is shutting down")


class MailboxFull(RuntimeError):
    """A streaming call has as many posted messages waiting as it may have.

    Raised by `Channel.post` to whoever posts; never reaches the wire.
    """


class TokenError(ValueError):
    """A sealed token does not open: see `genmcp.tokens.Keyring`.

    All causes read alike to the client. `cause` says which it was, for the log:
    `malformed`, `unknown key`, `forged or foreign`, `expired`, `from the future`.

    Wire form: -32602, given by whoever asked for the token.
    """

    def __init__(self, cause: str) -> None:
        super().__init__("the token is not valid here")
        self.cause = cause


def show(value: object) -> str:
    """Return `value` for a message: short, and whatever its `repr` does.

    What an author's code hands over by mistake may be huge, or unable to show itself.
    """
    try:
        return _SHORT.repr(value)
    except Exception:  # noqa: BLE001 - it is the author's `__repr__`
        return f"a {type(value).__name__} that has no repr"


def show_line(text: str, most: int = _MAX_LINE) -> str:
    """Return `text` as one line of a log: short, and without control characters.

    Part of it is often what a client sent, and must not pass for a line of its own, or
    speak to the terminal the log is read in.

    Args:
        text: any text.
        most: how many of its characters are shown.
    """
    line = text if len(text) <= most else f"{text[:most]}..."
    return line if line.isprintable() else repr(line)[1:-1]


def check_scope(scope: object) -> None:
    """Refuse what is no scope of OAuth.

    Raises:
        TypeError: it is not a string.
        ValueError: it has characters that no scope has.
    """
    if not isinstance(scope, str):
        raise TypeError(f"must hold only strings, got {show(scope)}")
    if _SCOPE.match(scope) is None:
        raise ValueError(
            f"a scope is visible ASCII without spaces, quotes and backslashes, got {show(scope)}"
        )


def find_sole_leaf(error: BaseException) -> BaseException:
    """Return the one exception inside nested groups of one, or `error` itself.

    A handler that opens a nursery raises its own `ToolError` wrapped in a group;
    the author meant the error inside.
    """
    leaf = error
    while isinstance(leaf, BaseExceptionGroup):
        nested = cast("tuple[BaseException, ...]", leaf.exceptions)
        if len(nested) != 1:
            return error
        leaf = nested[0]
    return leaf


def say_whose(owner: str, error: Exception) -> TypeError | ValueError:
    """Return a definition error again, with whose it is in front.

    A new one of the plain class: the classes below differ in what they are made from.
    """
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"{owner}: {error}")
