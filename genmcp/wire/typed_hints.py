"""The annotations of a class and its bases, evaluated.

Layer: wire, the bottom of the typed part; `genmcp.wire.typed_fields` reads classes
with it. Text is evaluated where it was written, type variables are filled in, and
what stands round a type (`Required`, `Final`) is taken off.
"""

from __future__ import annotations

import inspect
import typing
from typing import TYPE_CHECKING, Any, Final, Generic, cast, get_args, get_origin, get_type_hints

import typing_extensions

if TYPE_CHECKING:
    import types
    from collections.abc import Iterator, Mapping

_REQUIRED: Final = (typing.Required, typing_extensions.Required)
_NOT_REQUIRED: Final = (typing.NotRequired, typing_extensions.NotRequired)
_QUALIFIERS: Final = (*_REQUIRED, *_NOT_REQUIRED, typing_extensions.ReadOnly, typing.Final)


def name_of(annotation: Any) -> str:
    """Return a class or other annotation as an author would write it."""
    origin = get_origin(annotation)
    if origin is not None and not isinstance(annotation, type):
        arguments = ", ".join(name_of(argument) for argument in get_args(annotation))
        return f"{name_of(origin)}[{arguments}]"
    name = getattr(annotation, "__qualname__", None) or str(annotation)
    return name.rpartition(".<locals>.")[2].removeprefix("typing.")


def is_typed_dict(cls: object) -> bool:
    """Tell whether `cls` is a TypedDict, of `typing` or of `typing_extensions`."""
    return typing_extensions.is_typeddict(cls)


class Hints:
    """The annotations of one class and its bases, evaluated when they are asked for.

    Those that nobody asks for, such as of a `ClassVar`, may name what only type
    checkers know.
    """

    def __init__(self, cls: Any) -> None:
        self.cls: Any = get_origin(cls) or cls
        self._written: dict[str, tuple[_Owner, Any]] = {}
        for owner in _find_owners(cls):
            for name, annotation in owner.read_annotations().items():
                self._written[name] = owner, annotation

    def __iter__(self) -> Iterator[str]:
        return iter(self._written)

    def find(self, name: str, otherwise: Any = None) -> Any:
        """Return the type of one field, without `Required` and the like.

        Args:
            name: of the field.
            otherwise: its type, where that is not said by an annotation.

        Raises:
            TypeError: there is no annotation, or it cannot be evaluated. Names class,
                field and fix.
        """
        if name in self._written:
            return _split_qualifiers(self._evaluate(name))[0]
        if otherwise is None:
            raise TypeError(
                f"{name_of(self.cls)}.{name} has no type annotation; "
                f"annotate it, such as `{name}: str`"
            )
        return otherwise

    def find_requirement(self, name: str) -> bool | None:
        """Tell whether a key of a TypedDict says itself that it is required, or not.

        Raises:
            TypeError: its annotation cannot be evaluated.
        """
        for qualifier in _split_qualifiers(self._evaluate(name))[1]:
            if qualifier in _REQUIRED:
                return True
            if qualifier in _NOT_REQUIRED:
                return False
        return None

    def _evaluate(self, name: str) -> Any:
        owner, annotation = self._written[name]
        return annotation if isinstance(annotation, type) else owner.evaluate(name, annotation)


def _split_qualifiers(annotation: Any) -> tuple[Any, list[Any]]:
    """Return the type inside `Required[...]`, `ReadOnly[...]`, `Final[...]`, and those."""
    origin = get_origin(annotation)
    if origin in _QUALIFIERS:
        inner, qualifiers = _split_qualifiers(get_args(annotation)[0])
        return inner, [origin, *qualifiers]
    if origin is typing.Annotated:
        # They may also stand inside it.
        inner, qualifiers = _split_qualifiers(annotation.__origin__)
        if qualifiers:
            return typing.Annotated[(inner, *annotation.__metadata__)], qualifiers
    return annotation, []


def _find_owners(cls: Any) -> Iterator[_Owner]:
    """Yield the bases of `cls`, then itself."""
    origin: Any = get_origin(cls) or cls
    variables: dict[Any, dict[Any, Any]] = {}
    _collect_variables(cls, {}, variables)
    if is_typed_dict(origin):
        # A TypedDict has taken over the keys of its bases, and forgotten whose they were.
        merged = {key: value for found in variables.values() for key, value in found.items()}
        yield _Owner(origin, merged)
        return
    for owner in reversed(origin.__mro__):
        if owner not in (object, Generic):
            yield _Owner(owner, variables.get(owner, {}))


