"""What is asked, in bytes, and what has to be answered.

Every peer gets the same bytes, but for the port in `Host`. The headers are those that
MCP clients send; all requests have the same id, which stateless HTTP allows, so that all
their answers are alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

PROTOCOL_VERSION: Final = "2026-07-28"
CATALOG_SIZE: Final = 200
TRACES: Final = 251
"""Prime, so that no connection gets the same ones again and again."""

MIB: Final = 1024 * 1024

_META: Final = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1.0.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class WrongAnswer(Exception):
    """An answer is not what it has to be. The message shows it."""


@attrs.frozen
class Question:
    """A request, and how to tell a right answer to it.

    Attributes:
        method: the JSON-RPC method.
        params: its parameters, but for what `_META` has.
        check: raises `WrongAnswer` for a result that is wrong.
        traced: whether each request has a trace of its own, so that no two heads are alike.
    """

    method: str
    params: dict[str, Any]
    check: Callable[[dict[str, Any]], None]
    traced: bool = False

    def render_each(self, port: int) -> list[bytes]:
        """Return the HTTP requests to send, one after the other, over and over."""
        if not self.traced:
            return [self.render(port)]
        traces = (f"00-{number:032x}-{number:016x}-01" for number in range(1, TRACES + 1))
        return [self.render(port, [f"Traceparent: {trace}"]) for trace in traces]

    def render(self, port: int, more_headers: Sequence[str] = ()) -> bytes:
        """Return the whole HTTP request."""
        params = self.params | {"_meta": _META | self.params.get("_meta", {})}
        message = {"jsonrpc": "2.0", "id": 1, "method": self.method, "params": params}
        body = json.dumps(message, separators=(",", ":")).encode()
        lines = [
            "POST /mcp HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            "Accept: application/json, text/event-stream",
            "Accept-Encoding: gzip, deflate",
            "Connection: keep-alive",
            "User-Agent: genmcp-bench",
            *more_headers,
            f"MCP-Protocol-Version: {PROTOCOL_VERSION}",
            f"Mcp-Method: {self.method}",
            *([f"Mcp-Name: {self.params['name']}"] if "name" in self.params else []),
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        return "\r\n".join([*lines, "", ""]).encode() + body

    def check_body(self, body: bytes) -> None:
        """Check the JSON-RPC response in `body`.

        Raises:
            WrongAnswer: it is none, or an error, or its result is wrong.
        """
        try:
            result = json.loads(body)["result"]
        except (ValueError, KeyError, TypeError):
            raise WrongAnswer(f"{self.method} was answered {body[:300]!r}") from None
        self.check(result)


def ask_tool(
    name: str, arguments: dict[str, Any], answer: str | None, *, progress: bool = False
) -> Question:
    """Return a call of a tool.

    Args:
        name: the tool.
        arguments: what it is called with.
        answer: the text of the one block that it answers with.
        progress: whether to send a progress token.
    """
    wanted = [{"type": "text", "text": answer}]

    def check(result: dict[str, Any]) -> None:
        if result.get("content") != wanted or result.get("isError"):
            raise WrongAnswer(f"{name} was answered {str(result)[:300]}")

    params: dict[str, Any] = {"name": name, "arguments": arguments}
    if progress:
        params["_meta"] = {"progressToken": "p"}
    return Question("tools/call", params, check)


def _check_catalog(result: dict[str, Any]) -> None:
    names = [tool["name"] for tool in result.get("tools", ())]
    if names != [f"tool_{number:03}" for number in range(CATALOG_SIZE)]:
        raise WrongAnswer(f"tools/list was answered {str(result)[:300]}")


def _check_nothing(result: dict[str, Any]) -> None:
    raise WrongAnswer(f"a stream that has to stay open ended with {str(result)[:300]}")


ADD: Final = ask_tool("add", {"a": 1.5, "b": 2}, "3.5")
ADD_TRACED: Final = attrs.evolve(ADD, traced=True)
LIST_TOOLS: Final = Question("tools/list", {}, _check_catalog)
LARGE_ARGUMENT: Final = ask_tool("measure", {"text": "x" * MIB}, str(MIB))
LARGE_RESULT: Final = ask_tool("produce", {"size": MIB}, "x" * MIB)
WAIT: Final = ask_tool("wait", {}, None, progress=True)
LISTEN: Final = Question(
    "subscriptions/listen", {"notifications": {"toolsListChanged": True}}, _check_nothing
)


def ask_report(count: int) -> Question:
    """Return a call that sends `count` progress notifications."""
    return ask_tool("report", {"count": count}, "done", progress=True)
