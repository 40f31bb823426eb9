"""Installs the peers below build/bench, each in an environment of its own, at its pins.

What is installed already at the same pins is left alone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

from bench.peers import INSTALLED, SERVERS, Peer, Unavailable
from tests.conformance.node import Node, NodeMissing, find_node

HERE: Final = Path(__file__).parent
INSTALL_SECONDS: Final = 600

_PIP: Final = ("-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet")
_NPM_CI: Final = ("ci", "--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error")

_NEWEST: Final = {
    "sdk": ["mcp>=2.3,<3", "uvicorn", "uvloop", "httptools"],
    "fastmcp": ["fastmcp>=4,<5", "uvicorn", "uvloop", "httptools"],
}
"""What `lock` resolves anew. With what `uvicorn[standard]` has for speed."""


def install(peer: Peer) -> None:
    """Install what `peer` needs, unless it is there at its pins.

    Raises:
        Unavailable: that failed, or there is no node for it.
    """
    if not peer.requirements:
        return
    folder = INSTALLED / peer.environment
    pins = (HERE / peer.requirements).read_text(encoding="utf-8")
    wanted = f"{sys.version}\n{pins}"
    stamp = folder / "installed.txt"
    fresh = stamp.exists() and stamp.read_text(encoding="utf-8") == wanted
    try:
        if peer.requirements.endswith(".json"):
            _install_node(folder, fresh=fresh)
        elif not fresh:
            _install_python(folder, HERE / peer.requirements)
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or [str(error)]
        raise Unavailable(f"installing it failed: {lines[-1]}") from error
    except (subprocess.TimeoutExpired, OSError) as error:
        raise Unavailable(f"installing it failed: {error}") from error
    stamp.write_text(wanted, encoding="utf-8")


def _install_python(folder: Path, requirements: Path) -> None:
    python = _make_environment(folder)
    _run([python, *_PIP, "install", "--requirement", str(requirements)], folder)


def _make_environment(folder: Path) -> str:
    """Make an empty environment of this process's Python; return its command."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _run([sys.executable, "-m", "venv", str(folder)], folder.parent)
    return str(folder / "bin" / "python")


def _install_node(folder: Path, *, fresh: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not fresh:
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(HERE / name, folder / name)
        _run([*_find_node().npm, *_NPM_CI], folder)
    shutil.copyfile(SERVERS / "on_typescript.mjs", folder / "on_typescript.mjs")


def _find_node() -> Node:
    try:
        return find_node()
    except NodeMissing as error:
        raise Unavailable("there is no node of version 22 or newer") from error


def _run(command: list[str], folder: Path) -> str:
    ran = subprocess.run(
        command,
        cwd=folder,
        check=True,
        timeout=INSTALL_SECONDS,
        capture_output=True,
        encoding="utf-8",
    )
    return ran.stdout


def read_versions(peer: Peer) -> dict[str, str]:
    """Return what is installed of the packages that `peer` is about, and what runs it."""
    if peer.requirements.endswith(".json"):
        return _read_node_versions(peer)
    found = _read_python_versions(peer)
    return {name: found[name.lower()] for name in peer.packages if name.lower() in found}


def _read_python_versions(peer: Peer) -> dict[str, str]:
    path = None
    if peer.environment:
        [site] = (INSTALLED / peer.environment / "lib").glob("python3*/site-packages")
        path = [str(site)]
    found = metadata.distributions() if path is None else metadata.distributions(path=path)
    return {distribution.name.lower(): distribution.version for distribution in found}


def _read_node_versions(peer: Peer) -> dict[str, str]:
    versions = {}
    for name in peer.packages:
        file = INSTALLED / peer.environment / "node_modules" / name / "package.json"
        versions[name] = json.loads(file.read_text(encoding="utf-8"))["version"]
    node = _run([*_find_node().node, "--version"], INSTALLED).strip().removeprefix("v")
    return versions | {"node": node}


def lock() -> None:
    """Write the pins anew, with the newest versions of the peers' major ones.

    Raises:
        Unavailable: there is no node.
        subprocess.SubprocessError: resolving failed.
    """
    for name, packages in _NEWEST.items():
        folder = INSTALLED / "lock" / name
        python = _make_environment(folder)
        _run([python, *_PIP, "install", *packages], folder)
        pins = _run([python, *_PIP, "freeze"], folder)
        text = f"# Written by `python -m bench --lock`.\n{pins}"
        (HERE / f"requirements-{name}.txt").write_text(text, encoding="utf-8")
    folder = INSTALLED / "lock" / "typescript"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(HERE / "package.json", folder / "package.json")
    # Where packages come from is for whoever installs them to say, not for the pins.
    options = ["--package-lock-only", "--omit-lockfile-registry-resolved", "--no-audit"]
    _run([*_find_node().npm, "update", "--save", *options], folder)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(folder / name, HERE / name)
