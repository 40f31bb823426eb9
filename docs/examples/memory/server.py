"""A memory for models: an MCP server on SQLite, in one file.

    genmcp serve docs/examples/memory/server.py:suite

`remember` saves a text, `recall` searches, and `import_memories` saves many, which the
client may cut off at any time. They are kept in `memory.sqlite3` in the current
directory, or in the file that the environment variable MEMORY_DB names.

SQLite blocks, so none of it runs on the event loop. A plain `def call` has a worker
thread of its own; the import is `async` and hands each batch to a thread. No two calls
share a connection: each opens the file for itself, and SQLite makes writers, of this
process and of others, wait for each other.
"""

import json
import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated

import attrs
import trio

from genmcp import BlockingChannel, Channel, Suite, Tool
from genmcp.mcp import v2607 as mcp

log = logging.getLogger("memory")

LOCK_SECONDS = 10
"""How long a writer waits for others to finish."""


# -- what travels --------------------------------------------------------------------


@attrs.frozen
class NewMemory:
    """Something to remember."""

    text: Annotated[str, "what to remember, in full sentences", {"minLength": 1}]
    tags: Annotated[tuple[str, ...], "words to find it by that the text does not have"] = ()


@attrs.frozen
class Search:
    """What to look for."""

    query: Annotated[str, "words, or parts of words; empty for the newest memories"]
    limit: Annotated[int, "how many memories to return", {"minimum": 1, "maximum": 100}] = 10


@attrs.frozen
class Memory:
    """Something remembered."""

    id: int
    text: str
    tags: tuple[str, ...]
    saved_at: Annotated[str, {"format": "date-time"}]


@attrs.frozen
class Recalled:
    """What was found, the best first."""

    memories: tuple[Memory, ...]


@attrs.frozen
class Import:
    """What to import."""

    memories: tuple[NewMemory, ...]


@attrs.frozen
class Imported:
    """What became of an import."""

    saved: int
    already_known: int


# -- where it is kept ----------------------------------------------------------------

_TABLE = """
CREATE TABLE IF NOT EXISTS memories (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE,
    tags TEXT NOT NULL,
    searched TEXT NOT NULL,
    saved_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
)
"""

_SAVE = """
INSERT INTO memories (text, tags, searched) VALUES (?, ?, ?) ON CONFLICT (text) DO NOTHING
"""

# instr() takes the words as they are: with LIKE or MATCH, `%`, `_`, quotes and operators
# in what a model asks for would have to be escaped. It reads every row, which is fast
# enough for the memories of a person; beyond that, build an FTS5 index.
_FIND = """
SELECT memories.id, memories.text, memories.tags, memories.saved_at
FROM memories JOIN json_each(?) AS word ON instr(memories.searched, word.value) > 0
GROUP BY memories.id
ORDER BY count(*) DESC, memories.id DESC
LIMIT ?
"""


class MemoryFile:
    """The memories in one SQLite file. For any thread, but one at a time.

    Every method blocks. What a method saves is on disk when it returns.
    """

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(
            path, timeout=LOCK_SECONDS, isolation_level="IMMEDIATE", check_same_thread=False
        )
        try:
            self._connection.execute(_TABLE)
        except sqlite3.Error:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def save(self, *memories: NewMemory) -> int:
        """Save all of these or, on an error, none; return how many were not known."""
        with self._connection as transaction:
            return transaction.executemany(_SAVE, map(_row, memories)).rowcount

    def find(self, query: str, limit: int) -> tuple[Memory, ...]:
        """Return the memories with most of the words, the newest of equal ones first."""
        # SQLite would end a word of JSON at a NUL.
        words = set(query.casefold().replace("\0", " ").split())
        wanted = json.dumps(list(words) or [""])
        return tuple(
            Memory(id=number, text=text, tags=tuple(json.loads(tags)), saved_at=saved_at)
            for number, text, tags, saved_at in self._connection.execute(_FIND, (wanted, limit))
        )


def _row(memory: NewMemory) -> tuple[str, str, str]:
    searched = " ".join([memory.text, *memory.tags]).casefold()
    return memory.text, json.dumps(memory.tags), searched


# -- the tools -----------------------------------------------------------------------

ADDS_ONLY = mcp.ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
READS_ONLY = mcp.ToolAnnotations(read_only_hint=True, open_world_hint=False)


@attrs.frozen
class Remember(Tool[NewMemory, BlockingChannel], name="remember", annotations=ADDS_ONLY):
    """Save something worth knowing later: a fact, a preference, a decision."""

    path: Path

    def call(self, request: mcp.CallToolRequest[NewMemory], channel: BlockingChannel) -> str:
        """Save it."""
        memory = request.params.arguments
        with closing(MemoryFile(self.path)) as memories:
            saved = memories.save(memory)
        channel.send_log("info", {"saved": saved}, logger="memory")
        return "Remembered." if saved else "That was known already."


@attrs.frozen
class Recall(
    Tool[Search, BlockingChannel], name="recall", annotations=READS_ONLY, output_schema=Recalled
):
    """Search the memories. Those with most of the words come first."""

    path: Path

    def call(
        self, request: mcp.CallToolRequest[Search], channel: BlockingChannel
    ) -> mcp.CallToolResult:
        """Find them."""
        search = request.params.arguments
        with closing(MemoryFile(self.path)) as memories:
            found = memories.find(search.query, search.limit)
        channel.send_log("debug", {"found": len(found)}, logger="memory")
        return mcp.call_tool_result(data=Recalled(found))


@attrs.frozen
class ImportMemories(
    Tool[Import], name="import_memories", annotations=ADDS_ONLY, output_schema=Imported
):
    """Save many memories. Cut off, it keeps what it saved; call it again for the rest."""

    path: Path
    batch_size: int = 50

    async def call(
        self, request: mcp.CallToolRequest[Import], channel: Channel
    ) -> mcp.CallToolResult:
        """Save batch after batch, and tell how far it has come."""
        given = request.params.arguments.memories
        done = saved = 0
        memories = await trio.to_thread.run_sync(MemoryFile, self.path)
        try:
            while done < len(given):
                batch = given[done : done + self.batch_size]
                # When the client goes, the thread is waited for and its batch counted;
                # the next thing awaited is cancelled.
                saved += await trio.to_thread.run_sync(memories.save, *batch)
                done += len(batch)
                await channel.send_progress(done, total=len(given), message=f"{saved} saved")
        finally:
            # Also when the client has gone: a `finally` may go on awaiting.
            await trio.to_thread.run_sync(memories.close)
            log.info("import: %d of %d done, %d saved", done, len(given), saved)
        await channel.send_log("info", {"saved": saved}, logger="memory")
        return mcp.call_tool_result(data=Imported(saved, already_known=len(given) - saved))


# -- the server ----------------------------------------------------------------------


def make_suite(path: Path) -> Suite:
    """Return the server of the memories in the file at `path`, made when first used."""
    return Suite(
        server_name="memory",
        server_version="1.0.0",
        server_title="Memory",
        instructions=(
            "Recall before you answer a question about the user, and remember what "
            "they will expect you to know the next time."
        ),
        tools=[Remember(path), Recall(path), ImportMemories(path)],
    )


suite = make_suite(Path(os.environ.get("MEMORY_DB") or "memory.sqlite3"))
