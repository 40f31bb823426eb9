"""The arguments of the `genmcp` command.

Layer: cli. Each command has a module of its own, imported when it is asked for.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

from genmcp.cli.target import SERVER_HELP, UsageError, cut_traceback

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CALL_HELP: Final = """\
Call a tool and print the text of its result; progress and logs go to stderr. What the
tool asks is answered by --answer, --answers or --decline, or else asked of you, on a
terminal. The exit status is 1 if the tool failed.
"""
_CALLED_HELP: Final = f"{SERVER_HELP}; or the URL of a server that runs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status.

    0 is success; 1 a failure (of the tool that was called, or to listen); 2 a mistake
    in what was asked for, said in one sentence. An exception in the application's own
    code comes out as it is; where the process is the command's, and that code is just being
    imported, it is shown without what led there.

    Args:
        arguments: what follows the command's name. `sys.argv` unless given, and then
            the process is the command's: `serve` sees to it that it ends.
    """
    parsed = _parse(arguments)
    try:
        return _run(parsed, arguments)
    except UsageError as error:
        print(f"genmcp {parsed.command}: error: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except KeyboardInterrupt:
        return 130  # as shells have it for SIGINT
    except Exception as error:
        if arguments is not None or not cut_traceback(error):
            raise
        sys.excepthook(type(error), error, error.__traceback__)
        return 1


def _run(parsed: argparse.Namespace, arguments: Sequence[str] | None) -> int:
    # Here, because what serves takes as long to import as all the rest.
    if parsed.command == "serve" and parsed.stdio:
        from genmcp.cli.stdio_command import run_stdio  # noqa: PLC0415

        return run_stdio(parsed, owns_process=arguments is None)
    if parsed.command == "serve":
        from genmcp.cli.serve_command import run_serve  # noqa: PLC0415

        # What runs this once more, for a worker.
        command = sys.orig_argv[1:] if arguments is None else ["-m", "genmcp", *arguments]
        command = [sys.executable, *command]
        return run_serve(parsed, command=command, owns_process=arguments is None)
    from genmcp.cli.call_command import run_call, run_tools  # noqa: PLC0415

    return run_tools(parsed) if parsed.command == "tools" else run_call(parsed)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser, commands = _make_parser(sys.argv[1:] if arguments is None else arguments)
    parsed, rest = parser.parse_known_args(arguments)
    # argparse takes all of a list in one go: what comes behind an option is left over.
    if parsed.command == "call":
        parsed.pairs += [text for text in rest if not text.startswith("-")]
        rest = [text for text in rest if text.startswith("-")]
    if rest:
        command = commands[parsed.command]
        command.error(f"there is no {' '.join(rest)}{_explain_unknown(rest[0], command)}")
    return parsed


def _explain_unknown(flag: str, command: argparse.ArgumentParser) -> str:
    name = flag.partition("=")[0]
    known = re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", command.format_help())
    if near := difflib.get_close_matches(name, known, 1):
        return f"; did you mean {near[0]}?"
    if command.prog.endswith(" call") and name.startswith("--"):
        return f"; an argument of the tool is written {name.lstrip('-') or 'name'}=..."
    return ""


def _make_parser(
    arguments: Sequence[str],
) -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    parser = argparse.ArgumentParser(prog="genmcp", description="Run MCP servers, and try them.")
    parser.add_argument("--version", action="version", version=f"genmcp {_find_version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve over HTTP, or over stdio")
    if "serve" in arguments:
        # Here, for the same reason as in `_run`.
        from genmcp.cli.serve_flags import add_serve_flags  # noqa: PLC0415

        add_serve_flags(serve)
    tools = commands.add_parser("tools", help="list the tools of a server")
    tools.add_argument("server", help=_CALLED_HELP)
    tools.add_argument("--json", action="store_true", help="print them as clients get them")
    call = commands.add_parser("call", help="call a tool", description=_CALL_HELP)
    _add_call(call)
    return parser, commands.choices


def _add_call(call: argparse.ArgumentParser) -> None:
    call.add_argument("server", help=_CALLED_HELP)
    call.add_argument("tool", help="the name of the tool")
    call.add_argument(
        "pairs",
        nargs="*",
        metavar="NAME=VALUE",
        help="an argument; the server makes a number of the text where it wants one",
    )
    call.add_argument("--arguments", metavar="JSON", help="arguments as a JSON object")
    call.add_argument("--json", action="store_true", help="print the structured result")
    call.add_argument(
        "--answer",
        action="append",
        default=[],
        metavar="KEY=JSON",
        help="answer the question KEY: a form with an object of its fields, a web page with "
        "true, either with false to decline; may be given several times",
    )
    call.add_argument("--answers", metavar="FILE", help="a JSON object of such answers by KEY")
    call.add_argument(
        "--decline", action="store_true", help="decline what is asked and has no answer"
    )


def _find_version() -> str:
    try:
        return version("genmcp")
    except PackageNotFoundError:
        return "(not installed)"
