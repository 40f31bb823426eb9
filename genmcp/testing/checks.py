"""Contract checks for the author's own classes.

Layer: testing. What a client would only show as a failed call, or by dropping the
tool without a word, is an assertion here, with the class and the fix in it.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from genmcp.providers.tool import Tool
from genmcp.suite import Suite
from genmcp.suite.served_tool import serve_tool
from genmcp.testing.answering import AnsweringClient
from genmcp.testing.tool_calls import call_tool
from genmcp.wire.codec import decode, encode
from genmcp.wire.json_text import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from genmcp.mcp import v2607 as mcp
    from genmcp.providers.extension import ToolSource


def check_tool(
    tool: ToolSource,
    examples: Sequence[Mapping[str, Any]] = (),
    client: AnsweringClient | None = None,
) -> list[mcp.CallToolResult]:
    """Check that a tool keeps its contract; return the results of the examples.

    It can be described and listed, its description survives the wire, it says what
    it does, it refuses arguments that it does not know with a result the model can
    read, and it answers every one of `examples` without failing. `client` answers what
    it asks.

    For a plain test: it runs trio for each example.

    Raises:
        AssertionError: naming the class and what to do.
    """
    client = AnsweringClient() if client is None else client
    served = serve_tool(tool)
    cls = type(served.tool)
    owner = cls.__qualname__
    _check_described(owner, served.described)
    _check_hooks(owner, cls)
    Suite(server_name="check", server_version="0", tools=[served.tool])
    if served.described.input_schema.get("additionalProperties") is False:
        refused = call_tool(served.tool, {"no such argument": 1}, client)
        assert refused.is_error, f"{owner}: an unknown argument was not refused"
    results = [call_tool(served.tool, example, client) for example in examples]
    for example, result in zip(examples, results, strict=True):
        assert not result.is_error, (
            f"{owner}: the example {dict(example)!r} was answered with an error: {result.content!r}"
        )
    return results


def _check_described(owner: str, described: mcp.Tool) -> None:
    assert described.description, (
        f"{owner}: a model chooses tools by their description; give description= or a docstring"
    )
    again = decode(type(described), read_json(write_json(encode(described))))
    assert again == described, f"{owner}: its description changes on the wire: {again!r}"
    undocumented = [
        name
        for name, schema in described.input_schema.get("properties", {}).items()
        if isinstance(schema, dict) and not schema
    ]
    assert not undocumented, (
        f"{owner}: arguments that say nothing about themselves, not even their type: "
        + ", ".join(undocumented)
    )


def _check_hooks(owner: str, cls: type[Tool[Any, Any]]) -> None:
    streams = cls.handle_message is not Tool.handle_message
    closes = cls.handle_close is not Tool.handle_close
    assert streams or not closes, (
        f"{owner}: handle_close runs only for calls that returned Stream, "
        "and without handle_message there are none"
    )
    if streams:
        inspect.signature(cls.handle_message).bind(None, None, None, None)
    if closes:
        inspect.signature(cls.handle_close).bind(None, None, None)
