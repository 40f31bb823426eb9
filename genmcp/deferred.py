"""Names that a module has, and imports when they are first asked for.

Layer: below everything. `genmcp` and `genmcp.mcp.v2607` have all names there are, for
users to import from, of which a program uses a few; what the others need is loaded when
they are asked for, and by whoever serves before it listens.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType


def defer(
    module: str, names_of: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a module (PEP 562).

    For type checkers, the module imports the same names `if TYPE_CHECKING`, and has no
    `__getattr__`, which would let any other name pass.

    Args:
        module: its `__name__`. Must not have a submodule by one of the names, which
            Python would put in the name's place.
        names_of: by the names of other modules, those of what is imported from there,
            with spaces in between.

    Returns:
        The two. The first raises `AttributeError` for a name that the module has not.
    """
    home_of = {name: home for home, names in names_of.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(
                f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules[module]
            )
        value = getattr(import_module(home_of[name]), name)
        # So that it is not asked for again.
        setattr(sys.modules[module], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[module]), *home_of})

    return find, list_names


def load(module: ModuleType) -> None:
    """Import what a module still puts off: before clients come, who would wait for it."""
    for name in dir(module):
        getattr(module, name)
