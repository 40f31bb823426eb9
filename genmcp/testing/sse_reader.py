"""Reading a server-sent event stream, strictly.

Layer: testing. Written from the specification of event streams and not from
`genmcp.transport.sse`, so that the two check each other; it splits lines the
Unicode way, as some clients do, to notice what would break them.
"""

from __future__ import annotations

from typing import Any

import orjson


class SSEReader:
    """Takes an event stream in parts and gives its JSON messages.

    Raises, from its methods:
        AssertionError: the stream has a form some clients cannot read: an event
            of several data lines, an event id, a line end that is not LF.
    """

    def __init__(self) -> None:
        self._pending = b""

    def feed(self, part: bytes) -> list[dict[str, Any]]:
        """Take the next part; return the messages that are complete now."""
        assert b"\r" not in part, "line ends must be LF alone"
        *blocks, self._pending = (self._pending + part).split(b"\n\n")
        messages = [_read_block(block) for block in blocks]
        return [message for message in messages if message is not None]

    def finish(self) -> None:
        """Take the end of the stream."""
        assert not self._pending, f"the stream ended inside an event: {self._pending!r}"


def _read_block(block: bytes) -> dict[str, Any] | None:
    """Return the message of one event, or `None` if it is a comment."""
    data: list[str] = []
    for line in block.decode("utf-8").splitlines():
        if line.startswith(":"):
            continue
        field, _, value = line.partition(":")
        assert field in {"event", "data"}, f"unexpected field {field!r}"
        if field == "data":
            data.append(value.removeprefix(" "))
    if not data:
        return None
    assert len(data) == 1, "a message must be one data line"
    message: dict[str, Any] = orjson.loads(data[0])
    return message
