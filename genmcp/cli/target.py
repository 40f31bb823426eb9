"""Which server is meant: `module:attribute` on the command line.

Layer: cli. Mistakes of the user are `UsageError`s with one sentence; what the user's
own code raises while it is imported or called passes through. Of its traceback the command
shows what begins in that code (`cut_traceback`).
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import itertools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from genmcp.errors import show
from genmcp.server import Server
from genmcp.transport.asgi import StreamableHTTP

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType, TracebackType

SERVER_HELP: Final = "module:attribute, or path/to/file.py:attribute"

Served: TypeAlias = Server | StreamableHTTP


class UsageError(Exception):
    """What was asked for cannot be done as it was asked. Exit status 2."""


def load_server(target: str) -> Served:
    """Import what `target` names and return the server.

    Args:
        target: `package.module:attribute` or `path/to/file.py:attribute`. The current
            directory, or that of the file, is searched first. The attribute may be
            dotted; it is a server, or a class or function that gives one when it is
            called without arguments.

    Raises:
        UsageError: there is no such module or attribute, or it is no server.
    """
    if "://" in target:
        raise UsageError(
            f"{target!r} is a URL; genmcp tools and call take those with http and https, "
            "genmcp serve takes module:attribute"
        )
    place, colon, attribute = target.rpartition(":")
    if not (place and colon and attribute):
        example = f"{place or attribute or 'app'}:suite"
        raise UsageError(f"{target!r} names no server; write module:attribute, such as {example}")
    module = _import_file(place) if _is_path(place) else _import_module(place)
    return _make_server(_find_attribute(module, place, attribute), target)


def cut_traceback(error: BaseException) -> bool:
    """Leave of the traceback of `error` what begins in the code of the user.

    Before it are a dozen frames of this command and of `importlib`, which say nothing of
    what is wrong there. None is left of a syntax error, which tells its own place.

    Returns:
        Whether it came out of what `load_server` imports or calls. All is left otherwise.
    """
    frames = list(_walk(error.__traceback__))
    ours = [index for index, one in enumerate(frames) if _module_of(one) == __name__]
    if not ours:
        return False
    error.__traceback__ = next(itertools.dropwhile(_imports, frames[ours[-1] + 1 :]), None)
    return True


def _walk(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _module_of(traceback: TracebackType) -> str:
    return str(traceback.tb_frame.f_globals.get("__name__"))


def _imports(traceback: TracebackType) -> bool:
    return _module_of(traceback).partition(".")[0] in {"importlib", "_frozen_importlib"}


def _is_path(place: str) -> bool:
    return place.endswith(".py") or os.sep in place or "/" in place


def _import_module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"{name!r} is no module name; a file is named with its .py")
    # As `python -m` does; the command itself was started from somewhere else.
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name != missing and not name.startswith(f"{missing}."):
            raise  # a module that the user's own module wants
        raise UsageError(
            f"there is no module {missing!r}, neither in {Path.cwd()} nor installed"
        ) from None


def _import_file(place: str) -> ModuleType:
    path = Path(place).resolve()
    if not path.is_file():
        raise UsageError(f"there is no file {place}")
    sys.path.insert(0, str(path.parent))
    # Under a name of its own if the usual one is taken, by `server` or `mcp`, say.
    name = path.stem if path.stem not in sys.modules else f"genmcp_target_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{place} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _find_attribute(module: ModuleType, place: str, attribute: str) -> Any:
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{place} has no {attribute!r}{_suggest(module, attribute)}")
        found = getattr(found, part)
    return found


def _suggest(module: ModuleType, attribute: str) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, Served)]
    if not names:
        names = difflib.get_close_matches(attribute, vars(module), n=1)
    return f"; did you mean {' or '.join(names)}?" if names else ""


def _make_server(found: Any, target: str) -> Served:
    if callable(found) and not isinstance(found, Served):
        _check_callable(found, target)
        made = found()
        if inspect.iscoroutine(made):
            made.close()
            raise UsageError(f"{target} is an async function; make it a plain one")
        if not isinstance(made, Served):
            raise UsageError(f"{target}() returned {show(made)}, which is no server")
        return made
    if not isinstance(found, Served):
        raise UsageError(f"{target} is {show(found)}; it should be a server, such as a Suite")
    return found


def _check_callable(found: Any, target: str) -> None:
    if inspect.isclass(found) and not issubclass(found, Served):
        raise UsageError(f"{target} is the class {found.__qualname__}, which is no server")
    try:
        inspect.signature(found).bind()
    except TypeError as error:
        raise UsageError(f"{target} cannot be called without arguments: {error}") from None
