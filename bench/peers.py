"""Who is measured, and how each is started.

`bench.environments` installs those that are not this repository.
"""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from tests.conformance.node import NodeMissing, find_node

ROOT: Final = Path(__file__).parents[1]
SERVERS: Final = Path(__file__).parent / "servers"
INSTALLED: Final = ROOT / "build" / "bench"
"""Where peers are installed. Not kept in the repository."""

SOURCE: Final = "genmcp"
"""The name of the peer that all others are compared with."""


class Style(enum.Enum):
    """Which server a framework is asked to be: some are set up differently for each."""

    CALLS = "calls"
    """The five tools, where nothing is streamed."""
    STREAMS = "streams"
    """The five tools, and whatever streaming needs."""
    CATALOG = "catalog"
    """200 tools, to be listed."""


class Unavailable(Exception):
    """A peer cannot be run here. The message says why."""


@attrs.frozen
class Runtime:
    """What a peer is run with.

    Attributes:
        command: starts a server, but for `--port` and `--style`.
        takes_style: whether there is a `--style`; without one it serves `Style.CALLS`.
        import_command: imports the framework once, and prints how many seconds that
            took by the clock and on the processor. Empty where that says nothing.
        definition_command: does and prints the same, with a server and its one tool
            defined besides.
    """

    command: Sequence[str]
    takes_style: bool = attrs.field(default=True, kw_only=True)
    import_command: Sequence[str] = ()
    definition_command: Sequence[str] = ()


@attrs.frozen
class Peer:
    """One that is measured.

    Attributes:
        name: what it is called on the command line.
        title: what it is called in tables.
        packages: the distributions whose versions say what was measured.
        requirements: the file with its pins, if it has an environment of its own.
        environment: the folder of that environment, below `INSTALLED`.
        find_runtime: what it is run with, once installed. Raises `Unavailable`.
        listens: whether it answers `subscriptions/listen`.
        calls_only: whether only the work is done with it that is shared by all peers.
        by_default: whether it is measured when no peers are named.
    """

    name: str
    title: str
    packages: Sequence[str]
    find_runtime: Callable[[], Runtime]
    requirements: str = ""
    environment: str = ""
    listens: bool = True
    calls_only: bool = False
    by_default: bool = True


def make_variables() -> dict[str, str]:
    """Return the environment of what is measured: ours, but that bytecode is kept.

    Where it is not, every start compiles anew whatever no installer has compiled: of all
    that is measured, this repository's own code alone.
    """
    variables = dict(os.environ)
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables


_TIMED: Final = (
    f"import sys, time; sys.path.append({str(SERVERS)!r}); "
    "wall, cpu = time.perf_counter(), time.process_time(); {statement}; "
    "print(time.perf_counter() - wall, time.process_time() - cpu)"
)
_TIMED_NODE: Final = (
    "const wall = performance.now(), cpu = process.cpuUsage();"
    "{statement};"
    "const used = process.cpuUsage(cpu);"
    "console.log((performance.now() - wall) / 1e3, (used.user + used.system) / 1e6);"
)
_NODE_IMPORT: Final = "const { McpServer } = await import('@modelcontextprotocol/server')"
_NODE_DEFINITION: Final = (
    f"{_NODE_IMPORT}; const z = await import('zod/v4');"
    "const server = new McpServer({ name: 'bench', version: '1.0.0' });"
    "const inputSchema = z.object({ a: z.number(), b: z.number() });"
    "const say = (text) => ({ content: [{ type: 'text', text }] });"
    "server.registerTool('add', { description: 'Add two numbers.', inputSchema },"
    " async ({ a, b }) => say(String(a + b)))"
)


def _own_runtime() -> Runtime:
    # As a module, from the repository's root: what is measured is the genmcp that
    # this process has, checked out or installed.
    return Runtime(
        [sys.executable, "-m", "bench.servers.on_genmcp"],
        _time(sys.executable, "import genmcp"),
        _time(sys.executable, "import small_on_genmcp"),
    )


def _command_runtime(*flags: str) -> Runtime:
    command = [sys.executable, "-m", "genmcp", "serve", "bench/servers/on_genmcp.py:suite"]
    return Runtime([*command, "--log-level", "warning", *flags], takes_style=False)


def _worker_runtime() -> Runtime:
    return _command_runtime("--workers", "2")


def _bare_runtime() -> Runtime:
    return Runtime([sys.executable, "-m", "bench.servers.bare"])


def _python_runtime(framework: str, statement: str, *options: str) -> Runtime:
    python = str(INSTALLED / framework / "bin" / "python")
    return Runtime(
        [python, str(SERVERS / f"on_{framework}.py"), *options],
        _time(python, statement),
        _time(python, f"import small_on_{framework}"),
    )


def _time(python: str, statement: str) -> Sequence[str]:
    return [python, "-c", _TIMED.replace("{statement}", statement)]


def _typescript_runtime() -> Runtime:
    try:
        node = [*find_node().node]
    except NodeMissing as error:
        raise Unavailable("there is no node of version 22 or newer") from error
    folder = INSTALLED / "typescript"
    # In the folder of its dependencies, as node looks for them from the script upwards.
    return Runtime(
        [*node, str(folder / "on_typescript.mjs")],
        *(
            [*node, "--input-type=module", "-e", _TIMED_NODE.replace("{statement}", statement)]
            for statement in (_NODE_IMPORT, _NODE_DEFINITION)
        ),
    )


PEERS: Final[Mapping[str, Peer]] = {
    peer.name: peer
    for peer in (
        Peer(SOURCE, "genmcp", ["genmcp", "trio", "httptools", "attrs", "orjson"], _own_runtime),
        Peer("command", "`genmcp serve`", [], _command_runtime, calls_only=True),
        Peer("workers", "`genmcp serve`, 2 workers", [], _worker_runtime, calls_only=True),
        Peer(
            "sdk",
            "Python SDK",
            ["mcp", "uvicorn", "uvloop", "httptools", "starlette", "pydantic"],
            lambda: _python_runtime("sdk", "import mcp.server"),
            "requirements-sdk.txt",
            "sdk",
        ),
        Peer(
            "sdk-plain",
            "Python SDK, no uvloop",
            ["mcp", "uvicorn", "h11"],
            lambda: _python_runtime("sdk", "import mcp.server", "--plain"),
            "requirements-sdk.txt",
            "sdk",
            by_default=False,
        ),
        Peer(
            "fastmcp",
            "FastMCP",
            ["fastmcp", "mcp", "uvicorn", "uvloop", "httptools"],
            lambda: _python_runtime("fastmcp", "import fastmcp; fastmcp.FastMCP"),
            "requirements-fastmcp.txt",
            "fastmcp",
            listens=False,
        ),
        Peer(
            "typescript",
            "TypeScript SDK",
            ["@modelcontextprotocol/server", "@modelcontextprotocol/node"],
            _typescript_runtime,
            "package-lock.json",
            "typescript",
        ),
        Peer(
            "bare",
            "bare trio + httptools",
            ["trio", "httptools"],
            _bare_runtime,
            listens=False,
            calls_only=True,
        ),
    )
}
