"""The table, as Markdown: on the terminal, and as docs/performance.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.comparison import Spread, compare, find_spread
from bench.peers import PEERS, SOURCE
from bench.record import Run
from bench.targets import TARGETS
from bench.work import Figure, Work

_INTRODUCTION: Final = """\
# Performance

<!-- Written by `python -m bench --write`. -->

How fast genmcp is, beside its peers: the same tools, written once per framework, asked
the same bytes of HTTP on the same machine in turn, in protocol version `2026-07-28`.
"""

_WHERE: Final = """\
## Where the time of a call goes

Sampled with `perf` and `py-spy` while 32 connections asked for a trivial tool (2026-11-30,
on such a machine when it had little else to do, some 105 µs a call). Since then a seventh of
the instructions outside of the system was taken off, most of it from messages and JSON.

| part | share |
|---|---|
| system calls; half of it is waking the process that is answered | 19 % |
| trio: waiting for a socket, taking turns | 15 % |
| the message to objects, and the result back: `_meta`, parameters, who is calling | 14 % |
| the call: its scope, its channel, limits, its record, its one ending | 11 % |
| HTTP: the connection, the head, the response | 10 % |
| JSON: text to values and back, with the checks that parsers leave out | 6 % |
| the suite: finding the tool, scopes, rates, what came back | 6 % |
| the arguments: JSON Schema, then the class | 5 % |
| the endpoint: path, `Host`, `Origin`, the order of checks | 4 % |
| the tool itself | under 1 % |
| not told apart: the interpreter, memory | 10 % |

0.35 of the bare limit would be 57 µs. System calls and trio alone are 36 of them, and the
21 that are left are what JSON and the checks of it take together with HTTP: nothing would be
left for a protocol. Nor is there one thing to be made faster: a call runs some 200 functions
in Python, and the largest of them takes 4 %. Compiled with Cython, as they are, they take 3 %
fewer instructions; mypyc does not take the classes of the protocol. So that target stands
here as not met, and is not expected to be in Python.
"""

_HOW: Final = """\
## How it is measured

- The load is one process, the server another, over loopback. The load is a closed loop:
  so many keep-alive connections, each asking again as soon as it is answered. It checks
  every answer: the status, and every byte of the body.
- The peers are installed at the versions above, in environments of their own. The Python
  ones run on uvicorn with uvloop and httptools, stateless and with JSON responses, which
  is their faster documented way; where notifications are sent, with event streams, as
  JSON responses drop them. The TypeScript SDK runs on node's HTTP server. Each is one
  process, and writes no access log. genmcp runs by `serve`, as it does by default.
- In each round every server is started anew, and does each work right after its peers
  did it: A B A B. A number is the median of the rounds. A ratio is the median of those of
  the rounds, with the lowest and the highest of them in brackets: the two that are compared
  ran one after the other, and what else the machine did may have lasted for a round.
- Processor time is what the system charges to the server's process for each answer. On a
  machine that others use too it is steadier than rates, and says what a rate would be on
  a processor of its own.
- Memory is that of the process alone, and grows by so much for each stream; what the
  kernel holds for a connection comes on top, for everybody.
- `import` is of `genmcp`, `mcp.server`, `fastmcp.FastMCP` (as `fastmcp` alone puts off all
  its work) and `@modelcontextprotocol/server`, in a new process. `genmcp` puts off most of
  its own too, so the row after it says more: a module with a server of one tool, and all
  that it imports to be served. Bytecode is compiled before, as installers do.
- `genmcp serve` also has the garbage collector run less often, which `serve` leaves to its
  caller: the column of the command has that in it, and so has the one of two workers, which
  are compared with it. Two workers and the load are three processes: on fewer than three
  cores they are in each other's way.
- All requests of a kind have the same bytes, as those of a client have that calls one tool in
  a loop, and genmcp does not parse a head again that it has parsed on the connection. The
  row "with a trace of its own" is of requests whose heads all differ.
- The bare limit is a trio loop that parses requests with httptools and answers all of
  them with the same bytes: what a server on trio in one process could reach at most.
