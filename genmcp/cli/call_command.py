"""`genmcp call` and `genmcp tools`: a server's tools, tried from a shell.

Layer: cli. The client is `genmcp.testing.Client`, so the whole path is the real one:
headers, validation, result checks; only the socket is missing, unless a URL is given.
"""

from __future__ import annotations

import os
import secrets
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import orjson
import trio

from genmcp.cli.access_token import TokenWatch, is_private, read_token
from genmcp.cli.asked import CAPABILITIES, AskedClient, Unanswered, describe_lack, find_answers
from genmcp.cli.remote import RemoteEndpoint, is_url
from genmcp.cli.target import UsageError, load_server
from genmcp.cli.trusted import TrustingServer
from genmcp.errors import ParseError, find_sole_leaf
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.unset import UNSET
from genmcp.testing import Client, ServerError
from genmcp.transport.asgi import StreamableHTTP
from genmcp.wire.codec import DecodeError, encode
from genmcp.wire.json_text import read_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable, Mapping

    from genmcp.testing.memory_http import ASGIApp

_ASKED_FOR: Final = (mcp.ProgressNotification.method, mcp.LoggingMessageNotification.method)


def run_tools(parsed: argparse.Namespace) -> int:
    """List the tools; return the exit status."""
    return _run(parsed, partial(_list_tools, as_json=parsed.json))


def run_call(parsed: argparse.Namespace) -> int:
    """Call the tool; return the exit status: 1 if it failed.

    Raises:
        UsageError: the arguments cannot be read, or the target is no server.
    """
    arguments = _read_arguments(parsed.arguments, parsed.pairs)
    work = partial(_call, name=parsed.tool, arguments=arguments, as_json=parsed.json)
    return _run(parsed, work, find_answers(parsed))


def _run(
    parsed: argparse.Namespace,
    work: Callable[[Client], Awaitable[int]],
    answers: AskedClient | None = None,
) -> int:
    app, path = _find_app(parsed.server)
    token = read_token()
    withheld = token is not None and is_url(parsed.server) and not is_private(parsed.server)
    token = None if withheld else token
    watch = TokenWatch(app, token=token, withheld=withheld)
    client = _ToolClient(
        watch,
        path=path,
        token=token,
        answers=answers,
        capabilities=None if answers is None else CAPABILITIES,
    )
    # Of a server that is known by its URL alone, what the client does not take is no mistake
    # of whoever calls: it is said in a line. In process, the traceback tells more.
    expected: list[type[Exception]] = [ServerError, Unanswered, OSError]
    if is_url(parsed.server):
        expected += [AssertionError, DecodeError]
    try:
        return trio.run(_work, client, work)
    except* tuple(expected) as group:
        # Wrapped in as many groups as there were nurseries on the way.
        error = find_sole_leaf(group)
    _tell(f"{_describe_error(error, parsed.server, answers)}{watch.describe()}")
    return 1


class _ToolClient(Client):
    """A client that passes over the notifications which a server sends unasked."""

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        hear: Callable[[dict[str, Any]], None] | None = None,
    ) -> dict[str, Any]:
        """Send a request, and let `hear` have progress and log records alone."""

        def hear_asked(message: dict[str, Any]) -> None:
            if hear is not None and message["method"] in _ASKED_FOR:
                hear(message)

        return await super().request(method, params, meta=meta, hear=hear_asked)


def _describe_error(error: BaseException, target: str, answers: AskedClient | None) -> str:
    match error:
        case ServerError(code=code):
            return f"error {code}: {error}{describe_lack(answers, error)}"
        case AssertionError() | DecodeError():
            return f"{target} does not keep to MCP {mcp.PROTOCOL_VERSION}: {error}"
        case _:
            return str(error)


def _find_app(target: str) -> tuple[ASGIApp, str]:
    """Return what answers at `target`, and at which path."""
    if is_url(target):
        return RemoteEndpoint(target), "/"
    server = load_server(target)
    if not isinstance(server, StreamableHTTP):
        # Any key does, for one call; without one, it would be said that there is none.
        server = StreamableHTTP(TrustingServer(server), secret_key=secrets.token_bytes(32))
    return server, server.path or "/"


async def _work(client: Client, work: Callable[[Client], Awaitable[int]]) -> int:
    async with client:
        return await work(client)


async def _list_tools(client: Client, *, as_json: bool) -> int:
    tools = await client.list_all_tools()
    if as_json:
        _print_json([encode(tool) for tool in tools])
        return 0
    width = max((len(tool.name) for tool in tools), default=0)
    for tool in tools:
        first_line = (tool.description or tool.title or "").strip().partition("\n")[0]
        _print(f"{tool.name:<{width}}  {first_line}".rstrip())
    return 0


async def _call(client: Client, *, name: str, arguments: dict[str, Any], as_json: bool) -> int:
    result = await client.call_tool(
        name, arguments, on_progress=_tell_progress, on_log=_tell_log, log_level="info"
    )
    if isinstance(result, mcp.InputRequiredResult):
        asked = ", ".join(result.input_requests or ()) or "a retry"
        _tell(f"the tool asks for input: {asked}{describe_lack(None)}")
        return 1
    if as_json and result.structured_content is not UNSET:
        _print_json(result.structured_content)
    elif as_json:
        _print_json([encode(block) for block in result.content])
    else:
        for block in result.content:
            (_tell if result.is_error else _print)(_describe(block))
    return 1 if result.is_error else 0


def _read_arguments(text: str | None, pairs: list[str]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if text is not None:
        try:
            given: Any = read_json(os.fsencode(text))
        except ParseError as error:
            raise UsageError(f"--arguments is not JSON: {error}") from None
        if not isinstance(given, dict):
            raise UsageError("--arguments must be a JSON object, such as '{\"a\": 1}'")
        arguments = cast("dict[str, Any]", given)
    read: set[str] = set()
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise UsageError(f"{pair!r} is no argument; write name=value")
        if any("\ud800" <= character <= "\udfff" for character in pair):
            raise UsageError(f"{pair!r} is not UTF-8")
        if name in read:
            raise UsageError(f"{name} is given twice; lists are given with --arguments")
        read.add(name)
        arguments[name] = value
    return arguments


def _describe(block: object) -> str:
    match block:
        case mcp.TextContent(text=text):
            return text
        case mcp.ImageContent(mime_type=mime_type) | mcp.AudioContent(mime_type=mime_type):
            return f"[{mime_type}, shown with --json]"
        case mcp.ResourceLink(uri=uri):
            return uri
        case _:
            return orjson.dumps(encode(block)).decode("utf-8")


def _tell_progress(progress: mcp.ProgressNotificationParams) -> None:
    of = "" if progress.total is None else f"/{progress.total:g}"
    _tell(f"{progress.progress:g}{of} {progress.message or ''}".rstrip())


def _tell_log(record: mcp.LoggingMessageNotificationParams) -> None:
    data = record.data if isinstance(record.data, str) else orjson.dumps(record.data).decode()
    _tell(f"{record.level}: {data}")


def _print_json(value: object) -> None:
    _print(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode("utf-8"))


def _print(text: str) -> None:
    print(text)  # noqa: T201


def _tell(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201
