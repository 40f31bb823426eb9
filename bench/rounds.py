"""Runs everything in turn, A B A B, and keeps the samples.

In each round the servers are started anew, so that what differs from one start to the
next is in the spread; and each work is done by one peer after the other before the next
work begins, so that what else the machine does hits them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    results = Results()
    for number in range(effort.rounds):
        say(f"round {number + 1} of {effort.rounds}")
        for style in Style:
            shared = [work for work in plan if work.setting == "shared" and work.style is style]
            if shared:
                _run_shared(shared, style, peers, effort, results, say)
        for work in plan:
            if work.setting == "alone" and number < effort.long_rounds:
                _run_alone(work, peers, effort, results, say)
            if work.setting == "none":
                for peer in _find_suited([work], peers):
                    _run(work, ServerProcess(peer, work.style), effort, results, say)
    return results


def _run_shared(
    plan: Sequence[Work],
    style: Style,
    peers: Sequence[Peer],
    effort: Effort,
    results: Results,
    say: Say,
) -> None:
    """Start a server of each peer, and do all this work with them."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(ServerProcess(peer, style)) for peer in _find_suited(plan, peers)
        ]
        opened = [server for server in servers if _open(server, plan, results)]
        for work in plan:
            for server in opened:
                if work.suits(server.peer):
                    _run(work, server, effort, results, say)


def _run_alone(
    work: Work, peers: Sequence[Peer], effort: Effort, results: Results, say: Say
) -> None:
    for peer in _find_suited([work], peers):
        with ServerProcess(peer, work.style) as server:
            if _open(server, [work], results):
                _run(work, server, effort, results, say)


def _find_suited(plan: Iterable[Work], peers: Sequence[Peer]) -> list[Peer]:
    plan = list(plan)
    return [peer for peer in peers if any(work.suits(peer) for work in plan)]


def _open(server: ServerProcess, plan: Sequence[Work], results: Results) -> bool:
    """Wait for a server; return whether it is there."""
    try:
        server.wait_until_open()
    except LoadError as error:
        for work in plan:
            if work.suits(server.peer):
                results.fail(work, server.peer, str(error))
        return False
    return True


def _run(work: Work, server: ServerProcess, effort: Effort, results: Results, say: Say) -> None:
    try:
        sample = work.run(server, effort)
    except (LoadError, WrongAnswer, OSError) as error:
        results.fail(work, server.peer, str(error))
        say(f"  {work.name:20} {server.peer.name:12} failed: {error}")
        return
    results.add(work, server.peer, sample)
    shown = "  ".join(f"{key} {value:.4g}" for key, value in sample.items())
    say(f"  {work.name:20} {server.peer.name:12} {shown}")
