r"""Server-sent events: how messages look on a stream.

Layer: transport, pure. `genmcp.transport.reply` decides what goes out; here it gets
its bytes. An event is exactly one `data:` line and a blank line, with LF only: a
parser that splits at `\n\n` never sees the end of an event written with CRLF. There
are no `id:` and no `event:` fields: streams of this protocol revision cannot be
resumed, and a message needs no other name than the default.

Spec: basic/transports/streamable-http#receiving-messages
"""

from __future__ import annotations

from typing import Final

KEEP_ALIVE: Final = b": keep-alive\n\n"
"""A comment: clients skip it, proxies see that the stream lives."""

_LINE_SEPARATORS: Final = (
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
    ("\u0085".encode(), b"\\u0085"),
)


def render_event(message: bytes) -> bytes:
    """Return the event that carries `message`.

    Args:
        message: one JSON text in UTF-8 without raw line breaks, as
            `genmcp.wire.messages` writes it.
    """
    return b"data: " + escape_separators(message) + b"\n\n"


def escape_separators(message: bytes) -> bytes:
    """Return `message` with U+2028, U+2029 and U+0085 written as JSON escapes.

    They end no line here, and none on stdio, but many clients split text into lines at
    them, lose the rest of the message, and wait for ever. In JSON the three can only stand
    inside a string, so that escaping them changes no value.
    """
    if message.isascii():
        return message
    for character, escape in _LINE_SEPARATORS:
        message = message.replace(character, escape)
    return message
