"""One run of the bench: what there is to say about it, and how it is kept as JSON.

`bench/results.json` has every sample, for whoever wants to compare with another run, and
so that the page can be written anew from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from bench.peers import PEERS, Peer
from bench.plan import PLAN
from bench.rounds import Results
from bench.work import Effort, Work


@attrs.frozen(kw_only=True)
class Run:
    """One run of the bench, and all that there is to say about it.

    Attributes:
        date: the day, as YYYY-MM-DD.
        machine: what it ran on.
        load_average: what else the machine was doing, before and after.
        versions: by the names of peers.
        unavailable: the peers that could not be measured, and why.
        command: what repeats it.
        effort: how thoroughly it measured.
        plan: what it measured.
        peers: who was measured.
        results: what it found.
    """

    date: str
    machine: Mapping[str, str]
    load_average: str
    versions: Mapping[str, Mapping[str, str]]
    unavailable: Mapping[str, str]
    command: str
    effort: Effort
    plan: Sequence[Work]
    peers: Sequence[Peer]
    results: Results


def render_record(run: Run) -> str:
    """Return the run as JSON, figures to five digits."""
    record: dict[str, Any] = {
        "date": run.date,
        "machine": run.machine,
        "load_average": run.load_average,
        "versions": run.versions,
        "unavailable": run.unavailable,
        "command": run.command,
        "effort": attrs.asdict(run.effort),
        "plan": [work.name for work in run.plan],
        "peers": [peer.name for peer in run.peers],
        "failures": run.results.failures,
        "samples": {
            work: {peer: [_round_all(sample) for sample in samples] for peer, samples in by.items()}
            for work, by in run.results.samples.items()
        },
    }
    return json.dumps(record, indent=1) + "\n"


def _round_all(sample: Mapping[str, float]) -> dict[str, float]:
    return {key: float(f"{value:.5g}") for key, value in sample.items()}


def read_record(text: str) -> Run:
    """Return the run that `render_record` made this of.

    Raises:
        KeyError: it is of work or peers that there are no longer.
    """
    record = json.loads(text)
    results = Results(record.pop("samples"), record.pop("failures"))
    effort = Effort(**record.pop("effort"))
    plan = [PLAN[name] for name in record.pop("plan")]
    peers = [PEERS[name] for name in record.pop("peers")]
    return Run(effort=effort, plan=plan, peers=peers, results=results, **record)
