"""`make soak`: everything at once, for some minutes.

python -m tests.soak                        three minutes in all
python -m tests.soak --seconds 3600         an hour
python -m tests.soak --front hypercorn      only that front door
"""

from __future__ import annotations

import argparse
import secrets
import sys

import trio

from tests.fuzz.judge import WrongAnswerError
from tests.fuzz.target import CanaryError, Front
from tests.soak.inside import soak_inside
from tests.soak.process import soak_process


def main() -> int:
    """Run what the command line says; return 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--front", choices=["native", "hypercorn"])
    parser.add_argument("--seconds", type=float, default=180.0, help="for all parts together")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    asked = parser.parse_args()
    print(f"seed {asked.seed}")  # noqa: T201 - for whoever ran it
    every: list[Front] = ["native", "hypercorn"]
    fronts = [one for one in every if asked.front in {None, one}]
    wrong: list[str] = []
    for front in fronts:
        for soak in (soak_process, soak_inside):
            print(f"{front}, {soak.__name__}:")  # noqa: T201 - for whoever ran it
            try:
                wrong += trio.run(soak, front, asked.seconds / len(fronts) / 2, asked.seed)
            except* (CanaryError, WrongAnswerError) as failed:
                wrong += [f"a client noticed: {one}" for one in failed.exceptions]
    for one in wrong[:50]:
        print(f"WRONG {one}")  # noqa: T201 - for whoever ran it
    return 1 if wrong else 0


sys.exit(main())
