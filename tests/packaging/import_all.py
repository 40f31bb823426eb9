"""Imports every module of the installed package; run by `make test-wheel`.

Run where nothing but the declared dependencies is installed, it shows that they are
enough: for all modules but those of `EXTRAS`. With `--extras`, run where the extras are
installed too, it imports those as well.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import genmcp

EXTRAS = {
    # verifies JWTs, and fetches keys: joserfc, httpx2
    "auth": {
        "genmcp.authorization.claims",
        "genmcp.authorization.discovery",
        "genmcp.authorization.fetch",
        "genmcp.authorization.jwks",
        "genmcp.authorization.jwt",
        "genmcp.authorization.keys",
    },
    # spans and metrics: opentelemetry-api
    "otel": {"genmcp.otel"},
}
"""The modules that need an extra, by its name; no other module imports them."""


def main(arguments: list[str]) -> int:
    names = {
        found.name
        for found in pkgutil.walk_packages(genmcp.__path__, "genmcp.")
        if not found.name.endswith("__main__")
    }
    of_extras = {name for modules in EXTRAS.values() for name in modules}
    missing = sorted(of_extras - names)
    if missing:
        print(f"EXTRAS names modules that are not there: {missing}", file=sys.stderr)  # noqa: T201
        return 1
    wanted = names if "--extras" in arguments else names - of_extras
    for name in sorted(wanted):
        importlib.import_module(name)
    if "--extras" not in arguments:
        _check_refusals()
    print(f"{len(wanted)} modules of {genmcp.__file__} import")  # noqa: T201 - a script
    return 0


def _check_refusals() -> None:
    """See that who lacks an extra is told how to get it."""
    try:
        importlib.import_module("genmcp.authorization.jwt")
    except ImportError as error:
        assert "pip install genmcp[auth]" in str(error), error  # noqa: PT017 - a script
    else:
        raise AssertionError("the extra auth is installed; nothing is shown about the base")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
