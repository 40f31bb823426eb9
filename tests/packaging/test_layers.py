"""The import contracts in pyproject.toml hold, and each kind of breach breaks one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import genmcp

CONTRACTS = Path(__file__).parents[2] / "pyproject.toml"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package to spoil."""
    copy = tmp_path / "genmcp"
    shutil.copytree(
        Path(genmcp.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__")
    )
    return copy


def check_layers(package: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-logo", "--no-cache", CONTRACTS],
        cwd=package.parent,
        env=os.environ | {"NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contracts_hold(package: Path) -> None:
    checked = check_layers(package)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("errors.py", "from genmcp.channel import Channel", "Imports go down only"),
        ("suite/suite.py", "from genmcp.mux import Mux", "Imports go down only"),
        ("mux/mux.py", "from genmcp.suite import Suite", "Imports go down only"),
        ("transport/asgi.py", "from genmcp.testing import Client", "Imports go down only"),
        ("providers/tool.py", "from genmcp import Suite", "Nothing inside imports the facade"),
        ("cli/__init__.py", "import genmcp", "Nothing inside imports the facade"),
        ("wire/codec.py", "import trio", "No event loop"),
        ("suite/suite.py", "import socket", "No event loop"),
        ("transport/sse.py", "import hypercorn", "No event loop"),
        ("transport/origin.py", "from genmcp.transport import asgi", "No event loop"),
    ],
)
def test_a_breach_is_found(package: Path, module: str, line: str, contract: str) -> None:
    with (package / module).open("a", encoding="utf-8") as source:
        source.write(f"\n{line}\n")
    checked = check_layers(package)
    assert checked.returncode == 1, checked.stdout + checked.stderr
    # Often more than one: the mux may import trio, so importing the mux breaks that too.
    broken = [row for row in checked.stdout.splitlines() if row.endswith(" BROKEN")]
    assert [row for row in broken if row.startswith(contract)], broken


def test_an_import_for_annotations_counts(package: Path) -> None:
    with (package / "errors.py").open("a", encoding="utf-8") as source:
        source.write("\nif TYPE_CHECKING:\n    from genmcp.channel import Channel\n")
    assert "Imports go down only BROKEN" in check_layers(package).stdout


def test_a_module_without_a_layer_is_found(package: Path) -> None:
    (package / "helpers.py").write_text('"""Belongs nowhere."""\n')
    checked = check_layers(package)
    assert checked.returncode == 1
    assert "helpers" in checked.stdout
