"""Both type checkers accept `accepted.py` whole and reject `rejected.py` where marked.

pyright accepts `unannotated.py` too; mypy does not look into such functions.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

import genmcp

HERE = Path(__file__).parent
FILES = ("accepted.py", "rejected.py", "unannotated.py")
CHECKERS = ("pyright", "mypy")
PACKAGE_ROOT = Path(genmcp.__file__).parent.parent


@attrs.frozen
class Rejection:
    file: str
    line: int
    message: str


@pytest.fixture(scope="module")
def rejections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Rejection]]:
    # Away from this project's own configuration, as in a user's project.
    folder = tmp_path_factory.mktemp("checkers")
    for file in FILES:
        shutil.copy(HERE / file, folder)
    return {"pyright": run_pyright(folder), "mypy": run_mypy(folder)}


def run_pyright(folder: Path) -> list[Rejection]:
    (folder / "pyrightconfig.json").write_text(
        json.dumps(
            {
                "extraPaths": [str(PACKAGE_ROOT)],
                "pythonVersion": "3.11",
                "typeCheckingMode": "strict",
                # What is imported under a wrong name is found by the lines that use it.
                "reportUnusedClass": False,
            }
        )
    )
    ran = run_checker(
        ["pyright", "--project", str(folder), "--pythonpath", sys.executable, "--outputjson"],
        folder,
        PYRIGHT_PYTHON_IGNORE_WARNINGS="1",
    )
    return [
        Rejection(
            file=Path(found["file"]).name,
            line=found["range"]["start"]["line"] + 1,
            message=found["message"],
        )
        for found in json.loads(ran.stdout)["generalDiagnostics"]
        if found["severity"] == "error"
    ]


def run_mypy(folder: Path) -> list[Rejection]:
    # In site-packages it is found as it is, and must not be named as well.
    path = {} if "site-packages" in PACKAGE_ROOT.parts else {"MYPYPATH": str(PACKAGE_ROOT)}
    (folder / "mypy.ini").write_text("[mypy]\nstrict = true\npython_version = 3.11\n")
    ran = run_checker(
        [
            "mypy",
            *("--config-file", str(folder / "mypy.ini")),
            *("--cache-dir", str(folder / "cache")),
            *("--follow-imports", "silent"),
            *("--no-error-summary", "--hide-error-context", "--no-pretty"),
            *("accepted.py", "rejected.py"),
        ],
        folder,
        **path,
    )
    found = re.findall(r"^(.+?):(\d+): error: (.*)$", ran.stdout, re.MULTILINE)
    return [Rejection(Path(file).name, int(line), message) for file, line, message in found]


def run_checker(
    command: list[str], folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    # 1 is "errors found", and rejected.py must have some.
    assert ran.returncode == 1, f"{command[0]} did not do its work:\n{ran.stdout}{ran.stderr}"
    return ran


def marked_lines(checker: str) -> set[int]:
    lines = (HERE / "rejected.py").read_text().splitlines()
    return {
        number
        for number, line in enumerate(lines, start=1)
        if (mark := re.search(r"# E: ([a-z ]+)$", line)) and checker in mark[1].split()
    }


@pytest.mark.parametrize("checker", CHECKERS)
def test_correct_user_code_is_accepted(
    checker: str, rejections: dict[str, list[Rejection]]
) -> None:
    assert [found for found in rejections[checker] if found.file != "rejected.py"] == []


@pytest.mark.parametrize("checker", CHECKERS)
def test_each_marked_line_is_rejected_and_no_other(
    checker: str, rejections: dict[str, list[Rejection]]
) -> None:
    found = {each.line: each for each in rejections[checker] if each.file == "rejected.py"}
    marked = marked_lines(checker)
    assert len(marked) > 20, "the marks were not read"
    assert {line: found[line] for line in found.keys() - marked} == {}, "rejected unmarked"
    assert sorted(marked - found.keys()) == [], "marked, but accepted"
