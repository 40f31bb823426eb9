from __future__ import annotations

from typing import Any

import pytest

from genmcp.legacy.era import Route, find_route
from genmcp.legacy.versions import negotiate_version
from genmcp.mcp import v2607 as mcp

META = {mcp.PROTOCOL_VERSION_KEY: mcp.PROTOCOL_VERSION}
MODERN = mcp.PROTOCOL_VERSION
NOVEMBER, JUNE = "2025-11-25", "2025-06-18"
PROGRESS = {"_meta": {"progressToken": 1}}


def request(method: str, params: Any = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": method}
    return message if params is None else {**message, "params": params}


NOTIFICATION = {"jsonrpc": "2.0", "method": "notifications/initialized"}
RESPONSE = {"jsonrpc": "2.0", "id": "q", "result": {}}


@pytest.mark.parametrize(
    ("message", "version", "has_session", "route"),
    [
        # Today's key decides alone, whatever else is there.
        (request("tools/list", {"_meta": META}), None, False, Route.MODERN),
        (request("tools/list", {"_meta": META}), NOVEMBER, True, Route.MODERN),
        (request("initialize", {"_meta": META}), MODERN, False, Route.MODERN),
        (request("initialize", {"_meta": META}), None, True, Route.MODERN),
        (request("x", {"_meta": {mcp.PROTOCOL_VERSION_KEY: 1}}), NOVEMBER, True, Route.MODERN),
        # A header of today without the key is a malformed request of today.
        (request("tools/list"), MODERN, True, Route.MODERN),
        (request("initialize"), MODERN, False, Route.MODERN),
        (request("tools/list", PROGRESS), "2027-01-01", False, Route.MODERN),
        (NOTIFICATION, MODERN, True, Route.MODERN),
        # The handshake.
        (request("initialize"), None, False, Route.HANDSHAKE),
        (request("initialize", PROGRESS), NOVEMBER, False, Route.HANDSHAKE),
        (request("initialize"), None, True, Route.HANDSHAKE),
        (request("initialize"), "2024-11-05", False, Route.HANDSHAKE),
        # A session.
        (request("tools/list"), None, True, Route.SESSION),
        (request("tools/list", PROGRESS), NOVEMBER, True, Route.SESSION),
        (NOTIFICATION, JUNE, True, Route.SESSION),
        (RESPONSE, JUNE, True, Route.SESSION),
        (request("tools/list"), "1999-01-01", True, Route.SESSION),
        # None.
        (request("tools/list"), None, False, Route.STRANGER),
        (request("ping"), NOVEMBER, False, Route.STRANGER),
        (NOTIFICATION, JUNE, False, Route.STRANGER),
        (RESPONSE, None, False, Route.STRANGER),
        (request("tools/list"), "2025-03-26", False, Route.UNKNOWN_VERSION),
        (request("tools/list"), "v999", False, Route.UNKNOWN_VERSION),
        (request("tools/list"), "", False, Route.UNKNOWN_VERSION),
        # What is no object is refused alike in both eras.
        ([request("tools/list")], NOVEMBER, True, Route.MODERN),
        ("initialize", None, True, Route.MODERN),
        (None, None, False, Route.MODERN),
    ],
)
def test_the_first_row_that_fits_decides(
    message: Any, version: str | None, has_session: bool, route: Route
) -> None:
    assert find_route(message, version, has_session=has_session) is route


@pytest.mark.parametrize(
    "params", [None, [], "x", 1, {}, {"_meta": None}, {"_meta": []}, {"_meta": 3}, {"_meta": {}}]
)
def test_params_of_any_shape_are_of_2025_without_the_key(params: Any) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
    assert find_route(message, NOVEMBER, has_session=True) is Route.SESSION


@pytest.mark.parametrize(
    ("requested", "agreed"),
    [
        (NOVEMBER, NOVEMBER),
        (JUNE, JUNE),
        ("2025-03-26", NOVEMBER),
        (MODERN, NOVEMBER),
        ("", NOVEMBER),
    ],
)
def test_versions_are_agreed_on_and_never_todays(requested: str, agreed: str) -> None:
    assert negotiate_version(requested) == agreed
