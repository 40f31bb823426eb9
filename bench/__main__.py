"""The command: `python -m bench`."""

from __future__ import annotations

import argparse
import datetime
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

import attrs

from bench.environments import install, lock, read_versions
from bench.machine import describe_machine, read_load
from bench.peers import PEERS, ROOT, Peer, Unavailable
from bench.plan import PLAN
from bench.record import Run, read_record, render_record
from bench.report import render_report
from bench.rounds import run_rounds
from bench.work import QUICK, Effort

PAGE: Final = ROOT / "docs" / "performance.md"
RESULTS: Final = ROOT / "bench" / "results.json"

_EFFORT: Final = ("rounds", "long_rounds", "seconds")

T = TypeVar("T")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 1 if anything failed."""
    options = _make_parser().parse_args(arguments)
    # Left by an exception, so that the servers are stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    try:
        if options.lock:
            lock()
            return 0
    except (Unavailable, subprocess.SubprocessError) as error:
        say(f"bench: {error}")
        return 2
    run = read_record(RESULTS.read_text(encoding="utf-8")) if options.render else _run(options)
    page = render_report(run)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")
        RESULTS.write_text(render_record(run), encoding="utf-8")
    print(page)  # noqa: T201 - what the command is for
    return 1 if run.results.failures else 0


def say(text: str) -> None:
    """Say what is being done, beside the report."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - as above


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure genmcp beside its peers, in turn."
    )
    default = ",".join(peer.name for peer in PEERS.values() if peer.by_default)
    parser.add_argument("--peers", help=f"of {', '.join(PEERS)} ({default})", default=default)
    parser.add_argument("--work", help=f"of {', '.join(PLAN)} (all)", default=",".join(PLAN))
    parser.add_argument("--quick", action="store_true", help="roughly, in a minute or two")
    parser.add_argument("--rounds", type=int, help=f"how often ({Effort().rounds})")
    parser.add_argument(
        "--long-rounds", type=int, help=f"for parked streams ({Effort().long_rounds})"
    )
    parser.add_argument("--seconds", type=float, help=f"of each run ({Effort().seconds:g})")
    parser.add_argument(
        "--write", action="store_true", help="write docs/performance.md and bench/results.json"
    )
    parser.add_argument(
        "--render", action="store_true", help="report what bench/results.json has, as it is"
    )
    parser.add_argument(
        "--lock", action="store_true", help="write the peers' pins anew, and measure nothing"
    )
    return parser


def _run(options: argparse.Namespace) -> Run:
    effort = QUICK if options.quick else Effort()
    for name in _EFFORT:
        if getattr(options, name) is not None:
            effort = attrs.evolve(effort, **{name: getattr(options, name)})
    peers, unavailable = _install_all(_choose(options.peers, PEERS, "peer"))
    plan = _choose(options.work, PLAN, "work")
    versions = {peer.name: read_versions(peer) for peer in peers}
    load = read_load()
    results = run_rounds(plan, peers, effort, say)
    return Run(
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        machine=describe_machine(),
        load_average=f"{load} before, {read_load()} after",
        versions=versions,
        unavailable=unavailable,
        command=_render_command(options),
        effort=effort,
        plan=plan,
        peers=peers,
        results=results,
    )


def _choose(text: str, choices: Mapping[str, T], what: str) -> list[T]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in choices:
            raise SystemExit(f"there is no {what} {name!r}, only {', '.join(choices)}")
    return [choice for name, choice in choices.items() if name in names]


def _install_all(peers: Sequence[Peer]) -> tuple[list[Peer], dict[str, str]]:
    """Return those that can be measured, and why the others cannot."""
    found, unavailable = [], {}
    for peer in peers:
        try:
            say(f"{peer.title} ...")
            install(peer)
            peer.find_runtime()
        except Unavailable as error:
            say(f"{peer.title} is left out: {error}")
            unavailable[peer.name] = str(error)
        else:
            found.append(peer)
    return found, unavailable


def _render_command(options: argparse.Namespace) -> str:
    parser = _make_parser()
    words = [".venv/bin/python -m bench"]
    words += [
        f"--{name.replace('_', '-')} {getattr(options, name)}"
        for name in ("peers", "work", *_EFFORT)
        if getattr(options, name) != parser.get_default(name)
    ]
    words += [f"--{name}" for name in ("quick", "write") if getattr(options, name)]
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main())
