"""Whose an exception is: the application's, or trio's and the process's.

Layer: transport, shell. For `genmcp.transport.runner.application` and
`genmcp.transport.runner.door`, whose nets keep the first kind in the task it came from.
"""

from __future__ import annotations

import math
from typing import cast

import trio

from genmcp.mux.failure import is_crash


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
