"""What 2025 sessions must remember, in one SQLite file: for the processes of one machine.

    genmcp serve --workers 2 docs/examples/sessions/server.py:make_app

With it, all of them serve each other's sessions in full; `--workers` hands one key to all,
and servers that are started apart need the same GENMCP_SECRET_KEY. A store for several
machines differs in what it speaks to, not in what it does: each change is one statement,
and each event and signal is a row.

SQLite tells nobody of news, so whoever waits looks again after a moment.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import trio

from genmcp import (
    Accepted,
    Channel,
    EventBus,
    EventSubscriptions,
    InputRequired,
    Missed,
    ReplayStore,
    SessionState,
    SessionStore,
    StreamableHTTP,
    StreamLost,
    Suite,
    Tool,
    elicit_form,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

LOOK_SECONDS = 0.05
SIGNAL_SECONDS = 60  # who is attached has read a signal long before
STREAM_SECONDS = 300

_TABLES = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS sessions (
    key TEXT PRIMARY KEY, ended INTEGER DEFAULT 0, log_level TEXT, expires_at REAL
);
CREATE TABLE IF NOT EXISTS watched (
    key TEXT, uri TEXT, expires_at REAL, PRIMARY KEY (key, uri)
);
CREATE TABLE IF NOT EXISTS signals (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT, signal BLOB, at REAL
);
CREATE TABLE IF NOT EXISTS streams (name TEXT PRIMARY KEY, ended INTEGER DEFAULT 0, at REAL);
CREATE TABLE IF NOT EXISTS events (
    stream TEXT, number INTEGER, event BLOB, PRIMARY KEY (stream, number)
);
"""


