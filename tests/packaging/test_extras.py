"""Without the extras everything else imports, and who lacks one is told how to get it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]

BLOCKED = """
import runpy, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"joserfc", "httpx2", "opentelemetry"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
runpy.run_path("tests/packaging/import_all.py", run_name="__main__")
"""


def test_only_the_modules_of_extras_need_them() -> None:
    """What `make test-wheel` shows with the wheel, for the checkout."""
    ran = subprocess.run(
        [sys.executable, "-c", BLOCKED], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "modules of" in ran.stdout


def test_with_the_extras_all_modules_import() -> None:
    ran = subprocess.run(
        [sys.executable, "tests/packaging/import_all.py", "--extras"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