"""


def render_report(run: Run) -> str:
    """Return the whole page."""
    parts = [_INTRODUCTION, "\n".join(_render_setting(run)), "\n".join(_render_targets(run))]
    parts += ["## Ratios\n", *_render_ratios(run), "## Figures\n", "\n".join(_render_figures(run))]
    parts += ["\n".join(_render_failures(run)), _WHERE, _HOW, _render_repeat(run)]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts if part.strip())


def _render_setting(run: Run) -> Iterator[str]:
    yield "| measured | |"
    yield "|---|---|"
    yield f"| date | {run.date} |"
    for name, value in run.machine.items():
        yield f"| {name} | {value} |"
    effort = run.effort
    yield f"| rounds | {effort.rounds} of {effort.seconds:g} s for each work and peer |"
    if effort.scale != 1:
        yield f"| scale | {effort.scale:.0%} of the streams and notifications |"
    yield f"| load average | {run.load_average} |"
    for peer in run.peers:
        versions = ", ".join(f"{name} {value}" for name, value in run.versions[peer.name].items())
        if versions:
            yield f"| {peer.title} | {versions} |"
    for name, reason in run.unavailable.items():
        yield f"| {PEERS[name].title} | not measured: {reason} |"
    yield ""


def _render_targets(run: Run) -> Iterator[str]:
    yield "## Targets"
    yield ""
    yield "| wanted | | found | |"
    yield "|---|---|---|---|"
    for target in TARGETS:
        bound = f"at {'most' if target.at_most else 'least'} {target.wanted:g} {target.unit}"
        found = target.find(run.results)
        if found is None:
            yield f"| {target.title} | {bound} | not measured | |"
        else:
            met = "met" if target.is_met(found) else "**not met**"
            yield f"| {target.title} | {bound} | {_show_ratio(found)} | {met} |"
    yield ""


def _render_ratios(run: Run) -> Iterator[str]:
    others = [peer for peer in run.peers if peer.name != SOURCE]
    if not others:
        return
    yield "How many times as good genmcp is: above 1, it is the better one.\n"
    lines = ["| | " + " | ".join(peer.title for peer in others) + " |"]
    lines.append("|---" * (len(others) + 1) + "|")
    for work, figure in _list_figures(run):
        if not figure.compared:
            continue
        ratios = [compare(run.results, work, figure, peer.name) for peer in others]
        if any(ratios):
            cells = " | ".join("" if ratio is None else _show_ratio(ratio) for ratio in ratios)
            lines.append(f"| {work.title}: {figure.title} | {cells} |")
    yield "\n".join(lines)


def _render_figures(run: Run) -> Iterator[str]:
    yield "| | unit | " + " | ".join(peer.title for peer in run.peers) + " |"
    yield "|---" * (len(run.peers) + 2) + "|"
    for work, figure in _list_figures(run):
        spreads = [find_spread(run.results, work.name, peer.name, figure.key) for peer in run.peers]
        if any(spreads):
            cells = " | ".join(_show_value(spread, figure) for spread in spreads)
            yield f"| {work.title}: {figure.title} | {figure.unit} | {cells} |"
    yield ""


def _list_figures(run: Run) -> Iterator[tuple[Work, Figure]]:
    for work in run.plan:
        for figure in work.figures:
            yield work, figure


def _render_failures(run: Run) -> Iterator[str]:
    failures = [
        f"| {work.title} | {PEERS[name].title} | {_show_text(reason)} |"
        for work in run.plan
        for name, reason in run.results.failures.get(work.name, {}).items()
    ]
    if failures:
        yield "## What failed"
        yield ""
        yield "| | | |"
        yield "|---|---|---|"
        yield from failures
        yield ""


def _render_repeat(run: Run) -> str:
    return f"""\
## How to repeat it

`make bench` installs the peers below `build/bench`, runs everything, and prints this page;
the TypeScript SDK takes a node of version 22 or newer. These results are of:

<!-- not run: takes half an hour, and downloads the peers -->

```bash
{run.command}
```

`--quick` takes a minute or two, `--peers` and `--work` narrow it down, `--help` tells the
rest.
"""


def _show_ratio(spread: Spread) -> str:
    if spread.low == spread.high:
        return _show_number(spread.median)
    low, high = _show_number(spread.low), _show_number(spread.high)
    return f"{_show_number(spread.median)} ({low} to {high})"


def _show_number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"  # noqa: PLR2004 - three digits either way


def _show_value(spread: Spread | None, figure: Figure) -> str:
    return "" if spread is None else f"{spread.median:,.{figure.digits}f}"


def _show_text(text: str) -> str:
    return " ".join(text.replace("|", "/").split())
