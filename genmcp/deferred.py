"""Names that a module has, and imports when they are first asked for.

Layer: below everything. `genmcp` and `genmcp.mcp.v2607` have all names there are, for
users to import from; a server uses a few of them. What the others need is not loaded
until then, which halves the time it takes to import the two.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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


def load(module: str) -> None:
    """Import what a module still puts off, so that nobody waits for it later."""
    for name in dir(sys.modules[module]):
        getattr(sys.modules[module], name)
