"""A Unix socket at a path: made, replaced and removed without getting in anyone's way.

Layer: transport, shell; for `genmcp.transport.listeners`.

The file of a Unix socket outlives its process, and whoever binds again finds it there. It
is removed only if nobody listens at it any more. Between that look and the removal another
process could bind, so all of it happens under a lock: on the directory, since a lock file
would be one more file to leave behind.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    from collections.abc import Generator

_LOCK_TRIES: Final = 50
_LOCK_PAUSE_SECONDS: Final = 0.02


async def bind_unix_socket(
    path: str, mode: int, backlog: int
) -> tuple[socket.socket, os.stat_result]:
    """Listen at a path, non-blocking; return the socket, and its file for `remove_unix_socket`.

    Args:
        path: where the socket is to be.
        mode: its permissions.
        backlog: how many connections the kernel holds until they are accepted.

    Raises:
        OSError: somebody listens there already, there is something else, or it cannot be
            made; the message names the path.
    """
    for _ in range(_LOCK_TRIES):
        try:
            with _locked(path):
                return _bind(path, mode, backlog)
        except BlockingIOError:
            await trio.sleep(_LOCK_PAUSE_SECONDS)
    raise OSError(errno.EAGAIN, "Another process holds the lock on its directory", path)


def remove_unix_socket(path: str, made: os.stat_result) -> None:
    """Remove the socket at a path, if it is still the one that was made.

    Where another process is about to replace it, it is left to that one.
    """
    with suppress(OSError), _locked(path):
        found = os.lstat(path)
        if (found.st_dev, found.st_ino) == (made.st_dev, made.st_ino):
            Path(path).unlink()


def _bind(path: str, mode: int, backlog: int) -> tuple[socket.socket, os.stat_result]:
    _remove_stale(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)  # noqa: FBT003 - the standard library's way
        try:
            sock.bind(path)
        except OSError as error:  # which does not say where
            raise OSError(error.errno or errno.EINVAL, error.strerror or str(error), path) from None
        # Nobody can connect before it listens, so nobody slips in before this.
        Path(path).chmod(mode)
        sock.listen(backlog)
        return sock, os.lstat(path)
    except BaseException:
        sock.close()
        raise


def _remove_stale(path: str) -> None:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise FileExistsError(errno.EEXIST, "This is there, and is no socket", path)
    if _is_listened_at(path):
        raise OSError(errno.EADDRINUSE, "Another process listens there", path)
    Path(path).unlink()


def _is_listened_at(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knocking:
        knocking.setblocking(False)  # noqa: FBT003 - the standard library's way
        try:
            knocking.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            # Its queue is full, we may not connect, or whatever else: it is not ours to remove.
            return True
    return True


@contextmanager
def _locked(path: str) -> Generator[None]:
    """Hold the lock on the directory of a path.

    Raises:
        BlockingIOError: another process does.
        OSError: there is no such directory.
    """
    import fcntl  # noqa: PLC0415 - not on every system, and only wanted where Unix sockets are

    directory = os.open(Path(path).parent, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(directory)
