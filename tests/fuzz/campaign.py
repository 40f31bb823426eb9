"""Many attacks at a time on one server, and the verdict at the end."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import attrs
import trio

from tests.fuzz.attack import carry_out, judge_heard, plan
from tests.fuzz.corpus import make_corpus
from tests.fuzz.judge import WrongAnswerError
from tests.fuzz.target import CanaryError, Front, Target, is_within, under_attack

AT_A_TIME = 32


@attrs.define
class Findings:
    """What came of a campaign.

    Attributes:
        attacks: how many were carried out.
        statuses: how often each HTTP status was the answer to one.
        calls: how many good calls were answered meanwhile.
        wrong: what should not have been, one line each.
    """

    attacks: int = 0
    statuses: Counter[int] = attrs.field(factory=Counter[int])
    calls: int = 0
    wrong: list[str] = attrs.field(factory=list[str])


async def run_campaign(
    front: Front, seed: int, *, attacks: range | None = None, seconds: float = math.inf
) -> Findings:
    """Attack one server.

    Args:
        front: which server speaks HTTP.
        seed: decides on all attacks, each by its number.
        attacks: their numbers; all there are, one after the other, unless given.
        seconds: no new one is begun after that.
    """
    findings = Findings()
    numbers = iter(attacks if attacks is not None else itertools.count())
    async with under_attack(front) as target:
        before = target.count()
        try:
            await _attack(target, seed, numbers, seconds, findings)
        except* (CanaryError, WrongAnswerError, OSError, trio.BrokenResourceError) as failed:
            findings.wrong.append(f"whoever uses the server noticed: {failed.exceptions!r}")
        after = await target.settle(before)
        if not is_within(after, before):
            findings.wrong.append(f"left behind: {after}, and before there was {before}")
        findings.calls = target.calls_made
    findings.wrong += target.log.errors
    return findings


async def _attack(
    target: Target, seed: int, numbers: Iterator[int], seconds: float, findings: Findings
) -> None:
    async with trio.open_nursery() as users:
        await users.start(target.listen)
        users.start_soon(target.live)
        users.start_soon(_publish, target)
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as attackers:
                for _ in range(AT_A_TIME):
                    attackers.start_soon(_go_on_attacking, target, seed, numbers, findings)
        # Both have lived through it.
        calls, heard = target.calls_made, target.heard
        with trio.move_on_after(10):
            while target.calls_made < calls + 3 or target.heard < heard + 2:  # noqa: ASYNC110 - counts
                await trio.sleep(0.01)
            users.cancel_scope.cancel()
            return
        raise CanaryError("the server does not answer any more")


async def _publish(target: Target) -> None:
    while True:
        target.bus.tools_changed()
        await trio.sleep(0.02)


async def _go_on_attacking(
    target: Target, seed: int, numbers: Iterator[int], findings: Findings
) -> None:
    corpus = make_corpus()
    for number in numbers:
        attack = plan(seed, number, corpus)
        heard = await carry_out(attack, target.port)
        findings.attacks += 1
        try:
            findings.statuses.update(one.status for one in judge_heard(attack, heard))
        except WrongAnswerError as error:
            findings.wrong.append(str(error))
