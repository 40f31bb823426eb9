"""A server whose processes serve each other's 2025 sessions in full.

    GENMCP_SECRET_KEY=... genmcp serve --workers 2 docs/examples/sessions/server.py:app

`--workers` hands one key to all; servers that are started apart need the same
GENMCP_SECRET_KEY.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import attrs
import trio
from sqlite_stores import SqliteReplayStore, SqliteSessionStore

from genmcp import (
    Accepted,
    Channel,
    EventBus,
    EventSubscriptions,
    InputRequired,
    StreamableHTTP,
    Suite,
    Tool,
    elicit_form,
)

PATH = os.environ.get("SESSIONS_PATH") or Path(tempfile.gettempdir()) / "genmcp-sessions.sqlite"


@attrs.frozen
class Name:
    """What is asked for."""

    name: str


class Greet(Tool, name="greet"):
    """Greets by name; asks for it."""

    async def call(self, request: Any, channel: Channel) -> Any:
        """Ask who it is, and greet."""
        match channel.answers.form("name", Name):
            case None:
                return InputRequired({"name": elicit_form("Who are you?", Name)})
            case Accepted(content):
                return f"Hello, {content.name}, from process {os.getpid()}"
            case _:
                return "Hello, stranger"


class Count(Tool, name="count"):
    """Counts to ten, one number every second."""

    async def call(self, request: Any, channel: Channel) -> Any:
        """Count, and tell each number."""
        for number in range(10):
            await channel.send_log("info", number)
            await trio.sleep(1)
        return "ten"


suite = Suite(
    server_name="sessions",
    server_version="1.0.0",
    tools=[Greet, Count],
    subscription_handler=EventSubscriptions(EventBus()),
)
app = StreamableHTTP(
    suite,
    session_store=SqliteSessionStore(PATH),
    replay_store=SqliteReplayStore(PATH),
)
