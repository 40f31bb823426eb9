"""Reading a server-sent event stream, strictly.

Layer: testing. Written from the specification of event streams and not from
`genmcp.transport.sse`, so that the two check each other. Also what a client sees
that splits lines the Unicode way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def read_messages(parts: AsyncIterator[bytes]) -> AsyncIterator[dict[str, Any]]:
    """Yield the JSON messages of an event stream as they arrive; skip comments.

    Raises:
        AssertionError: the stream has a form some clients cannot read: an event
            of several data lines, an event id, a line end that is not LF.
    """
    pending = b""
    async for part in parts:
        pending += part
        assert b"\r" not in pending, "line ends must be LF alone"
        while b"\n\n" in pending:
            block, pending = pending.split(b"\n\n", 1)
            message = _read_block(block)
            if message is not None:
                yield message
    assert not pending, f"the stream ended inside an event: {pending!r}"


def _read_block(block: bytes) -> dict[str, Any] | None:
    data: list[str] = []
    # splitlines splits at U+2028 and its like, as line-based clients do.
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
