"""A memory for models: an MCP server on SQLite, in one file.

    genmcp serve docs/examples/memory/server.py:suite

Its tools: `remember` saves a text, `recall` searches, `import_memories` saves many, which
the client may cut off at any time, and `forget` deletes one after asking the user. Each
memory is a resource, `memory:///` and its number; the newest are listed first. The prompt
`summarise` is about a topic, and suggests tags for it. Clients that listen hear when
memories come and go.

They are kept in `memory.sqlite3` in the current directory, or in the file that the
environment variable MEMORY_DB names.

SQLite blocks, so none of it runs on the event loop. A plain `def` hook has a worker
thread of its own; the import is `async` and hands each batch to a thread. No two calls
share a connection: each opens the file for itself, and SQLite makes writers, of this
process and of others, wait for each other. What another process saves is found here as
well, but clients that listen here do not hear of it.

The parts: what travels; where it is kept; the tools; the resources; the prompts; the
server.
"""

import json
import logging
import os
import sqlite3
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import attrs
import trio

from genmcp import (
    Accepted,
    BlockingChannel,
    Cancelled,
    Channel,
    EventBus,
    EventSubscriptions,
    InputRequired,
    NotFound,
    PromptRepo,
    ResourceRepo,
    SubscriptionCapabilities,
    Suite,
    Tool,
    ToolError,
    elicit_form,
)
from genmcp.mcp import v2607 as mcp

log = logging.getLogger("memory")

LOCK_SECONDS = 10
"""How long a writer waits for others to finish."""

PREFIX = "memory:///"
"""What the URI of every memory begins with; its number follows."""


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


@attrs.frozen
class Which:
    """Which memory."""

    id: Annotated[int, "the number that `recall` gives with it", {"minimum": 1}]


@attrs.frozen
class Consent:
    """What the user is asked before a memory is deleted."""

    forget: Annotated[bool, "Forget it for good"] = False


# -- where it is kept ----------------------------------------------------------------

