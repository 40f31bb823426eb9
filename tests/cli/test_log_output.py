"""What `genmcp serve` logs, and how."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from genmcp.cli.log_output import JsonFormatter, LogOutput


@contextmanager
def bare_root(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Logging as a new process has it, and what it writes to stderr."""
    written = io.StringIO()
    with monkeypatch.context() as patch:
        patch.setattr(logging.root, "handlers", [])
        patch.setattr(logging.root, "level", logging.WARNING)
        patch.setattr(sys, "stderr", written)
        yield written


def log_one(**extra: Any) -> None:
    logging.getLogger("genmcp.calls").warning("a %s", "line", extra=extra)


def test_a_line_of_json_has_the_attributes_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    with bare_root(monkeypatch) as written:
        LogOutput(None, "json", "--log-format").configure("worker 1")
        log_one(genmcp_outcome="ok", genmcp_code=None, genmcp_duration_ms=1.5)
    line = json.loads(written.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "WARNING",
        "logger": "genmcp.calls",
        "message": "a line",
        "process": "worker 1",
        "outcome": "ok",
        "duration_ms": 1.5,
    }


def test_text_names_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    with bare_root(monkeypatch) as written:
        LogOutput(None, None, "--log-format").configure("worker 1")
        log_one()
    assert written.getvalue().endswith(" WARNING worker 1 genmcp.calls: a line\n")


def test_a_crash_is_one_line_with_its_traceback() -> None:
    error = KeyError("\udcff")
    record = logging.LogRecord(
        "x", logging.ERROR, "", 1, "failed\n%s", ("z",), (KeyError, error, None)
    )
    text = JsonFormatter().format(record)
    assert text.isascii()
    assert "\n" not in text
    line = json.loads(text)
    assert line["message"] == "failed\nz"
    assert line["traceback"].startswith("KeyError")


def test_logging_of_the_application_is_left_alone_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[logging.LogRecord] = []

    class Own(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record)

    own = Own()
    monkeypatch.setattr(logging.root, "handlers", [own])
    monkeypatch.setattr(logging.root, "level", logging.INFO)
    LogOutput("ERROR", "json", "GENMCP_LOG_FORMAT").configure()
    assert logging.root.handlers == [own]
    assert logging.root.level == logging.ERROR
    LogOutput("INFO", "json", "GENMCP_LOG_FORMAT").configure()
    assert [record.getMessage() for record in seen] == [
        "GENMCP_LOG_FORMAT is ignored: the application logs by itself"
    ]
