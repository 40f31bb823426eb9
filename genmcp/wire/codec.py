"""The codec: the vocabulary's objects as JSON values, and back.

Layer: wire. Two functions and an error; `structure` and `unstructure` do the
work, `members` knows the names. JSON text is `json_text`'s business.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from cattrs.errors import AttributeValidationNote, ClassValidationError

from genmcp.events import EncodeError
from genmcp.wire.members import members_of
from genmcp.wire.scalars import WrongItem
from genmcp.wire.structure import hook_for
from genmcp.wire.unstructure import Unwritable, write_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from genmcp.wire.scalars import Hook

T = TypeVar("T")

Path = tuple[str | int, ...]

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{0,63}")
_MOST_SHOWN: Final = 80


class DecodeError(ValueError):
    """A JSON value does not have the form the protocol gives it.

    Attributes:
        path: where it is, in the names of the wire, such as `("params", "name")`.
        problem: what is wrong there.
        problems: all that is wrong, each with its path; the first is the one above.
    """

    def __init__(self, problems: Sequence[tuple[Path, str]]) -> None:
        self.problems = tuple(problems)
        self.path, self.problem = self.problems[0]
        super().__init__("; ".join(_sentence(path, problem) for path, problem in problems))

    def under(self, *steps: str | int) -> DecodeError:
        """Return this error as seen from further out."""
        return DecodeError([((*steps, *path), problem) for path, problem in self.problems])


def encode(value: object) -> Any:
    """Write a vocabulary object as a plain JSON value, in the names of the wire.

    Absent members are left out; required ones are written even when they equal
    their default. Values of open members (arguments, schemas, structured content)
    are passed on as they are: `json_text.write_json` checks them.

    Raises:
        EncodeError: the object, or one it holds, is of no vocabulary class.
    """
    try:
        return write_object(value)
    except Unwritable as error:
        raise EncodeError(_sentence(error.path, error.problem)) from None


@overload
def decode(cls: type[T], value: object) -> T: ...
@overload
def decode(cls: object, value: object) -> Any: ...
def decode(cls: Any, value: object) -> Any:
    """Read a JSON value as an object of a vocabulary class, or of a union of them.

    Unknown members are kept where the object is open and ignored elsewhere. The
    value itself is not changed, but may be shared: open members are not copied.

    Raises:
        DecodeError: it has not the form of that class.
        TypeError: `cls` is no class of the vocabulary.
    """
    return decode_with(hook_for(cls), value)


def decode_with(read: Hook, value: object) -> Any:
    """Read a JSON value with the hook of its class, as `decode` does.

    Raises:
        DecodeError: it has not the form of that class.
    """
    try:
        return read(value, None)
    except (ClassValidationError, ValueError) as error:
        raise DecodeError(list(_problems(error, ()))) from None


def path_text(path: Path) -> str:
    """Write a path for people: `content[0].text`, `_meta["com.example/key"]`."""
    text = ""
    for step in path:
        if isinstance(step, str) and _PLAIN_NAME.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{step}]" if isinstance(step, int) else f'["{_shorten(step)}"]'
    return text


def _shorten(name: str) -> str:
    # The client chose it: of any length, and of any characters.
    return name[:_MOST_SHOWN].encode("unicode_escape").decode("ascii")


def _sentence(path: Path, problem: str) -> str:
    return f"{path_text(path)}: {problem}" if path else problem


def _problems(error: Exception, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(error, WrongItem):
        yield from _problems(error.cause, (*path, error.key))
    elif isinstance(error, ClassValidationError):
        for nested in error.exceptions:
            assert isinstance(nested, Exception)
            yield from _problems(nested, (*path, *_step(error, nested)))
    elif isinstance(error, KeyError):
        yield path, "required, but missing"
    elif isinstance(error, ValueError):
        yield path, str(error)
    else:
        # No value a client sends may come to this: a fault of ours, not of the value.
        raise error


def _step(error: ClassValidationError, nested: Exception) -> Path:
    """Return the wire name of the member that failed; empty for the whole object."""
    for note in getattr(nested, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            return (members_of(error.cl)[note.name].wire,)
    return ()
