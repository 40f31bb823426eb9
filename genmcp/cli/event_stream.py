"""Reading the server-sent events of any server.

Layer: cli, pure. Lines end as the standard allows, with CR, LF or both, and an event may
take several data lines. `genmcp.testing.SSEReader` is stricter on purpose: it reads what
genmcp's own server writes, and notices what some client could not read.

Spec: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

import codecs
import re
from typing import Final

_LINE_END: Final = re.compile("\r\n|\n|\r")
_MESSAGE: Final = "message"


class EventStreamReader:
    """Takes an event stream in parts and gives the data of its messages.

    Events of another type than `message` are passed over, as are those without data, ids
    and times to wait before coming back: what they are for, an answer that is read once
    does not need. An event that the end of the stream cuts off is none.
    """

    def __init__(self) -> None:
        # As the standard has it: one byte order mark is no text, and what is no UTF-8 is
        # replaced.
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._after_cr = False
        self._line: list[str] = []
        self._data: list[str] = []
        self._type = ""

    def feed(self, part: bytes) -> list[str]:
        """Take the next part; return the data of the messages that are complete now."""
        text = self._decoder.decode(part)
        if not text:
            return []
        # The second half of a line end whose first half came before.
        if self._after_cr and text[0] == "\n":
            text = text[1:]
            self._after_cr = False
            if not text:
                return []
        self._after_cr = text[-1] == "\r"
        first, *others = _LINE_END.split(text)
        self._line.append(first)
        found: list[str] = []
        for start in others:
            data = self._take_line("".join(self._line))
            if data is not None:
                found.append(data)
            self._line = [start]
        return found

    def _take_line(self, line: str) -> str | None:
        """Return the data of the event that this line ends, if it ends one."""
        if not line:
            return self._end_event()
        # Of a comment, which begins with the colon, the name is empty.
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        return None

    def _end_event(self) -> str | None:
        data, kind = "\n".join(self._data), self._type or _MESSAGE
        self._data, self._type = [], ""
        return data if data and kind == _MESSAGE else None
