"""One thing that is measured: what every kind of it has in common.

The kinds are in `calls`, `progress`, `parked` and `startup`; `plan` lists all work.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import attrs

from bench.peers import Peer, Style
from bench.server_process import ServerProcess

Sample: TypeAlias = Mapping[str, float]
"""What one run found: the values of the figures, by name. One that is missing is unknown."""


@attrs.frozen
class Figure:
    """One number that a work finds, and one row of the table.

    Attributes:
        key: its name in samples.
        title: what the row is called, after the title of the work.
        unit: what it is counted in.
        more_is_better: whether a larger one is.
        digits: how many decimals are shown.
        compared: whether a ratio of it says anything.
    """

    key: str
    title: str
    unit: str
    more_is_better: bool = False
    digits: int = 0
    compared: bool = True


@attrs.frozen(kw_only=True)
class Effort:
    """How thoroughly to measure.

    Attributes:
        rounds: how often everything is repeated.
        long_rounds: how often what takes long, and varies little, is.
        seconds: how long each run of requests takes.
        warm_up_seconds: how long it is run before, for nothing.
        settle_seconds: how long parked streams are left alone before they are watched.
        idle_seconds: how long parked streams are watched. A keepalive of each of them
            falls into 15 s.
        starts: how many starts and imports make one sample.
        scale: what share of the streams are parked, and of the notifications sent.
    """

    rounds: int = 5
    long_rounds: int = 2
    seconds: float = 2.0
    warm_up_seconds: float = 0.5
    settle_seconds: float = 1.0
    idle_seconds: float = 16.0
    starts: int = 3
    scale: float = 1.0


QUICK: Final = Effort(
    rounds=2,
    long_rounds=1,
    seconds=0.4,
    warm_up_seconds=0.1,
    idle_seconds=0.5,
    starts=1,
    scale=0.1,
)


class Work(ABC):
    """What is measured.

    Attributes:
        name: what it is called on the command line.
        title: what it is called in tables.
        figures: what it finds.
        style: which server it is asked of.
        setting: what each run is given. `shared`: a server that all such work of the
            round has; `alone`: one of its own, which takes long, so that such work is
            run `long_rounds` times; `none`: it starts what it needs itself.
    """

    name: str
    title: str
    figures: Sequence[Figure]
    style: Style = Style.CALLS
    setting: Literal["shared", "alone", "none"] = "shared"

    def suits(self, peer: Peer) -> bool:
        """Say whether `peer` is to do it."""
        return not peer.calls_only

    @abstractmethod
    def run(self, server: ServerProcess, effort: Effort) -> Sample:
        """Do it once.

        Args:
            server: the server, which is open, unless `setting` is `none`.
            effort: how long.

        Raises:
            LoadError, WrongAnswer: the server does not answer as it should.
        """
