"""What `genmcp serve` logs, and how: lines to read, or one JSON object per line.

Layer: cli. Only where the application has no logging of its own.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import attrs

from genmcp.value import Value

if TYPE_CHECKING:
    from genmcp.cli.settings import Settings

LEVELS: Final = ("debug", "info", "warning", "error", "critical")
FORMATS: Final = ("text", "json")

_log: Final = logging.getLogger("genmcp.cli")

_TEXT: Final = "%(asctime)s %(levelname)s {source}%(name)s: %(message)s"
_PREFIX: Final = "genmcp_"


@attrs.frozen(eq=False, repr=False)
class LogOutput(Value):
    """What is logged to stderr.

    Attributes:
        level: from which level on; `None` for INFO, or what the application has set.
        form: one of `FORMATS`; `None` for text.
        source: what said which form, for people.
    """

    level: str | None
    form: str | None
    source: str

    @classmethod
    def take(cls, settings: Settings) -> LogOutput:
        """Return what flags and variables say of it.

        Raises:
            UsageError: one of them makes no sense.
        """
        options: dict[str, Any] = {}
        settings.take(options, "log_level", _read_level)
        settings.take(options, "log_format", _read_format)
        return cls(
            options.get("log_level"),
            options.get("log_format"),
            settings.find_source("log_format"),
        )

    def configure(self, process: str = "") -> None:
        """Log to stderr, unless the application has its own logging; heed `level` anyway.

        Args:
            process: which process of several this is, for its lines.
        """
        if not logging.root.handlers:
            handler = logging.StreamHandler(sys.stderr)
            text = _TEXT.format(source=f"{process} " if process else "")
            as_json = self.form == "json"
            handler.setFormatter(JsonFormatter(process) if as_json else logging.Formatter(text))
            logging.basicConfig(level=self.level or "INFO", handlers=[handler])
        else:
            if self.level is not None:
                logging.root.setLevel(self.level)
            if self.form is not None:
                _log.warning("%s is ignored: the application logs by itself", self.source)
        # Its debug output shows the headers of every request, tokens included.
        logging.getLogger("hpack").setLevel("INFO")


class JsonFormatter(logging.Formatter):
    """Writes a record as one JSON object on one line, what genmcp says of it included.

    Args:
        process: the value of `process`, if there is one.
    """

    def __init__(self, process: str = "") -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        time = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if self._process:
            line["process"] = self._process
        for name, value in vars(record).items():
            if name.startswith(_PREFIX) and value is not None:
                line[name.removeprefix(_PREFIX)] = value
        if record.exc_info and record.exc_info[1] is not None:
            line["traceback"] = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
        # In ASCII: what a client sent may not be UTF-8, nor stderr.
        return json.dumps(line, default=repr)


def _read_level(text: str) -> str:
    if text.lower() not in LEVELS:
        raise ValueError(f"one of {', '.join(LEVELS)}, not {text!r}")
    return text.upper()


def _read_format(text: str) -> str:
    if text.lower() not in FORMATS:
        raise ValueError(f"one of {', '.join(FORMATS)}, not {text!r}")
    return text.lower()
