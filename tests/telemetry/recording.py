"""An observer that keeps what it is told, and finds fault with the order it is told in."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from genmcp import CallEnded, CallInfo, Observer, RequestRefused


class Recorder(Observer):
    """Keeps everything. `hooks` has the names of the hooks in the order they came."""

    def __init__(self) -> None:
        self.hooks: list[str] = []
        self.calls: list[CallInfo] = []
        self.ends: list[CallEnded] = []
        self.refusals: list[RequestRefused] = []
        self.inside = 0
        self._open: dict[CallInfo, list[str]] = {}

    @property
    def end(self) -> CallEnded:
        """How the only call ended."""
        [ended] = self.ends
        assert not self._open
        assert self.inside == 0
        return ended

    def call_started(self, call: CallInfo) -> AbstractContextManager[Any] | None:
        assert call not in self._open
        self._open[call] = []
        self.calls.append(call)
        self.hooks.append("call_started")
        return self._count()

    @contextmanager
    def _count(self) -> Generator[None]:
        self.inside += 1
        yield
        self.inside -= 1

    def stream_opened(self, call: CallInfo) -> None:
        assert self._open[call] == []
        self._open[call].append("opened")
        self.hooks.append("stream_opened")

    def stream_closed(self, call: CallInfo) -> None:
        assert self._open[call] == ["opened"]
        self._open[call].append("closed")
        self.hooks.append("stream_closed")

    def call_ended(self, call: CallInfo, ended: CallEnded) -> None:
        seen = self._open.pop(call)
        assert seen == (["opened", "closed"] if ended.streamed else [])
        assert self.inside > 0, "the context is left after the end is told"
        self.ends.append(ended)
        self.hooks.append("call_ended")

    def request_refused(self, refused: RequestRefused) -> None:
        self.refusals.append(refused)
        self.hooks.append("request_refused")
