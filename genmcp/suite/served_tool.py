"""A tool as the Suite serves it, worked out before any call.

Layer: suite. `genmcp.suite.tools` lists and finds these, `genmcp.suite.tool_call`
calls them.

Spec: server/tools#data-types
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, cast

import attrs

from genmcp.errors import say_whose
from genmcp.events import EncodeError
from genmcp.limits import read_own_rate_limit
from genmcp.providers.cache_control import CacheHints, read_cache_control
from genmcp.providers.param_headers import ParamHeader, read_param_headers
from genmcp.providers.tool import Tool
from genmcp.suite.provider_source import make_provider
from genmcp.suite.scopes import ask_scopes
from genmcp.value import Value
from genmcp.wire.codec import encode
from genmcp.wire.json_text import write_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from genmcp.limits import OwnRateLimit
    from genmcp.mcp import v2607 as mcp
    from genmcp.providers.extension import ToolSource
    from genmcp.wire.output import OutputChecker

_log = logging.getLogger("genmcp.suite")


@attrs.frozen(eq=False, repr=False)
class ServedTool(Value):
    """A tool as the suite serves it: everything that can be known before a call.

    Attributes:
        tool: the author's instance.
        name: what clients call it by.
        described: what `tools/list` shows.
        hints: its part of the list's cache hints.
        checker: checks its structured content, if it has an output schema.
        requires: the client capabilities it cannot do without, in wire form.
        required_scopes: the scopes that a call of it needs.
        param_headers: the headers that must repeat its arguments.
        rate_limit: how often one caller may call it, if it says so itself.
    """

    tool: Tool[Any, Any]
    name: str
    described: mcp.Tool
    hints: CacheHints
    checker: OutputChecker | None
    requires: Mapping[str, Any]
    required_scopes: frozenset[str]
    param_headers: tuple[ParamHeader, ...]
    rate_limit: OwnRateLimit


def serve_tool(source: ToolSource) -> ServedTool:
    """Describe a tool, making it first if its class was given.

    Raises:
        TypeError: not a tool, or a class that cannot be made without arguments.
        ValueError: a hook gives what the protocol does not take.
    """
    # mypy takes no abstract class for a type[P].
    tool = make_provider(source, cast("type[Tool[Any, Any]]", Tool))
    owner = type(tool).__qualname__
    described = tool.describe()
    try:
        # One tool that cannot be written would take the whole list with it.
        write_json(encode(described))
    except EncodeError as error:
        raise ValueError(f"{owner} cannot be listed: {error}") from None
    try:
        hints = read_cache_control(tool.cache_control())
    except (TypeError, ValueError) as error:
        raise say_whose(f"{owner}: cache_control", error) from error
    requires: Mapping[str, Any] = encode(tool.requires())
    try:
        rate_limit = read_own_rate_limit(tool.rate_limit())
    except TypeError as error:
        raise say_whose(f"{owner}: rate_limit", error) from error
    try:
        param_headers = read_param_headers(described.input_schema)
    except ValueError as error:
        # `Tool` checks this too; here, that a hand-written `describe` did.
        raise say_whose(f"{owner}: describe: input_schema", error) from error
    scopes = ask_scopes(owner, tool.required_scopes())
    return ServedTool(
        tool,
        described.name,
        described,
        hints,
        checker=tool.output_checker(),
        requires=requires,
        required_scopes=scopes,
        param_headers=param_headers,
        rate_limit=rate_limit,
    )


def index_tools(tools: Iterable[ServedTool]) -> dict[str, ServedTool]:
    """Index tools by name, in order; warn of names that some clients take for one.

    Raises:
        ValueError: two tools have one name; names both classes.
    """
    by_name: dict[str, ServedTool] = {}
    by_folded: dict[str, ServedTool] = {}
    for tool in tools:
        other = by_name.setdefault(tool.name, tool)
        if other is not tool:
            raise ValueError(
                f"two tools are named {tool.name!r}: {_owner(other)} and {_owner(tool)}; rename one"
            )
        folded = re.sub(r"[^a-zA-Z0-9_]", "_", tool.name)
        other = by_folded.setdefault(folded, tool)
        if other is not tool:
            _log.warning(
                "tools %r and %r are one name to clients that fold other characters to _",
                other.name,
                tool.name,
            )
    return by_name


def _owner(served: ServedTool) -> str:
    cls = type(served.tool)
    return f"{cls.__module__}.{cls.__qualname__}"
