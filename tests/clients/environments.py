"""Installs the clients below build/clients, each in an environment of its own, at its pins.

Version 2 of the Python client is in the environment that this runs in.

    python -m tests.clients.environments

What is installed already at the same pins is left alone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.conformance.node import Node, NodeMissing, find_node

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
INSTALLED: Final = ROOT / "build" / "clients"
"""Where the clients are installed. Not kept in the repository."""

PYTHON_1: Final = INSTALLED / "python-1"
PYTHON_1_PINS: Final = ROOT / "requirements" / "client-python-1.txt"
TYPESCRIPT: Final = INSTALLED / "typescript"

_PIP_INSTALL: Final = ("-m", "pip", "--disable-pip-version-check", "--no-input", "install")
_INSTALL_SECONDS: Final = 600


def find_python_1() -> Sequence[str]:
    """Return what runs the driver of version 1 of the Python client, but for its arguments.

    Raises:
        FileNotFoundError: it is not installed.
    """
    return [_check(PYTHON_1 / "bin" / "python"), "-m", "tests.clients.drive_python_1"]


def find_python_2() -> Sequence[str]:
    """Return what runs the driver of version 2 of the Python client, but for its arguments."""
    return [sys.executable, "-m", "tests.clients.drive_python_2"]


def find_typescript() -> Sequence[str]:
    """Return what runs the driver of the TypeScript client, but for its arguments.

    Raises:
        FileNotFoundError: it is not installed.
        NodeMissing: there is no node to run it with.
    """
    driver = TYPESCRIPT / "drive_typescript.mjs"
    # In the folder of its dependencies, as node looks for them from the script upwards.
    if TYPESCRIPT.exists():
        shutil.copyfile(HERE / driver.name, driver)
    return [*find_node().node, _check(driver)]


def _check(path: Path) -> str:
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there; `make clients` installs it")
    return str(path)


def install_python_1() -> None:
    """Install version 1 of the Python client.

    Raises:
        subprocess.SubprocessError: pip failed, or took too long.
    """
    stamp = PYTHON_1 / "installed.txt"
    wanted = f"{sys.version}\n{PYTHON_1_PINS.read_text(encoding='utf-8')}"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    shutil.rmtree(PYTHON_1, ignore_errors=True)
    PYTHON_1.parent.mkdir(parents=True, exist_ok=True)
    python = str(PYTHON_1 / "bin" / "python")
    _run([sys.executable, "-m", "venv", str(PYTHON_1)])
    _run([python, *_PIP_INSTALL, "--quiet", "--quiet", "--requirement", str(PYTHON_1_PINS)])
    stamp.write_text(wanted, encoding="utf-8")


def install_typescript(node: Node) -> None:
    """Install the TypeScript client.

    Raises:
        subprocess.SubprocessError: npm failed, or took too long.
    """
    node.install(HERE, TYPESCRIPT)


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, timeout=_INSTALL_SECONDS)


def main() -> int:
    try:
        install_python_1()
        install_typescript(find_node())
    except (NodeMissing, subprocess.SubprocessError) as error:
        print(f"clients: {error}", file=sys.stderr)  # noqa: T201 - a command says what is wrong
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
