"""What happened in one call, told once it is over.

Layer: mux. `genmcp.mux.call` tells its record what happens, as it happens and in any
order the races give; the record makes one account of it, for the one line in the log and
the one `call_ended` of each observer.

What counts, in this order: a crash, because its error id is what people search for; then
the ending that was written; then what cut the call off.
"""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any, Final

import trio

from genmcp.errors import show, show_line
from genmcp.events import Answered, Failed
from genmcp.mcp import v2607 as mcp
from genmcp.mux.failure import log_masked, mask
from genmcp.telemetry import (
    MAX_MESSAGE,
    MAX_SHOWN,
    TRACE_KEYS,
    CallEnded,
    CallInfo,
    Outcome,
    find_reason,
    show_id,
)

if TYPE_CHECKING:
    from genmcp.caller import Caller
    from genmcp.channel import CallNotes
    from genmcp.errors import McpError
    from genmcp.events import Ending
    from genmcp.mux.reporter import Entered, Reporter
    from genmcp.telemetry import RefusalReason

_log: Final = logging.getLogger("genmcp.calls")


class CallRecord:
    """The account of one call.

    Args:
        reporter: who is told.
        request: what was asked.
        caller: by whom.
        notes: what the server says of the call while it runs.
    """

    def __init__(
        self, reporter: Reporter, request: mcp.Request, caller: Caller, notes: CallNotes
    ) -> None:
        self.started_at = trio.current_time()
        """When the call began, in trio's time."""
        self.streamed = False
        self._reporter = reporter
        self._request = request
        self._caller = caller
        self._notes = notes
        self._ended_at: float | None = None
        self._ending: Ending | None = None
        self._cause: Outcome | None = None
        self._error_id: str | None = None
        self._info: CallInfo | None = None
        self._entered: list[Entered] = []

    @functools.cached_property
    def what(self) -> str:
        """Which call this is, for the log: method, target and id."""
        target = _find_target(self._request)
        method = self._request.method
        named = show_line(method) if target is None else f"{method} {show(target)}"
        return f"{named} (request {show(self._caller.request_id)})"

    # -- what happens ------------------------------------------------------------

    def start(self) -> None:
        """Take down that the call begins to run; its context is the task's from here on."""
        if self._reporter.observed:
            self._info = self._describe()
            self._entered = self._reporter.start(self._info)

    def stream(self) -> None:
        """Take down that something was written that is not the ending."""
        if self.streamed:
            return
        self.streamed = True
        if self._info is not None:
            self._reporter.open_stream(self._info)

    def crash(self, error: BaseException) -> McpError:
        """Take down what the application raised; return what the client may see of it.

        This logs the line of a call that crashed, at once: it may be long until the rest
        of the call has ended.
        """
        masked, error_id = mask(error)
        if error_id is None:
            return masked
        if self._error_id is not None:
            # Two of its tasks at the same time: the call has had its line.
            log_masked(error, error_id, self.what)
            return masked
        self._error_id = error_id
        _log.error(
            "%s failed, error id %s",
            self.what,
            error_id,
            exc_info=error,
            extra=self._render(Outcome.CRASH, mcp.INTERNAL_ERROR, self._measure()),
        )
        return masked

    def settle(self, ending: Ending, cause: Outcome | None) -> None:
        """Take down that `ending` was written: because of `cause`, or by itself."""
        # Whether anybody will want to know is not certain yet: the level of the log may
        # change, and a call whose ending is written may go on for long.
        self._ended_at = trio.current_time()
        self._ending = ending
        self._cause = cause

    def cut_off(self, cause: Outcome) -> None:
        """Take down that the call ends without an ending, if it does."""
        if self._ended_at is None:
            self._ended_at = trio.current_time()
            self._cause = cause

    def finish(self) -> None:
        """Tell of it all, when nothing of the call runs any more."""
        well = type(self._ending) is Answered and self._error_id is None
        quiet = well and self._info is None and self._notes.problem is None
        if quiet and not _log.isEnabledFor(logging.INFO):
            return  # as most calls are
        outcome = self._find_outcome()
        seconds = self._measure()
        code = None if self._error is None else self._error.code
        if self._error_id is None:
            self._log_end(outcome, code, seconds)
        if self._info is None:
            return
        ended = CallEnded(
            outcome=outcome,
            code=code,
            reason=self._find_reason(outcome),
            duration_seconds=seconds,
            error_id=self._error_id,
            streamed=self.streamed,
            served_target=self._notes.served_target,
        )
        self._reporter.end(self._info, ended, self._entered)

    # -- inside ------------------------------------------------------------------

    @property
    def _error(self) -> McpError | None:
        return self._ending.error if isinstance(self._ending, Failed) else None

    def _find_outcome(self) -> Outcome:
        if self._error_id is not None:
            return Outcome.CRASH
        if self._cause is not None:
            return self._cause
        match self._ending:
            case Answered(result=result):
                return _read_outcome(result)
            case Failed():
                return Outcome.ERROR
            case None:
                # Without a word of why: its write was cut off, or the process is
                # interrupted.
                return Outcome.CANCELLED

    def _measure(self) -> float:
        ended_at = trio.current_time() if self._ended_at is None else self._ended_at
        return ended_at - self.started_at

    def _describe(self) -> CallInfo:
        caller, target = self._caller, _find_target(self._request)
        return CallInfo(
            method=self._request.method,
            target=None if target is None else target[:MAX_SHOWN],
            request_id=caller.request_id,
            protocol_version=caller.protocol_version,
            client_info=caller.client_info,
            authenticated=_is_known(caller),
            principal=caller.principal,
            client_id=None if caller.access is None else caller.access.client_id,
            client_address=caller.client_address,
            trace={
                key: value for key in TRACE_KEYS if isinstance(value := caller.meta.get(key), str)
            },
        )

    def _log_end(self, outcome: Outcome, code: int | None, seconds: float) -> None:
        problem = self._find_problem()
        # Where a person should look: the server failed, or the two sides do not agree.
        server_fault = outcome is Outcome.ERROR and code == mcp.INTERNAL_ERROR
        level = logging.WARNING if server_fault or problem is not None else logging.INFO
        if not _log.isEnabledFor(level):
            return
        if problem is None and self._error is not None:
            problem = self._error.message
        _log.log(
            level,
            "%s: %s%s%s (%.1f ms)",
            self.what,
            outcome.value,
            "" if code is None else f" {code}",
            "" if problem is None else f": {show_line(problem, MAX_MESSAGE)}",
            seconds * 1000,
            extra=self._render(outcome, code, seconds),
        )

    def _find_reason(self, outcome: Outcome) -> RefusalReason | None:
        if self._error is None or outcome is not Outcome.ERROR:
            return None
        return find_reason(self._error)

    def _find_problem(self) -> str | None:
        """Return what the log is to say of an answer that must not be repeated there."""
        if self._error is not None and self._error.log_message is not None:
            return self._error.log_message
        return self._notes.problem

    def _render(self, outcome: Outcome, code: int | None, seconds: float) -> dict[str, Any]:
        """Return the attributes of the call's log record."""
        caller, target = self._caller, _find_target(self._request)
        client, reason = caller.client_info, self._find_reason(outcome)
        return {
            "genmcp_method": show_line(self._request.method, MAX_SHOWN),
            "genmcp_target": None if target is None else show_line(target, MAX_SHOWN),
            "genmcp_request_id": show_id(caller.request_id),
            "genmcp_outcome": outcome.value,
            "genmcp_code": code,
            "genmcp_reason": None if reason is None else reason.value,
            "genmcp_duration_ms": round(seconds * 1000, 3),
            "genmcp_error_id": self._error_id,
            "genmcp_streamed": self.streamed,
            "genmcp_client": client and show_line(f"{client.name} {client.version}", MAX_SHOWN),
            "genmcp_authenticated": _is_known(caller),
        }


def _find_target(request: mcp.Request) -> str | None:
    params = request.params
    target: object = getattr(params, "name", getattr(params, "uri", None))
    return target if isinstance(target, str) else None


def _is_known(caller: Caller) -> bool:
    return caller.principal is not None or caller.access is not None


def _read_outcome(result: mcp.Result) -> Outcome:
    match result:
        case mcp.InputRequiredResult():
            return Outcome.INPUT_REQUIRED
        case mcp.CallToolResult(is_error=True):
            return Outcome.TOOL_ERROR
        case _:
            return Outcome.OK
