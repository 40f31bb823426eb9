"""What a supervisor and its workers tell each other.

Layer: cli, pure. Over a pair of sockets that nobody else holds: neither a command line nor
an environment shows what is said there. Each side says one line of JSON: the supervisor
its orders before all else, the worker its report once its port is open. After that the
supervisor says one byte, `STOP`; and when the channel ends, the other side has.
"""

from __future__ import annotations

from typing import Any, Final, Self

import attrs
import orjson

from genmcp.value import Value

STOP: Final = b"s"

MAX_LINE_BYTES: Final = 1024 * 1024


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Orders(Value):
    """What a worker has to know besides the command line.

    Attributes:
        number: which worker it is, from 1.
        secret_key: for `GENMCP_SECRET_KEY`, where that is not set: the same for all.
        port: the port to share with the others, if each binds it for itself.
        descriptors: the listening sockets to share with them otherwise.
    """

    number: int
    secret_key: str | None = None
    port: int | None = None
    descriptors: tuple[int, ...] = ()

    def write(self) -> bytes:
        """Return the line that says it."""
        return orjson.dumps(attrs.asdict(self)) + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Return what a line says."""
        said: dict[str, Any] = orjson.loads(line)
        said["descriptors"] = tuple(said["descriptors"])
        return cls(**said)


@attrs.frozen(eq=False, repr=False)
class Report(Value):
    """What a worker says once it serves.

    Attributes:
        lines: what a server logs when it starts, each with its level. It is the same for
            all workers, so the supervisor says it, once.
    """

    lines: tuple[tuple[int, str], ...]

    def write(self) -> bytes:
        """Return the line that says it."""
        return orjson.dumps({"lines": self.lines}) + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Return what a line says."""
        said: dict[str, Any] = orjson.loads(line)
        return cls(tuple((level, text) for level, text in said["lines"]))
