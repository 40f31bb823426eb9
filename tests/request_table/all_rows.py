"""Every row of the table."""

from __future__ import annotations

from typing import Final

from tests.request_table import (
    rows_auth,
    rows_content,
    rows_cors,
    rows_envelope,
    rows_http,
    rows_json,
    rows_listen,
    rows_meta,
    rows_methods,
    rows_mirrors,
    rows_pages,
    rows_param_headers,
    rows_questions,
    rows_sender,
    rows_tools,
)
from tests.request_table.row import Row

AREAS: Final = (
    rows_http,
    rows_sender,
    rows_cors,
    rows_auth,
    rows_content,
    rows_json,
    rows_envelope,
    rows_meta,
    rows_mirrors,
    rows_methods,
    rows_tools,
    rows_param_headers,
    rows_pages,
    rows_questions,
    rows_listen,
)
"""Roughly in the order in which a request is looked at."""

ROWS: Final[tuple[Row, ...]] = tuple(row for area in AREAS for row in area.ROWS)
