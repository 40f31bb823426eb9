"""A server for two processes: what sessions must remember is shared, where SESSIONS_DB is set."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from genmcp import Channel, EventSubscriptions, StreamableHTTP, Suite, Tool
from tests.legacy.server import Greet, Notes, Served, Who

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "sessions" / "server.py"
SERVED = Served()


class Finish(Tool, name="finish"):
    """Lets what is at work in this process finish."""

    async def call(self, request: Any, channel: Channel) -> Any:
        SERVED.work.finish.set()
        return "told"


class Touch(Tool, name="touch"):
    """Says that a resource has changed, in this process."""

    async def call(self, request: Any, channel: Channel) -> Any:
        SERVED.bus.resource_updated("note:a")
        return "told"


def make_app() -> StreamableHTTP:
    suite = Suite(
        server_name="sessions",
        server_version="1",
        tools=[Greet, Who, SERVED.work, Finish, Touch],
        resources=[Notes],
        subscription_handler=EventSubscriptions(SERVED.bus),
    )
    return StreamableHTTP(suite, **_make_stores())


def _make_stores() -> dict[str, Any]:
    path = os.environ.get("SESSIONS_DB")
    if path is None:
        return {}
    spec = importlib.util.spec_from_file_location("sessions_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return {
        "session_store": example.SqliteSessionStore(path),
        "replay_store": example.SqliteReplayStore(path),
    }
