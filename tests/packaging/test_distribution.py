"""What is installed is a whole package: metadata, type marker, command."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import genmcp

PACKAGE = Path(genmcp.__file__).parent
CHECKOUT = Path(__file__).parents[2]

needs_installation = pytest.mark.skipif(
    not any(metadata.distributions(name="genmcp")), reason="genmcp is not installed"
)


@pytest.mark.skipif(
    os.environ.get("GENMCP_TESTED_AS") != "wheel", reason="only `make test-wheel` tests the wheel"
)
def test_the_package_under_test_is_the_installed_wheel() -> None:
    assert PACKAGE.is_relative_to(sys.prefix)
    assert not (CHECKOUT / "genmcp").exists()
    installed = {str(file) for file in metadata.files("genmcp") or ()}
    assert "genmcp/py.typed" in installed
    assert [file for file in installed if file.startswith(("tests", "docs"))] == []


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").read_bytes() == b""


@needs_installation
def test_the_metadata_names_license_and_lowest_python() -> None:
    found = metadata.metadata("genmcp")
    assert found["License-Expression"] == "MIT"
    assert found["Requires-Python"] == ">=3.11"


@needs_installation
def test_the_command_is_installed() -> None:
    command = Path(sys.executable).parent / "genmcp"
    ran = subprocess.run([command, "--help"], capture_output=True, text=True, check=True)
    assert "serve" in ran.stdout
