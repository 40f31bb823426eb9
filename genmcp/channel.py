"""The channel: who is calling, and how a handler talks back to that client.

Layer: contract. `Channel` is abstract; `genmcp.mux.channel` has the one that
runs, `genmcp.testing` a fake one that records. The rules that hold whatever the
transport (progress only with a token and strictly increasing, logs only from the
level the request asked for) live here, so that the fake obeys them too.

Spec: basic/patterns/progress, server/utilities/logging
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

import attrs

from genmcp.answers import NO_ANSWERS
from genmcp.caller import CallerFacts
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.v2607.fields import make_checked, with_members

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from genmcp.answers import Answers
    from genmcp.caller import Caller
    from genmcp.limits import OwnRateLimit
    from genmcp.tokens import Keyring

R = TypeVar("R")

_NO_PROGRESS: Final = mcp.ProgressNotificationParams(progress_token=0, progress=0)
_TOO_GREAT: Final = 2**63
_SEVERITY: Final[dict[str, int]] = {
    level: rank for rank, level in enumerate(get_args(mcp.LoggingLevel))
}


@attrs.define
class CallNotes:
    """What whoever answers a call says of it, for the log and for observers.

    Attributes:
        served_target: the name of the tool or prompt that is called, once it is found.
        problem: why the answer is not what the client wanted, for the log: places and
            reasons, nothing of the values.
    """

    served_target: str | None = None
    problem: str | None = None


class Channel(CallerFacts, ABC):
    """One call's way back to its client.

    The attributes of `Caller` are readable here directly. Every send is awaited
    and waits while the client is slow to read; it returns whether the message
    went out, and never raises because the client has left. All verbs are for the
    event loop's thread, except `post_from_thread` and `post_soon`.
    """

    def __init__(self, caller: Caller, keyring: Keyring) -> None:
        self.caller = caller
        self.keyring = keyring
        """Seals and opens the tokens handed to the client (cursors, request state)."""
        self.answers: Answers = NO_ANSWERS
        """What the client answered so far, when it retries a call that asked it."""
        self.notes = CallNotes()
        """What the server says of this call for logs and metrics; see `CallNotes`."""
        self._last_progress = -math.inf

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether the call is over: answered, closed, or its client gone."""

    # -- talking to the client ---------------------------------------------------

    async def send_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> bool:
        """Report how far the call has come.

        A client that gave no progress token is not told; a value that is not
        greater than the last one is dropped, as the protocol wants progress to
        increase strictly. Both return False.

        Args:
            progress: how much is done, in units of your choice.
            total: how much there is to do in the same units, if known.
            message: a sentence for a person to read.

        Raises:
            ValueError: `progress` or `total` is NaN or infinite.
            TypeError: one of them is not a number, or `message` is not a `str`.

        Cancellation: a checkpoint; cancelled while the client is slow to read,
        the connection is given up.

        Spec: basic/patterns/progress#progress-flow
        """
        progress = _read_number("progress", progress)
        total = None if total is None else _read_number("total", total)
        _check_text("message", message)
        token = self.caller.progress_token
        if token is None or progress <= self._last_progress:
            await self._checkpoint()
            return False
        self._last_progress = progress
        # All of it was checked just now.
        params = with_members(
            _NO_PROGRESS,
            progress_token=token,
            progress=progress,
            total=total,
            message=message,
        )
        return await self.deliver(make_checked(mcp.ProgressNotification, params=params))

    async def send_log(self, level: mcp.LoggingLevel, data: Any, logger: str | None = None) -> bool:
        """Send a log record, if the client asked for this severity.

        Deprecated by the protocol: a new server rather uses `logging`, whose records
        its operator reads. Never put secrets or what belongs to somebody else into it.

        Returns False without sending when the request carried no log level, or a
        higher one.

        Args:
            level: one of `debug info notice warning error critical alert emergency`.
            data: any JSON value, `None` included.
            logger: the name of what logs.

        Raises:
            ValueError: `level` is not one of those names.
            EncodeError: `data` is not JSON.

        Cancellation: as `send_progress`.

        Spec: server/utilities/logging#per-request-log-level
        """
        severity = _SEVERITY.get(level)
        if severity is None:
            raise ValueError(f"level must be one of {', '.join(_SEVERITY)}, got {level!r}")
        _check_text("logger", logger)
        wanted = self.caller.log_level
        if wanted is None or severity < _SEVERITY[wanted]:
            await self._checkpoint()
            return False
        return await self.deliver(
            mcp.LoggingMessageNotification(
                params=mcp.LoggingMessageNotificationParams(level=level, data=data, logger=logger)
            )
        )

    async def send_notification(self, notification: mcp.ServerNotification) -> bool:
        """Send a ready notification that belongs to this call.

        Progress and log notifications go through the same rules as
        `send_progress` and `send_log`: the token is the client's, the level is
        respected.

        Raises:
            TypeError: not one of the two that may travel on a call's stream.
            EncodeError: it holds a value that is not JSON.

        Spec: basic/transports/streamable-http#receiving-messages
        """
        match notification:
            case mcp.ProgressNotification(params=params):
                return await self.send_progress(params.progress, params.total, params.message)
            case mcp.LoggingMessageNotification(params=params):
                return await self.send_log(params.level, params.data, params.logger)
            case _:
                raise TypeError(
                    "only ProgressNotification and LoggingMessageNotification may be sent "
                    f"on a call's own stream, got {notification!r}"
                )

    @abstractmethod
    async def start_stream(self) -> bool:
        """Turn the answer into a stream now, instead of after 15 s of silence.

        The HTTP status is 200 from here on, whatever the call ends with. Returns
        whether the client still listens; a second call does nothing.
        """

    @abstractmethod
    async def deliver(self, notification: mcp.ServerNotification) -> bool:
        """Send `notification` as it is; return whether it went out. A checkpoint.

        For the framework: the rules of the verbs above are the caller's duty.
        """

    @abstractmethod
    def check_rate(self, method: str, target: str, own: OwnRateLimit = None) -> None:
        """Count one more call of `target` by this caller, unless it is one too many.

        The Suite does this for every tool and for suggestions, before anything of theirs
        runs. Do it yourself for what else is costly, such as one `read` of many.

        Args:
            method: whose limit holds: the endpoint has one for `tools/call` and one for
                `completion/complete`.
            target: what is called, by a name that the server has for it: names that
                clients make up would each have a limit of their own.
            own: a limit of its own, instead of the endpoint's.

        Raises:
            LimitExceeded: the caller calls it more often than it may. Let it pass.

        Spec: server/tools#security-considerations
        """

    @abstractmethod
    async def _checkpoint(self) -> None:
        """Let others run, and be cancelled if the call is."""

    # -- running the call --------------------------------------------------------

    @abstractmethod
    def close(self) -> None:
        """End the call from the server's side, without a result.

        The client gets a JSON-RPC error as the last frame, a streaming call's
        `handle_close` runs, and the call's tasks are cancelled. Returns at once;
        a call that is over already is left alone.
        """

    @abstractmethod
    def close_after(self, seconds: float) -> None:
        """`close` the call if it is still open `seconds` from now. Returns at once."""

    @abstractmethod
    def post(self, message: object) -> bool:
        """Hand `message` to this call's `handle_message`, in order.

        Works from the moment the call starts: what is posted before `call`
        returns `Stream` waits for it. Returns False when the call is over.

        Raises:
            MailboxFull: too many messages are waiting.
            RuntimeError: called on another thread than the event loop's.
        """

    @abstractmethod
    def post_from_thread(self, message: object) -> bool:
        """`post` from any thread that is not the event loop's. Blocks until it is in."""

    @abstractmethod
    def post_soon(self, message: object) -> None:
        """`post` from anywhere, without waiting and without an answer.

        From the event loop's thread or any other. A message the call cannot take,
        because it is over or its mailbox is full, is dropped and logged.
        """

    @abstractmethod
    def start_soon(self, async_fn: Callable[..., Awaitable[object]], *args: Any) -> None:
        """Run `async_fn(*args)` as a task of this call.

        It is cancelled when the call ends. If it raises, the call fails with the
        masked error that a crash of the handler gives.

        Raises:
            RuntimeError: the call is over.
        """

    @abstractmethod
    def blocking(self) -> BlockingChannel:
        """Return the form of this channel that a plain `def` handler gets."""

    @abstractmethod
    async def run_in_thread(self, hook: Callable[..., R], *args: Any) -> R:
        """Run a plain function in one of the threads kept for handlers.

        The thread is waited for even when the call is cancelled: nothing of a
        call outlives it. The blocking channel's verbs raise there then, so that a
        handler that reports progress stops early.
        """


