"""A row of the table: a request, and the one answer it must have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import attrs

from tests.request_table.sending import Request

ABSENT: Final = object()
"""Stands for a member that must not be there."""

NO_SERVER_INFO: Final = object()
"""In a result's place for `_meta`: the server does not say who it is."""


def each(*values: Any) -> tuple[Any, ...]:
    """Return values of any kinds, for a loop over them."""
    return values


Headers: TypeAlias = Mapping[str, str | None]
"""Response headers by lower-case name; `None` for one that must not be there."""


@attrs.frozen
class Matching:
    """Stands for a string that is different every time: a token, an error id."""

    pattern: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and re.fullmatch(self.pattern, other) is not None

    __hash__ = None  # type: ignore[assignment]


ERROR_ID: Final = Matching(r"[0-9a-f]{16}")
TOKEN: Final = Matching(r"[A-Za-z0-9_-]{60,}")


def limit_data(setting: str, limit: float) -> dict[str, Any]:
    """The `data` of a refusal because of a limit: which one, and how to set it."""
    flag = "--" + setting.replace("_", "-")
    return {
        "setting": setting,
        "flag": flag,
        "variable": f"GENMCP_{setting.upper()}",
        "limit": limit,
    }


@attrs.frozen(kw_only=True)
class Refused:
    """A JSON-RPC error.

    Attributes:
        status: the HTTP status.
        code: the code of the JSON-RPC error.
        id: the id it is for, as it was sent, type included; `ABSENT` if none was readable.
        data: exactly the `data` of the error.
        says: parts of the message.
        headers: what the response says besides.
    """

    status: int
    code: int
    id: Any = 1
    data: Any = ABSENT
    says: tuple[str, ...] = ()
    headers: Headers = attrs.field(factory=dict[str, Any])


@attrs.frozen(kw_only=True)
class Answered:
    """A result, in a body of its own.

    Attributes:
        result: exactly the result, without the server's identity in its `_meta`, which
            is checked for every row.
        id: as for `Refused`.
        headers: as for `Refused`.
        server_info: whether the server says who it is.
    """

    result: Mapping[str, Any]
    id: Any = 1
    headers: Headers = attrs.field(factory=dict[str, Any])
    server_info: bool = True


@attrs.frozen(kw_only=True)
class Streamed:
    """An event stream.

    Attributes:
        notifications: exactly what comes first.
        end: what it ends with; `None` for a stream that stays open.
    """

    notifications: tuple[Mapping[str, Any], ...] = ()
    end: Refused | Answered | None = None


@attrs.frozen(kw_only=True)
class Bare:
    """A response without a body: to a notification, or to HEAD."""

    status: int = 202
    headers: Headers = attrs.field(factory=dict[str, Any])


Expected: TypeAlias = Refused | Answered | Streamed | Bare


def no_http(*says: str) -> Refused:
    """Return the refusal of what is no HTTP."""
    says = ("HTTP/1.1", *says)
    return Refused(status=400, code=-32600, id=ABSENT, says=says, headers={"connection": "close"})


@attrs.frozen
class Row:
    """One request and its answer.

    Attributes:
        name: the fact.
        request: what is sent.
        expected: what comes back.
        answered_by: `"http"` where the HTTP server answers before the application is
            called, so that the row is about the real server only.
        native: what comes back from our own HTTP server, where it does not take for HTTP
            what Hypercorn takes.
    """

    name: str
    request: Request
    expected: Expected
    answered_by: Literal["app", "http"] = "app"
    native: Refused | None = None

    def expect(self, front: str) -> Expected:
        """Return what comes back from the server that `serve` knows by this name."""
        return self.native if front == "native" and self.native is not None else self.expected
