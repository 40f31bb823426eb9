"""From an exception of the application to the error its client sees.

Layer: mux. An `McpError` was meant for the client and goes out as it is; anything
else says nothing but an error id, under which the log has the traceback.

Whatever a hook raises belongs to its call. Not only `Exception`: a library may
raise its own `BaseException` (a panic in native code, another event loop's
cancellation), and a tool that calls `sys.exit()` ends its own call, not the server.
The exceptions are trio's cancellation, which is how a call is ended, and
`KeyboardInterrupt`, which is not about a call.
"""

from __future__ import annotations

import logging
import math
import secrets
from typing import cast

import trio

from genmcp.errors import InternalError, McpError, find_sole_leaf

_log = logging.getLogger("genmcp.mux")


def is_crash(error: BaseException) -> bool:
    """Tell whether `error` belongs to the call, and not to trio or the process.

    A `GeneratorExit` counts as the hook's own. The one that Python throws when a
    coroutine is given up is for whoever gives it up to let pass.
    """
    if not isinstance(error, BaseExceptionGroup):
        return not isinstance(error, trio.Cancelled | KeyboardInterrupt)
    group = cast("BaseExceptionGroup[BaseException]", error)
    return group.subgroup((trio.Cancelled, KeyboardInterrupt)) is None


def split_crash(error: BaseException) -> tuple[BaseException | None, BaseException | None]:
    """Return what of `error` crashed, and what has to be raised again.

    To be raised again is a cancellation that is being delivered, and
    `KeyboardInterrupt`. A cancellation that was kept and is raised outside of its scope
    is a crash: it would end whatever it comes across.
    """
    delivered = trio.current_effective_deadline() == -math.inf

    def is_own(one: BaseException) -> bool:
        return is_crash(one) or (isinstance(one, trio.Cancelled) and not delivered)

    if isinstance(error, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", error).split(is_own)
    return (error, None) if is_own(error) else (None, error)


def is_interrupt(error: BaseException) -> bool:
    """Tell whether `error` is, or holds, a `KeyboardInterrupt`."""
    if not isinstance(error, BaseExceptionGroup):
        return isinstance(error, KeyboardInterrupt)
    group = cast("BaseExceptionGroup[BaseException]", error)
    return group.subgroup(KeyboardInterrupt) is not None


def mask(error: BaseException) -> tuple[McpError, str | None]:
    """Return what the client may see of `error`, and the id to log the rest under.

    Without an id it was meant for the client, and there is nothing to log.
    """
    leaf = find_sole_leaf(error)
    if isinstance(leaf, McpError):
        return leaf, None
    error_id = secrets.token_hex(8)
    masked = InternalError("Internal server error", data={"errorId": error_id})
    # For the testing kit, which shows authors their own exception; the wire has
    # no place for a cause.
    masked.__cause__ = error
    return masked, error_id


def log_crash(error: BaseException, what: str) -> None:
    """Log what failed beside a call, unless it was meant for a client.

    Args:
        error: what a hook raised.
        what: what failed.
    """
    _, error_id = mask(error)
    if error_id is not None:
        log_masked(error, error_id, what)


def log_masked(error: BaseException, error_id: str, what: str) -> None:
    """Log what `mask` has hidden, where that is not the line of a call that crashed."""
    extra = {"genmcp_error_id": error_id}
    _log.error("%s failed, error id %s", what, error_id, exc_info=error, extra=extra)


def log_late(error: BaseException, what: str) -> None:
    """Log a failure that comes when the client has its answer, or has gone."""
    _log.error("%s failed while cleaning up", what, exc_info=error)