class BlockingChannel(CallerFacts):
    """The channel of a plain `def` handler: same attributes, same verbs, blocking.

    For the handler's own thread. A verb raises the event loop's cancellation when
    the client has gone, which unwinds the handler through its `finally` blocks.
    """

    def __init__(
        self,
        channel: Channel,
        run_async: Callable[..., Any],
        run_sync: Callable[..., Any],
    ) -> None:
        self._channel = channel
        self._run_async = run_async
        self._run_sync = run_sync
        self.caller = channel.caller
        self.keyring = channel.keyring

    @property
    def answers(self) -> Answers:
        """See `Channel.answers`."""
        return self._channel.answers

    @property
    def closed(self) -> bool:
        """See `Channel.closed`."""
        return self._channel.closed

    def send_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> bool:
        """See `Channel.send_progress`."""
        sent: bool = self._run_async(self._channel.send_progress, progress, total, message)
        return sent

    def send_log(self, level: mcp.LoggingLevel, data: Any, logger: str | None = None) -> bool:
        """See `Channel.send_log`."""
        sent: bool = self._run_async(self._channel.send_log, level, data, logger)
        return sent

    def send_notification(self, notification: mcp.ServerNotification) -> bool:
        """See `Channel.send_notification`."""
        sent: bool = self._run_async(self._channel.send_notification, notification)
        return sent

    def start_stream(self) -> bool:
        """See `Channel.start_stream`."""
        listens: bool = self._run_async(self._channel.start_stream)
        return listens

    def close(self) -> None:
        """See `Channel.close`."""
        self._run_sync(self._channel.close)

    def close_after(self, seconds: float) -> None:
        """See `Channel.close_after`."""
        self._run_sync(self._channel.close_after, seconds)

    def post(self, message: object) -> bool:
        """See `Channel.post`."""
        taken: bool = self._run_sync(self._channel.post, message)
        return taken

    def post_from_thread(self, message: object) -> bool:
        """See `Channel.post_from_thread`."""
        return self._channel.post_from_thread(message)

    def post_soon(self, message: object) -> None:
        """See `Channel.post_soon`."""
        self._channel.post_soon(message)

    def check_rate(self, method: str, target: str, own: OwnRateLimit = None) -> None:
        """See `Channel.check_rate`."""
        self._run_sync(self._channel.check_rate, method, target, own)

    def start_soon(self, async_fn: Callable[..., Awaitable[object]], *args: Any) -> None:
        """See `Channel.start_soon`."""
        self._run_sync(self._channel.start_soon, async_fn, *args)


def _read_number(name: str, value: object) -> int | float:
    """Return a number as JSON has it: a subclass is its plain value."""
    if type(value) is int and -_TOO_GREAT < value < _TOO_GREAT:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be an int or a float, got {value!r}")
    if isinstance(value, int):
        if abs(value) >= _TOO_GREAT:
            raise ValueError(f"{name} must fit into 64 bits")
        return int.__int__(value)
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return float.__float__(value)


def _check_text(name: str, value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} must be a str or None, got {value!r}")
