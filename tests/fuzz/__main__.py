"""`make fuzz`: attack both front doors, each for a while.

python -m tests.fuzz                          a minute each, with a seed of its own
python -m tests.fuzz --seed 7 --seconds 10    the attacks of another run once more
python -m tests.fuzz --seed 7 --only 1234     one of them, printed and carried out
"""

from __future__ import annotations

import argparse
import secrets
import sys
from functools import partial

import trio

from tests.fuzz.attack import plan
from tests.fuzz.campaign import run_campaign
from tests.fuzz.corpus import make_corpus
from tests.fuzz.target import Front


def main() -> int:
    """Run what the command line says; return 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--front", choices=["native", "hypercorn"])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each front door")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this one attack")
    asked = parser.parse_args()
    print(f"seed {asked.seed}")  # noqa: T201 - for whoever ran it
    if asked.only is not None:
        print(plan(asked.seed, asked.only, make_corpus()))  # noqa: T201 - for whoever ran it
    fronts: list[Front] = ["native", "hypercorn"]
    found = [_attack(front, asked) for front in fronts if asked.front in {None, front}]
    return 1 if any(found) else 0


def _attack(front: Front, asked: argparse.Namespace) -> bool:
    only = None if asked.only is None else range(asked.only, asked.only + 1)
    findings = trio.run(
        partial(run_campaign, front, asked.seed, attacks=only, seconds=asked.seconds)
    )
    statuses = ", ".join(f"{status}: {n}" for status, n in sorted(findings.statuses.items()))
    print(f"{front}: {findings.attacks} attacks, {findings.calls} good calls; {statuses}")  # noqa: T201 - for whoever ran it
    for one in findings.wrong[:50]:
        print(f"  WRONG {one}")  # noqa: T201 - for whoever ran it
    return bool(findings.wrong)


sys.exit(main())