class Database:
    """The file. Each statement is a transaction, in a thread: SQLite blocks."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(_TABLES)

    async def run(self, *statements: tuple[str, tuple[Any, ...]]) -> list[Any]:
        """Return the rows of the last of some statements, which are one transaction."""
        return await trio.to_thread.run_sync(self._run, statements)

    def _run(self, statements: tuple[tuple[str, tuple[Any, ...]], ...]) -> list[Any]:
        with closing(sqlite3.connect(self._path, timeout=5)) as connection, connection:
            rows: list[Any] = []
            for sql, values in statements:
                rows = connection.execute(sql, values).fetchall()
            return rows


class SqliteSessionStore(SessionStore):
    """What is remembered of sessions, in a SQLite file."""

    def __init__(self, path: str | Path) -> None:
        self._database = Database(path)

    async def find(self, key: str) -> SessionState:
        """See `SessionStore.find`."""
        rows = await self._database.run(
            (
                """SELECT ended, log_level, NULL FROM sessions WHERE key = ?1
                UNION ALL SELECT NULL, NULL, uri FROM watched WHERE key = ?1""",
                (key,),
            )
        )
        ended = any(row[0] for row in rows)
        level = next((row[1] for row in rows if row[1]), None)
        return SessionState(ended, level, tuple(row[2] for row in rows if row[2]))

    async def end(self, key: str, expires_at: float) -> None:
        """See `SessionStore.end`."""
        await self._database.run(
            ("DELETE FROM sessions WHERE expires_at < ?", (time.time(),)),
            ("DELETE FROM watched WHERE key = ? OR expires_at < ?", (key, time.time())),
            ("INSERT OR REPLACE INTO sessions VALUES (?, 1, NULL, ?)", (key, expires_at)),
        )

    async def set_log_level(self, key: str, level: Any, expires_at: float) -> None:
        """See `SessionStore.set_log_level`."""
        await self._database.run(
            (
                """INSERT INTO sessions VALUES (?, 0, ?, ?)
                ON CONFLICT DO UPDATE SET log_level = excluded.log_level WHERE NOT ended""",
                (key, level, expires_at),
            )
        )

    async def watch(self, key: str, uri: str, expires_at: float) -> None:
        """See `SessionStore.watch`."""
        await self._database.run(
            (
                """INSERT OR IGNORE INTO watched SELECT ?1, ?2, ?3
                WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE key = ?1 AND ended)""",
                (key, uri, expires_at),
            )
        )

    async def unwatch(self, key: str, uri: str, expires_at: float) -> None:
        """See `SessionStore.unwatch`."""
        await self._database.run(("DELETE FROM watched WHERE key = ? AND uri = ?", (key, uri)))

    async def publish(self, key: str, signal: bytes) -> None:
        """See `SessionStore.publish`."""
        now = time.time()
        await self._database.run(
            ("DELETE FROM signals WHERE at < ?", (now - SIGNAL_SECONDS,)),
            ("INSERT INTO signals (key, signal, at) VALUES (?, ?, ?)", (key, signal, now)),
        )

    @asynccontextmanager
    async def attach(self, key: str, receive: Callable[[bytes], None]) -> AsyncGenerator[None]:
        """See `SessionStore.attach`."""
        [[last]] = await self._database.run(("SELECT ifnull(max(id), 0) FROM signals", ()))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._listen, key, last, receive)
            yield
            nursery.cancel_scope.cancel()

    async def _listen(self, key: str, last: int, receive: Callable[[bytes], None]) -> None:
        while True:
            rows = await self._database.run(
                ("SELECT id, signal FROM signals WHERE key = ? AND id > ? ORDER BY id", (key, last))
            )
            for number, signal in rows:
                last = number
                receive(signal)
            await trio.sleep(LOOK_SECONDS)


class SqliteReplayStore(ReplayStore):
    """What streams said, in a SQLite file; the same one will do."""

    def __init__(self, path: str | Path) -> None:
        self._database = Database(path)

    async def keep(self, stream: str) -> None:
        """See `ReplayStore.keep`."""
        old = time.time() - STREAM_SECONDS
        await self._database.run(
            (
                "DELETE FROM events WHERE stream IN (SELECT name FROM streams WHERE at < ?)",
                (old,),
            ),
            ("DELETE FROM streams WHERE at < ?", (old,)),
            (
                "INSERT INTO streams VALUES (?, 0, ?) ON CONFLICT DO UPDATE SET at = excluded.at",
                (stream, time.time()),
            ),
        )

    async def append(self, stream: str, number: int, event: bytes) -> None:
        """See `ReplayStore.append`."""
        await self._database.run(
            ("UPDATE streams SET at = ? WHERE name = ?", (time.time(), stream)),
            (
                "INSERT INTO events SELECT name, ?, ? FROM streams WHERE name = ?",
                (number, event, stream),
            ),
        )

    async def end(self, stream: str) -> None:
        """See `ReplayStore.end`."""
        await self._database.run(
            ("UPDATE streams SET ended = 1, at = ? WHERE name = ?", (time.time(), stream))
        )

    async def read(self, stream: str, after: int) -> Missed:
        """See `ReplayStore.read`."""
        rows = await self._database.run(
            (
                """SELECT ended, number, event FROM streams LEFT JOIN events ON stream = name
                WHERE name = ? ORDER BY number""",
                (stream,),
            )
        )
        events = tuple((number, event) for _, number, event in rows if number is not None)
        first, last = (events[0][0], events[-1][0]) if events else (1, 0)
        if not rows or not first - 1 <= after <= last:
            raise StreamLost
        return Missed(tuple(event for event in events if event[0] > after), over=bool(rows[0][0]))

    async def wait(self, stream: str, after: int) -> None:
        """See `ReplayStore.wait`."""
        await trio.sleep(LOOK_SECONDS)


# -- a server that has something to remember ------------------------------------------


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


def make_app() -> StreamableHTTP:
    """Return the endpoint; the file is `sessions.sqlite3` here, or where SESSIONS_DB says."""
    path = Path(os.environ.get("SESSIONS_DB") or "sessions.sqlite3")
    suite = Suite(
        server_name="sessions",
        server_version="1.0.0",
        tools=[Greet, Count],
        subscription_handler=EventSubscriptions(EventBus()),
    )
    return StreamableHTTP(
        suite,
        session_store=SqliteSessionStore(path),
        replay_store=SqliteReplayStore(path),
    )
