"""Requests as they are sent: good ones, and what makes one of them bad.

Every request of the table begins as a good one and is spoiled by one change, or by two
where the row is about which of them wins.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

VERSION: Final = "2026-07-28"
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
META: Final[Mapping[str, Any]] = {VERSION_KEY: VERSION, CAPABILITIES_KEY: {}}

_TARGETS: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@attrs.frozen
class Request:
    """One HTTP request.

    Attributes:
        verb: the HTTP method.
        target: the path.
        lines: the header lines, each exactly as it is sent. `Content-Length` is added
            unless the body's framing is among them.
        body: the bytes of the body.
        version: the HTTP version.
    """

    verb: bytes
    target: bytes
    lines: tuple[bytes, ...]
    body: bytes
    version: bytes = b"HTTP/1.1"

    def raw(self) -> bytes:
        """Return the bytes on the wire."""
        names = {line.partition(b":")[0].lower() for line in self.lines}
        lines = self.lines
        if not names & {b"content-length", b"transfer-encoding"} and (
            self.body or self.verb == b"POST"
        ):
            lines = (*lines, b"Content-Length: %d" % len(self.body))
        start = b"%b %b %b" % (self.verb, self.target, self.version)
        return b"\r\n".join([start, *lines, b"", self.body])

    # -- one change --------------------------------------------------------------

    def with_verb(self, verb: bytes) -> Request:
        return attrs.evolve(self, verb=verb)

    def at(self, target: bytes) -> Request:
        """Return this request for another path."""
        return attrs.evolve(self, target=target)

    def without(self, *names: bytes) -> Request:
        """Return this request without its headers of these names."""
        dropped = {name.lower() for name in names}
        kept = [one for one in self.lines if one.partition(b":")[0].lower() not in dropped]
        return attrs.evolve(self, lines=tuple(kept))

    def line(self, *lines: bytes) -> Request:
        """Return this request with these header lines added."""
        return attrs.evolve(self, lines=(*self.lines, *lines))

    def instead(self, line: bytes) -> Request:
        """Return this request with a header line in place of those of its name."""
        return self.without(line.partition(b":")[0].strip()).line(line)

    def saying(self, body: bytes) -> Request:
        """Return this request with another body."""
        return attrs.evolve(self, body=body)

    def swap(self, old: bytes, new: bytes) -> Request:
        """Return this request with a part of its body replaced, which is there once."""
        assert self.body.count(old) == 1, (old, self.body)
        return self.saying(self.body.replace(old, new))

    def member(self, path: str, value: Any) -> Request:
        """Return this request with a member of its message set, such as `params.name`."""
        return self._edit(path, lambda members, key: members.__setitem__(key, value))

    def drop(self, path: str) -> Request:
        """Return this request without a member of its message."""
        return self._edit(path, lambda members, key: members.__delitem__(key))

    def meta(self, **members: Any) -> Request:
        """Return this request with members of `_meta` set, by the last part of their names."""
        prefix = "io.modelcontextprotocol/"
        message = json.loads(self.body)
        for name, value in members.items():
            key = name if name in {"progressToken", "traceparent", "custom"} else prefix + name
            message["params"]["_meta"][key] = value
        return self.saying(_write(message))

    def able(self, **capabilities: Any) -> Request:
        """Return this request of a client that has these capabilities."""
        return self.meta(clientCapabilities=capabilities)

    def _edit(self, path: str, edit: Callable[[Any, str], object]) -> Request:
        message = json.loads(self.body)
        *way, last = path.split(".")
        members: Any = message
        for key in way:
            members = members[key]
        edit(members, last)
        return self.saying(_write(message))


def good(method: str, params: Mapping[str, Any] | None = None, *, id: Any = 1) -> Request:  # noqa: A002 - the member's name
    """Return a good request of a method."""
    params = {**(params or {}), "_meta": META}
    lines = [
        b"Host: localhost",
        b"Content-Type: application/json",
        b"Accept: application/json, text/event-stream",
        b"MCP-Protocol-Version: " + VERSION.encode(),
        b"Mcp-Method: " + method.encode(),
    ]
    if method in _TARGETS:
        lines.append(b"Mcp-Name: " + str(params[_TARGETS[method]]).encode())
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return Request(b"POST", b"/mcp", tuple(lines), _write(message))


def call(tool: str, arguments: Any = None, **params: Any) -> Request:
    """Return a good call of a tool."""
    if arguments is not None:
        params["arguments"] = arguments
    return good("tools/call", {"name": tool, **params})


def notify(method: str, params: Mapping[str, Any] | None = None) -> Request:
    """Return a good notification, which needs no header of the protocol."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    lines = (b"Host: localhost", b"Content-Type: application/json")
    return Request(b"POST", b"/mcp", lines, _write(message))


def _write(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


DISCOVER: Final = good("server/discover")