_TABLE = """
CREATE TABLE IF NOT EXISTS memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- a URI is never given to another memory
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

_NEWEST = """
SELECT id, text, tags, saved_at FROM memories
WHERE ?1 IS NULL OR id < ?1 ORDER BY id DESC LIMIT ?2
"""

# To the letter: SQLite alone would take `007` for 7, and nobody is told of that URI.
_READ = """
SELECT id, text, tags, saved_at FROM memories WHERE id = ?1 AND CAST(id AS TEXT) = ?1
"""

_FORGET = "DELETE FROM memories WHERE id = ?"
_TAGS = "SELECT tags FROM memories ORDER BY id"


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
        return _memories(self._connection.execute(_FIND, (wanted, limit)))

    def list_newest(self, limit: int, *, before: int | None = None) -> tuple[Memory, ...]:
        """Return the newest memories, of those that are older than number `before`."""
        return _memories(self._connection.execute(_NEWEST, (before, limit)))

    def read(self, number: str) -> Memory | None:
        """Return the memory of the number that is written like this, if there is one."""
        return next(iter(_memories(self._connection.execute(_READ, (number,)))), None)

    def forget(self, number: int) -> None:
        """Delete the memory of this number, if there is one."""
        with self._connection as transaction:
            transaction.execute(_FORGET, (number,))

    def list_tags(self) -> list[str]:
        """Return all tags, those used most first."""
        rows = self._connection.execute(_TAGS)
        used = Counter(tag for (tags,) in rows for tag in json.loads(tags))
        return [tag for tag, _ in used.most_common()]


def _memories(rows: Iterable[tuple[int, str, str, str]]) -> tuple[Memory, ...]:
    return tuple(
        Memory(id=number, text=text, tags=tuple(json.loads(tags)), saved_at=saved_at)
        for number, text, tags, saved_at in rows
    )


def _shorten(text: str, width: int) -> str:
    return textwrap.shorten(text, width, placeholder=" ...")


def _row(memory: NewMemory) -> tuple[str, str, str]:
    searched = " ".join([memory.text, *memory.tags]).casefold()
    return memory.text, json.dumps(memory.tags), searched


# -- the tools -----------------------------------------------------------------------

ADDS_ONLY = mcp.ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
DELETES = mcp.ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
READS_ONLY = mcp.ToolAnnotations(read_only_hint=True, open_world_hint=False)


@attrs.frozen
class Remember(Tool[NewMemory, BlockingChannel], name="remember", annotations=ADDS_ONLY):
    """Save something worth knowing later: a fact, a preference, a decision."""

    path: Path
    bus: EventBus

    def call(self, request: mcp.CallToolRequest[NewMemory], channel: BlockingChannel) -> str:
        """Save it."""
        memory = request.params.arguments
        with closing(MemoryFile(self.path)) as memories:
            saved = memories.save(memory)
        if saved:
            # Once it is on disk, so that whoever hears of it finds it. From this thread:
            # a bus takes changes from any.
            self.bus.resources_changed()
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
    bus: EventBus
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
                new = await trio.to_thread.run_sync(memories.save, *batch)
                if new:
                    self.bus.resources_changed()
                saved += new
                done += len(batch)
                await channel.send_progress(done, total=len(given), message=f"{saved} saved")
        finally:
            # Also when the client has gone: a `finally` may go on awaiting.
            await trio.to_thread.run_sync(memories.close)
            log.info("import: %d of %d done, %d saved", done, len(given), saved)
        await channel.send_log("info", {"saved": saved}, logger="memory")
        return mcp.call_tool_result(data=Imported(saved, already_known=len(given) - saved))


@attrs.frozen
class Forget(
    Tool[Which, BlockingChannel],
    name="forget",
    annotations=DELETES,
    # A client that cannot show a form is refused before `call` runs.
    requires={"elicitation": {"form": {}}},
):
    """Delete a memory for good. The user is asked first."""

    path: Path
    bus: EventBus

    def call(
        self, request: mcp.CallToolRequest[Which], channel: BlockingChannel
    ) -> str | InputRequired:
        """Ask, and in the call that comes back with the answer, delete it."""
        number = request.params.arguments.id
        with closing(MemoryFile(self.path)) as memories:
            # In both calls: it may have been forgotten meanwhile.
            memory = memories.read(str(number))
            if memory is None:
                raise ToolError(f"There is no memory {number}.")
            match channel.answers.form("consent", Consent):
                case None:  # not asked yet
                    asked = f"Forget this? {_shorten(memory.text, 200)}"
                    return InputRequired({"consent": elicit_form(asked, Consent)})
                case Accepted(Consent(forget=True)):
                    memories.forget(number)
                case Cancelled():
                    return "The user did not say, so it is still remembered."
                case _:  # declined, or accepted with the box left empty
                    return "The user wants it remembered."
        self.bus.resource_updated(f"{PREFIX}{number}")
        self.bus.resources_changed()
        return "Forgotten."


# -- the resources -------------------------------------------------------------------


@attrs.frozen
class Memories(
    ResourceRepo[BlockingChannel],
    prefix=PREFIX,
    template=mcp.ResourceTemplate(
        uri_template=PREFIX + "{id}",
        name="Memory",
        description="What is remembered under a number.",
        mime_type="text/plain",
    ),
):
    """The memories, the newest first."""

    path: Path
    page_size: int = 50

    def list_resources(
        self, cursor: int | None, channel: BlockingChannel
    ) -> tuple[Sequence[mcp.Resource], int | None]:
        """Return those that are older than the one `cursor` names.

        New ones come before the first page, so no page that follows repeats any.
        """
        with closing(MemoryFile(self.path)) as memories:
            found = memories.list_newest(self.page_size + 1, before=cursor)
        page = found[: self.page_size]
        return [_describe(memory) for memory in page], page[-1].id if page != found else None

    def read(self, target: Mapping[str, str], channel: BlockingChannel) -> str:
        """Return its text; the Suite adds the URI, and the media type of the template."""
        with closing(MemoryFile(self.path)) as memories:
            memory = memories.read(target["id"])
        if memory is None:
            raise NotFound
        return memory.text


def _describe(memory: Memory) -> mcp.Resource:
    return mcp.Resource(
        uri=f"{PREFIX}{memory.id}",
        name=f"memory {memory.id}",
        title=_shorten(memory.text, 60) or None,
        mime_type="text/plain",
        annotations=mcp.Annotations(last_modified=memory.saved_at),
    )


# -- the prompts ---------------------------------------------------------------------


@attrs.frozen
class MemoryPrompts(PromptRepo[BlockingChannel]):
    """Prompts about what is remembered: one."""

    path: Path
    limit: int = 50

    def list_prompts(self, cursor: Any, channel: BlockingChannel) -> Sequence[mcp.Prompt]:
        """Return it."""
        topic = mcp.PromptArgument(name="topic", description="a tag or a word", required=True)
        return [
            mcp.Prompt(
                name="summarise",
                title="Summarise a topic",
                description="Sums up what is remembered on a topic.",
                arguments=[topic],
            )
        ]

    def get(
        self, name: str, arguments: dict[str, str], channel: BlockingChannel
    ) -> mcp.GetPromptResult | str:
        """Embed the memories that the topic is found in, and ask for their sum."""
        topic = arguments["topic"]
        with closing(MemoryFile(self.path)) as memories:
            found = memories.find(topic, self.limit)
        if not found:
            return f"Tell me that nothing is remembered about {topic}, and ask me about it."
        embedded = [
            ("resource", {"uri": f"{PREFIX}{memory.id}", "text": memory.text}) for memory in found
        ]
        return mcp.get_prompt_result(
            *embedded, ("text", f"Summarise what these memories say about {topic}.")
        )

    def complete(
        self,
        name: str,
        argument: mcp.CompletionArgument,
        context: dict[str, str],
        channel: BlockingChannel,
    ) -> Sequence[str]:
        """Suggest tags that begin like what was typed, those used most first."""
        typed = argument.value.casefold()
        with closing(MemoryFile(self.path)) as memories:
            return [tag for tag in memories.list_tags() if tag.casefold().startswith(typed)]


# -- the server ----------------------------------------------------------------------


def make_suite(path: Path, bus: EventBus) -> Suite:
    """Return the server of the memories in the file at `path`, made when first used.

    Its clients hear what is published on `bus`, and so do those of other suites with it.
    """
    return Suite(
        server_name="memory",
        server_version="1.0.0",
        server_title="Memory",
        instructions=(
            "Recall before you answer a question about the user, and remember what "
            "they will expect you to know the next time."
        ),
        tools=[Remember(path, bus), Recall(path), ImportMemories(path, bus), Forget(path, bus)],
        resources=[Memories(path)],
        prompts=[MemoryPrompts(path)],
        # The tools and the prompts stay as they are: nothing is promised about their lists.
        subscription_handler=EventSubscriptions(
            bus,
            capabilities=SubscriptionCapabilities(
                resources_list_changed=True, resource_updated=True
            ),
        ),
    )


suite = make_suite(Path(os.environ.get("MEMORY_DB") or "memory.sqlite3"), EventBus())
