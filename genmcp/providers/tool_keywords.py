"""The class keywords of a tool: checked, and read off its bases.

Layer: providers. Everything here raises when the class is defined, naming the
class, the keyword and the fix, because a client would only drop such a tool
without a word.
"""

from __future__ import annotations

import dataclasses
import inspect
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import attrs

from genmcp.access import read_scopes
from genmcp.errors import say_whose
from genmcp.limits import read_own_rate_limit
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.v2607.base import meta_problem
from genmcp.providers.cache_control import CacheHints, read_cache_control
from genmcp.wire.codec import DecodeError, decode

_log = logging.getLogger("genmcp.providers")

_NAME: Final = re.compile(r"[A-Za-z0-9_.\-]{1,128}\Z")


def check_keywords(cls: type, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords in the form the hooks give them.

    Raises:
        TypeError: one has the wrong type.
        ValueError: one has a value the protocol does not take.
    """
    checked = dict(declared)
    for key in ("name", "title", "description"):
        if key in checked and not isinstance(checked[key], str):
            raise TypeError(f"{cls.__qualname__}: {key} must be a str, got {checked[key]!r}")
    for key in ("repair_arguments", "any_name"):
        if key in checked and not isinstance(checked[key], bool):
            raise TypeError(f"{cls.__qualname__}: {key} must be a bool, got {checked[key]!r}")
    if "name" in checked:
        _check_name(cls, checked["name"], any_name=checked.get("any_name", False))
    for key, read in _READERS.items():
        if key not in checked:
            continue
        try:
            checked[key] = read(checked[key])
        except (TypeError, ValueError) as error:
            raise say_whose(f"{cls.__qualname__}: {key.strip('_')}", error) from error
    return checked


def own_description(cls: type) -> str | None:
    """Return the class's own docstring, tidied. A base's says nothing about it."""
    doc = cls.__dict__.get("__doc__")
    if not isinstance(doc, str):
        return None
    if dataclasses.is_dataclass(cls) and doc.startswith(f"{cls.__name__}("):
        return None  # written by the decorator, not by the author
    return inspect.cleandoc(doc) or None


def _check_name(cls: type, name: str, *, any_name: bool) -> None:
    if not name.strip():
        raise ValueError(f"{cls.__qualname__}: name must not be blank")
    if not any_name and not _NAME.match(name):
        raise ValueError(
            f"{cls.__qualname__}: name must be 1 to 128 characters of A-Z a-z 0-9 _ - . "
            f"(any_name=True allows others), got {name!r}"
        )


def _read_annotations(value: Any) -> mcp.ToolAnnotations:
    match value:
        case mcp.ToolAnnotations():
            return value
        case Mapping():
            given = cast("Mapping[str, Any]", value)
            names = [field.name for field in attrs.fields(mcp.ToolAnnotations)]
            unknown = sorted(set(given) - set(names))
            if unknown:
                raise TypeError(f"no such hint: {', '.join(unknown)}; there are {', '.join(names)}")
            return mcp.ToolAnnotations(**given)
        case _:
            raise TypeError(f"must be a ToolAnnotations or a mapping, got {value!r}")


def _read_icons(value: Any) -> list[mcp.Icon]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise TypeError(f"must be a list of Icon, got {value!r}")
    icons = cast("Sequence[Any]", value)
    for icon in icons:
        if not isinstance(icon, mcp.Icon):
            raise TypeError(f"must hold only Icon, got {icon!r}")
    return list(icons)


def _read_meta(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"must be a mapping with str keys, got {value!r}")
    meta = cast("Mapping[Any, Any]", value)
    if not all(isinstance(key, str) for key in meta):
        raise TypeError(f"must be a mapping with str keys, got {value!r}")
    problem = meta_problem(meta)
    if problem is not None:
        raise ValueError(problem)
    return dict(meta)


def read_required_capabilities(value: object) -> mcp.ClientCapabilities:
    """Check what an author wrote for `requires`.

    Raises:
        TypeError: neither `mcp.ClientCapabilities` nor its wire form.
        ValueError: a mapping that is not its wire form.
    """
    if isinstance(value, mcp.ClientCapabilities):
        _warn_of_unknown(value)
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f"must be an mcp.ClientCapabilities or a mapping, got {value!r}")
    try:
        required = decode(mcp.ClientCapabilities, dict(cast("Mapping[str, Any]", value)))
    except DecodeError as error:
        raise ValueError(str(error)) from None
    _warn_of_unknown(required)
    return required


def _warn_of_unknown(required: mcp.ClientCapabilities) -> None:
    # Not refused: a later revision, or an agreement of two parties, may define it.
    for name in required.extra:
        _log.warning("requires: no client is known to declare the capability %r", name)


def _read_hints(value: object) -> CacheHints:
    return value if isinstance(value, CacheHints) else read_cache_control(value)


_READERS: Final = {
    "annotations": _read_annotations,
    "icons": _read_icons,
    "_meta": _read_meta,
    "cache_control": _read_hints,
    "requires": read_required_capabilities,
    "required_scopes": read_scopes,
    "rate_limit": read_own_rate_limit,
}