def _collect_variables(
    cls: Any, given: Mapping[Any, Any], found: dict[Any, dict[Any, Any]]
) -> None:
    origin: Any = get_origin(cls) or cls
    arguments = [fill_variables(argument, given) for argument in get_args(cls)]
    variables = dict(zip(getattr(origin, "__parameters__", ()), arguments, strict=False))
    found[origin] = {**variables, **found.get(origin, {})}
    for base in getattr(origin, "__dict__", {}).get("__orig_bases__", origin.__bases__):
        if hasattr(get_origin(base) or base, "__bases__"):
            _collect_variables(base, variables, found)


def fill_variables(annotation: Any, variables: Mapping[Any, Any]) -> Any:
    """Return `annotation` with type variables replaced.

    One that nothing was given for stands for its default, or its bound, or anything.
    """
    if isinstance(annotation, typing.TypeVar):
        if annotation in variables:
            return variables[annotation]
        default = getattr(annotation, "__default__", typing_extensions.NoDefault)
        # An old TypeVar has no default at all, and one of `typing` may say None.
        if default not in (None, typing_extensions.NoDefault):
            return default
        return Any if annotation.__bound__ is None else annotation.__bound__
    parameters = getattr(annotation, "__parameters__", ())
    if not parameters or isinstance(annotation, type):
        return annotation
    return annotation[tuple(fill_variables(parameter, variables) for parameter in parameters)]


class _Owner:
    """One class that annotations were written in.

    Args:
        cls: the class.
        variables: what its type variables stand for.
    """

    def __init__(self, cls: Any, variables: Mapping[Any, Any]) -> None:
        self._cls = cls
        self._variables = variables
        self._names: dict[str, Any] | None = None

    def read_annotations(self) -> dict[str, Any]:
        """Return what was written, which may be text."""
        try:
            return inspect.get_annotations(self._cls)
        except NameError as error:
            raise _refuse(self._cls, "", error) from error

    def evaluate(self, name: str, annotation: Any) -> Any:
        """Return the type that was meant, type variables filled in."""
        # One at a time, so that the one that fails can be named.
        holder = type(self._cls.__name__, (), {"__module__": self._cls.__module__})
        holder.__annotations__ = {name: annotation}
        names = self._find_names()
        try:
            try:
                found = get_type_hints(holder, localns=names, include_extras=True)
            except NameError:
                # Classes inside the class: not at first, because a default hides the type
                # that its field is named after.
                inside = dict(cast("Mapping[str, Any]", vars(self._cls)))
                found = get_type_hints(holder, localns=inside | names, include_extras=True)
            return fill_variables(found[name], self._variables)
        except (NameError, TypeError, SyntaxError, AttributeError) as error:
            raise _refuse(self._cls, name, error) from error

    def _find_names(self) -> dict[str, Any]:
        if self._names is None:
            parameters = {str(item): item for item in getattr(self._cls, "__type_params__", ())}
            enclosing = _find_enclosing_names(self._cls)
            self._names = {**enclosing, self._cls.__name__: self._cls, **parameters}
        return self._names


def _refuse(owner: Any, name: str, error: Exception) -> TypeError:
    place = f"{name_of(owner)}.{name}" if name else name_of(owner)
    if isinstance(error, NameError):
        return TypeError(
            f"{place}: the name {error.name!r} in its annotation is not known; define it at "
            "the top of the module, before the class that uses it, and import it outside "
            "`if TYPE_CHECKING:`"
        )
    if "unhashable" in str(error):
        return TypeError(
            f"{place}: Annotated with a dict must stand outside of the union: "
            "Annotated[int | None, {...}]"
        )
    return TypeError(f"{place}: its annotation cannot be evaluated: {error}")


def _find_enclosing_names(cls: Any) -> dict[str, Any]:
    """Return the variables of the functions `cls` is defined in, where these still run.

    A class inside a function may name its neighbours in an annotation that is
    only text, and no namespace but the frame's knows them.
    """
    scopes = cls.__qualname__.split(".<locals>.")[:-1]
    enclosing = {".<locals>.".join(scopes[: end + 1]) for end in range(len(scopes))}
    names: dict[str, Any] = {}
    frame: types.FrameType | None = inspect.currentframe() if enclosing else None
    while frame is not None:
        inside = frame.f_code.co_qualname in enclosing
        if inside and frame.f_globals.get("__name__") == cls.__module__:
            names = {**frame.f_locals, **names}
        frame = frame.f_back
    return names
