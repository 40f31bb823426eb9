"""Runs everything in turn, A B A B, and keeps the samples.

In each round the servers are started anew, so that what differs from one start to the
next is in the spread; and each work is done by one peer after the other before the next
work begins, so that what else the machine does hits them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TypeAlias

import attrs

from bench.peers import Peer, Style
from bench.requests import WrongAnswer
from bench.responses import LoadError
from bench.server_process import ServerProcess
from bench.work import Effort, Sample, Work

Say: TypeAlias = Callable[[str], None]


@attrs.frozen
class Results:
    """The samples of each work and peer, in the order of the rounds.

    Attributes:
        samples: by the names of work and peer.
        failures: what went wrong, by the same.
    """

    samples: dict[str, dict[str, list[Sample]]] = attrs.field(factory=dict)
    failures: dict[str, dict[str, str]] = attrs.field(factory=dict)

    def add(self, work: Work, peer: Peer, sample: Sample) -> None:
        """Keep a sample."""
        self.samples.setdefault(work.name, {}).setdefault(peer.name, []).append(sample)

    def fail(self, work: Work, peer: Peer, reason: str) -> None:
        """Keep why there is none."""
        self.failures.setdefault(work.name, {})[peer.name] = reason


def run_rounds(plan: Sequence[Work], peers: Sequence[Peer], effort: Effort, say: Say) -> Results:
    """Run all rounds of all work.

    Args:
        plan: what is measured.
        peers: who, all of them installed.
        effort: how thoroughly.
        say: is told what is being done.
    """
    rounds = _Rounds(peers, effort, say)
    for number in range(effort.rounds):
        say(f"round {number + 1} of {effort.rounds}")
        for style in Style:
            shared = [work for work in plan if work.setting == "shared" and work.style is style]
            rounds.run_shared(shared, style)
        for work in plan:
            if work.setting == "alone" and number < effort.long_rounds:
                rounds.run_alone(work)
            if work.setting == "none":
                rounds.run_unserved(work)
    return rounds.results


@attrs.frozen
class _Rounds:
    peers: Sequence[Peer]
    effort: Effort
    say: Say
    results: Results = attrs.field(init=False, factory=Results)

    def run_shared(self, plan: Sequence[Work], style: Style) -> None:
        """Start a server of each peer, and do all this work with them."""
        with ExitStack() as stack:
            servers = [
                stack.enter_context(ServerProcess(peer, style)) for peer in self._find_suited(plan)
            ]
            opened = [server for server in servers if self._open(server, plan)]
            for work in plan:
                for server in opened:
                    if work.suits(server.peer):
                        self._run(work, server)

    def run_alone(self, work: Work) -> None:
        """Do this work with one server after the other."""
        for peer in self._find_suited([work]):
            with ServerProcess(peer, work.style) as server:
                if self._open(server, [work]):
                    self._run(work, server)

    def run_unserved(self, work: Work) -> None:
        """Do work that starts its servers itself."""
        for peer in self._find_suited([work]):
            self._run(work, ServerProcess(peer, work.style))

    def _find_suited(self, plan: Sequence[Work]) -> list[Peer]:
        return [peer for peer in self.peers if any(work.suits(peer) for work in plan)]

    def _open(self, server: ServerProcess, plan: Sequence[Work]) -> bool:
        """Wait for a server; return whether it is there."""
        try:
            server.wait_until_open()
        except LoadError as error:
            for work in plan:
                if work.suits(server.peer):
                    self.results.fail(work, server.peer, str(error))
            return False
        return True

    def _run(self, work: Work, server: ServerProcess) -> None:
        label = f"  {work.name:20} {server.peer.name:12}"
        try:
            sample = work.run(server, self.effort)
        except (LoadError, WrongAnswer, OSError) as error:
            self.results.fail(work, server.peer, str(error))
            self.say(f"{label} failed: {error}")
            return
        self.results.add(work, server.peer, sample)
        self.say(label + "".join(f"  {key} {value:.4g}" for key, value in sample.items()))
