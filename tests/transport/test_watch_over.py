"""What the application says of a caller, and every odd way in which it may fail to."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from genmcp import Access, StreamableHTTP, TokenVerifier
from genmcp.errors import InvalidRequest
from genmcp.testing import fake_access
from tests.transport.asgi_server import Connection, HandlerServer, call_body
from tests.transport.test_authorize import make_app, with_token


async def keep_cancellation() -> trio.Cancelled:
    """Return a cancellation that is over, as one has it who caches what a task ended with."""
    kept: list[trio.Cancelled] = []
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.sleep_forever()
        except trio.Cancelled as error:
            kept.append(error)
            raise
    return kept[0]


class Raising(TokenVerifier):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def verify(self, token: str) -> Access:
        if token == "good":
            return fake_access()
        raise self.error


async def test_cancellation_that_a_verifier_kept_is_its_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = make_app(Raising(await keep_cancellation()))
    connection = await Connection(call_body(), with_token(b"shared")).run(app)
    assert connection.status == 500
    error_id = connection.json["error"]["data"]["errorId"]
    assert f"error id {error_id}" in caplog.text
    assert "Cancelled" in caplog.text


async def test_cancellation_that_assigns_kept_is_its_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = await keep_cancellation()

    async def assign(scope: Any) -> Any:
        raise kept

    app = StreamableHTTP(HandlerServer(), assigns=assign)
    connection = await Connection(call_body()).run(app)
    assert connection.status == 500
    error_id = connection.json["error"]["data"]["errorId"]
    assert f"error id {error_id}" in caplog.text
    assert "Cancelled" in caplog.text


async def test_what_a_nursery_of_assigns_raises_is_what_it_meant(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def assign(scope: Any) -> Any:
        async with trio.open_nursery():
            raise InvalidRequest("not you")

    app = StreamableHTTP(HandlerServer(), assigns=assign)
    connection = await Connection(call_body()).run(app)
    assert connection.status == 400
    assert connection.json["error"]["message"] == "not you"
    assert "failed" not in caplog.text
