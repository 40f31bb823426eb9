"""The process's own stdin and stdout, kept for messages alone.

Layer: transport, shell. While they are taken, file descriptor 1 leads to stderr and file
descriptor 0 to nothing: whatever prints, in Python, in C, or in a child process, prints to
the log, and no child eats the client's messages.

Spec: basic/transports/stdio
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from genmcp.transport.stdio.descriptors import InputDescriptor, OutputDescriptor

if TYPE_CHECKING:
    from typing import TextIO

_IN: Final = 0
_OUT: Final = 1
_ERR: Final = 2

_taken: Final[set[int]] = set()


class StandardStreams:
    """Takes stdin and stdout away from everybody else, until they are given back.

    Raises:
        OSError: one of them is closed.
        RuntimeError: they are taken already.

    Attributes:
        stdin: what the process was given as its stdin.
        stdout: what it was given as its stdout.
    """

    def __init__(self) -> None:
        if _taken:
            raise RuntimeError("stdin and stdout are taken already: one serve_stdio at a time")
        with contextlib.ExitStack() as opened:
            kept_in, kept_out = _keep(_IN, "stdin", opened), _keep(_OUT, "stdout", opened)
            self.stdin = InputDescriptor(kept_in)
            self.stdout = OutputDescriptor(kept_out)
            # For giving back, when the two above are closed.
            self._kept = {_IN: _keep(_IN, "stdin", opened), _OUT: _keep(_OUT, "stdout", opened)}
            opened.pop_all()
        _taken.add(id(self))
        self._text_in: TextIO = sys.stdin
        self._text_out: TextIO = sys.stdout
        self._instead: TextIO | None = sys.stderr  # None in a process without one
        self._nothing = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - for long
        self._turn_away()

    def _turn_away(self) -> None:
        os.dup2(self._nothing.fileno(), _IN)
        # A process without a stderr prints to nowhere.
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno() if self._instead is None else _ERR, _OUT)
        # What was printed before, and is still in the buffer, goes the same way.
        _flush(self._text_out)
        sys.stdin = self._nothing
        if self._instead is not None:
            sys.stdout = self._instead

    async def aclose(self) -> None:
        """Close the two streams. Nobody is given anything back."""
        await self.stdin.aclose()
        await self.stdout.aclose()

    def give_back(self) -> None:
        """Let the process have them again. To be called once, when nobody serves any more."""
        _flush(self._text_out)
        if sys.stdout is self._instead:
            sys.stdout = self._text_out
        if sys.stdin is self._nothing:
            sys.stdin = self._text_in
        for fd, kept in self._kept.items():
            os.dup2(kept, fd)
            os.close(kept)
        self._nothing.close()
        _taken.discard(id(self))


def _keep(fd: int, name: str, opened: contextlib.ExitStack) -> int:
    """Return another descriptor for the same, which no child inherits."""
    try:
        kept = _copy(fd)
    except OSError as error:
        raise OSError(error.errno, f"{name} is closed; there is no client to serve") from None
    opened.callback(os.close, kept)
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - there is none elsewhere

        msvcrt.setmode(kept, os.O_BINARY)
    return kept


def _copy(fd: int) -> int:
    if sys.platform == "win32":
        return os.dup(fd)
    import fcntl  # noqa: PLC0415 - there is none on Windows

    # Not the place of a standard stream that is closed: it would be taken for that one.
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _ERR + 1)


def _flush(text: TextIO | None) -> None:
    if text is not None:
        with contextlib.suppress(OSError, ValueError):
            text.flush()
