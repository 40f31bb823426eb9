"""Imports every module of the installed package; run by `make test-wheel`.

Run where nothing but the declared dependencies is installed, it shows that they are
enough.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import genmcp

NEED_EXTRAS = {"genmcp.otel"}
"""Modules that need what the declared dependencies do not bring."""


def main() -> int:
    names = [
        found.name
        for found in pkgutil.walk_packages(genmcp.__path__, "genmcp.")
        if not found.name.endswith("__main__") and found.name not in NEED_EXTRAS
    ]
    for name in names:
        importlib.import_module(name)
    print(f"{len(names)} modules of {genmcp.__file__} import")  # noqa: T201 - a script
    return 0


if __name__ == "__main__":
    sys.exit(main())
