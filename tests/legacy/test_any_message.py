"""Whatever is posted to a session is answered, and never takes the server down."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from genmcp import mcp
from tests.legacy.client import JUNE, NOVEMBER, LegacyClient
from tests.legacy.server import Served

if TYPE_CHECKING:
    from collections.abc import Iterator

METHODS = [
    "initialize", "ping", "logging/setLevel", "tools/list", "tools/call", "prompts/list",
    "prompts/get", "resources/list", "resources/read", "resources/subscribe",
    "resources/unsubscribe", "resources/templates/list", "completion/complete",
    "server/discover", "subscriptions/listen", "notifications/cancelled",
    "notifications/initialized", "notifications/roots/list_changed", "x", "",
]  # fmt: skip
KEYS = [
    "name", "arguments", "uri", "level", "cursor", "_meta", "requestId", "protocolVersion",
    "capabilities", "clientInfo", "ref", "argument", "notifications", "requestState", "task",
    "inputResponses", "progressToken", "version", mcp.LOG_LEVEL_KEY, mcp.CLIENT_INFO_KEY,
]  # fmt: skip
WORDS = ["who", "lists", "crash", "note:a", "greeting", "info", NOVEMBER, "ada", "", "\u2028"]

scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(WORDS)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)
params = st.dictionaries(st.sampled_from(KEYS), values, max_size=5)
messages = st.fixed_dictionaries(
    {"jsonrpc": st.sampled_from(["2.0", "2.0", "2.0", "1.0"])},
    optional={
        "id": st.integers(0, 5) | st.sampled_from(["a", ""]) | scalars,
        "method": st.sampled_from(METHODS),
        "params": params | values,
        "result": values,
        "error": values,
    },
)
versions = st.sampled_from([None, NOVEMBER, JUNE, mcp.PROTOCOL_VERSION, "2024-11-05", "x"])


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What is refused is logged, and one tool crashes."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@settings(max_examples=400, deadline=None)
@given(messages, versions, st.booleans())
def test_any_message_is_answered_as_its_kind_is(
    message: dict[str, Any], version: str | None, in_session: bool
) -> None:
    async def main() -> None:
        served = Served()
        served.work.finish.set()
        served.wait.finish.set()
        client = LegacyClient(served.make_app())
        await client.open()
        if not in_session:
            client.session_id = None
        named = None if version is None else version.encode()
        connection = await client.post(message, mcp_protocol_version=named)
        assert connection.complete
        assert connection.status in {200, 202, 400, 404}
        if connection.status == 202:
            assert connection.body == b""
            return
        if connection.headers[b"content-type"] == b"application/json":
            answer = connection.json
            assert ("result" in answer) != ("error" in answer)
            assert (connection.status == 200) or "error" in answer
            if connection.status == 200:
                assert answer["id"] == message["id"]
                result = answer.get("result", {})
                assert result.keys().isdisjoint({"resultType", "ttlMs", "cacheScope"})
        if connection.status == 404:
            # The session is all right, and this was no request of today.
            raise AssertionError(connection.body)
        # And the session still works.
        if in_session:
            assert await client.result("ping") == {}

    trio.run(main)
