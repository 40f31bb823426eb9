"""The classes that JSON writes as strings: points in time, identifiers, decimals.

Layer: wire, beside `genmcp.wire.typed_cast`. JSON Schema's `format` only tells; here
it is checked, because a class that declares a `datetime` must get one. The forms
are narrower than what the classes themselves can parse, so that what is accepted
is what the published format says.
"""

from __future__ import annotations

import datetime
import decimal
import re
import uuid
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DATE: Final = r"\d{4}-\d\d-\d\d"
_TIME: Final = r"\d\d:\d\d:\d\d(?:\.\d+)?"
_OFFSET: Final = r"(?:Z|[+-]\d\d:\d\d)"

_DATE_FORM: Final = re.compile(_DATE, re.ASCII)
_TIME_FORM: Final = re.compile(rf"{_TIME}{_OFFSET}?", re.ASCII | re.IGNORECASE)
_DATE_TIME_FORM: Final = re.compile(rf"{_DATE}[T ]{_TIME}{_OFFSET}", re.ASCII | re.IGNORECASE)
_DURATION_FORM: Final = re.compile(
    r"""(-)?P(?!$)(?:
          ([0-9]{1,9})W
        | (?:([0-9]{1,9})D)?
          (?:T(?=[0-9])
            (?:([0-9]{1,9})H)?
            (?:([0-9]{1,9})M)?
            (?:([0-9]{1,9}(?:\.[0-9]{1,6})?)S)?
          )?
        )""",
    re.VERBOSE,
)
_UUID_FORM: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_DECIMAL_FORM: Final = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)


TEXT_KEYWORDS: Final[Mapping[type, Mapping[str, str]]] = {
    datetime.datetime: {"format": "date-time"},
    datetime.date: {"format": "date"},
    datetime.time: {"format": "time"},
    datetime.timedelta: {"format": "duration"},
    uuid.UUID: {"format": "uuid"},
    decimal.Decimal: {"pattern": r"^-?[0-9]+(\.[0-9]+)?$"},
}
"""What a schema says of them, besides that they are strings."""


def read_text(cls: type, text: str) -> Any:
    """Return the `cls` that `text` stands for.

    Raises:
        ValueError: `text` has not the form; says which form that is.
    """
    read, expected = _READERS[cls]
    try:
        value = read(text)
    except (ValueError, OverflowError):
        value = None
    if value is None:
        raise ValueError(f"expected {expected}")
    return value


def _read_datetime(text: str) -> datetime.datetime | None:
    if not _DATE_TIME_FORM.fullmatch(text):
        return None
    return datetime.datetime.fromisoformat(text.upper())


def _read_date(text: str) -> datetime.date | None:
    return datetime.date.fromisoformat(text) if _DATE_FORM.fullmatch(text) else None


def _read_time(text: str) -> datetime.time | None:
    return datetime.time.fromisoformat(text.upper()) if _TIME_FORM.fullmatch(text) else None


def _read_timedelta(text: str) -> datetime.timedelta | None:
    form = _DURATION_FORM.fullmatch(text)
    if form is None:
        return None
    sign, weeks, days, hours, minutes, seconds = form.groups()
    length = datetime.timedelta(
        weeks=int(weeks or 0),
        days=int(days or 0),
        hours=int(hours or 0),
        minutes=int(minutes or 0),
        microseconds=int(decimal.Decimal(seconds or 0) * 1_000_000),
    )
    return -length if sign else length


def _read_uuid(text: str) -> uuid.UUID | None:
    return uuid.UUID(text) if _UUID_FORM.fullmatch(text) else None


def _read_decimal(text: str) -> decimal.Decimal | None:
    return decimal.Decimal(text) if _DECIMAL_FORM.fullmatch(text) else None


_READERS: Final[Mapping[type, tuple[Callable[[str], Any], str]]] = {
    datetime.datetime: (
        _read_datetime,
        "a date and time with its offset, such as 2026-07-28T09:30:00Z",
    ),
    datetime.date: (_read_date, "a date such as 2026-07-28"),
    datetime.time: (_read_time, "a time such as 09:30:00"),
    datetime.timedelta: (_read_timedelta, "a duration such as PT1H30M or P2D"),
    uuid.UUID: (_read_uuid, "a UUID such as 123e4567-e89b-12d3-a456-426614174000"),
    decimal.Decimal: (_read_decimal, 'a decimal number as text, such as "12.50"'),
}
