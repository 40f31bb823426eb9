from __future__ import annotations

import logging
import runpy
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from docs.examples.memory import server
from docs.examples.memory.server import (
    Forget,
    ImportMemories,
    Memories,
    MemoryFile,
    MemoryPrompts,
    NewMemory,
    Recall,
    Remember,
    make_suite,
)
from genmcp import EventBus, Suite
from genmcp.mcp import v2607 as mcp
from genmcp.testing import (
    AnsweringClient,
    Client,
    RecordingBus,
    ServerError,
    accept,
    call_tool,
    call_tool_async,
    cancel,
    check_prompt_repo,
    check_resource_repo,
    check_tool,
    decline,
    stream_tool,
)

ASKABLE = mcp.ClientCapabilities(elicitation=mcp.ElicitationCapability(form={}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.sqlite3"


def find_texts(path: Path, query: str = "", limit: int = 100) -> list[str]:
    result = call_tool(Recall(path), query=query, limit=limit)
    assert not result.is_error, result
    return read_texts(result)


def read_texts(result: mcp.CallToolResult | mcp.InputRequiredResult) -> list[str]:
    assert isinstance(result, mcp.CallToolResult)
    return [memory["text"] for memory in read_data(result)["memories"]]


def read_data(result: mcp.CallToolResult) -> Any:
    return result.structured_content


def make_memories(count: int, prefix: str = "fact") -> list[dict[str, Any]]:
    return [{"text": f"{prefix} number {number}"} for number in range(count)]


# -- remember and recall -------------------------------------------------------------


def test_what_was_remembered_is_recalled_with_its_tags(path: Path) -> None:
    saved = call_tool(Remember(path, EventBus()), text="Ada prefers tea.", tags=["drinks", "Ada"])
    assert saved.content == [mcp.TextContent(text="Remembered.")]
    result = call_tool(Recall(path), query="tea")
    [memory] = read_data(result)["memories"]
    assert memory["text"] == "Ada prefers tea."
    assert memory["tags"] == ["drinks", "Ada"]
    assert memory["saved_at"].endswith("Z")


def test_words_are_found_in_texts_and_tags_in_any_case_and_inside_words(path: Path) -> None:
    call_tool(Remember(path, EventBus()), text="Die Straße heißt ÉTOILE", tags=["Zuhause"])
    for query in ("STRASSE", "étoile", "zuhause", "eiß", "nothing Straße"):
        assert find_texts(path, query) == ["Die Straße heißt ÉTOILE"], query
    assert find_texts(path, "elsewhere") == []


def test_memories_with_more_of_the_words_come_first_then_newer_ones(path: Path) -> None:
    for text in ("red apple", "red green apple", "green pear", "red plum"):
        call_tool(Remember(path, EventBus()), text=text)
    assert find_texts(path, "red green") == [
        "red green apple",
        "red plum",
        "green pear",
        "red apple",
    ]


def test_empty_query_gives_the_newest_up_to_the_limit(path: Path) -> None:
    for number in range(5):
        call_tool(Remember(path, EventBus()), text=f"fact {number}")
    assert find_texts(path, "", limit=2) == ["fact 4", "fact 3"]
    assert find_texts(path, "  \n ", limit=2) == ["fact 4", "fact 3"]


def test_text_that_is_known_is_said_to_be_and_stays_as_it_was(path: Path) -> None:
    call_tool(Remember(path, EventBus()), text="Ada prefers tea.", tags=["old"])
    again = call_tool(Remember(path, EventBus()), text="Ada prefers tea.", tags=["new"])
    assert again.content == [mcp.TextContent(text="That was known already.")]
    assert find_texts(path) == find_texts(path, "old") == ["Ada prefers tea."]
    assert find_texts(path, "new") == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("100%", ["100% wool"]),
        ("%", ["100% wool"]),
        ("_", ["snake_case"]),
        ("s_l", []),
        ("it's", ['it\'s "quoted"']),
        ('"', ['it\'s "quoted"']),
        ("\\", ["back\\slash"]),
        ("'; DROP TABLE memories; --", ["back\\slash; --"]),
    ],
)
def test_characters_with_a_meaning_in_sql_are_searched_as_they_are(
    path: Path, query: str, found: list[str]
) -> None:
    texts = ["100% wool", "snake_case", 'it\'s "quoted"', "back\\slash"]
    if "--" in query:
        texts[-1] += "; --"
    for text in texts:
        call_tool(Remember(path, EventBus()), text=text)
    assert find_texts(path, query) == found
    assert len(find_texts(path)) == len(texts)


@pytest.mark.parametrize(
    "query",
    ['"', "NEAR(a b)", "a AND", "NOT", "a*", "^a", "text:", "col : a", "(", "{a}", "-a", "🎉"],
)
def test_search_syntax_of_sqlite_is_only_text(path: Path, query: str) -> None:
    call_tool(Remember(path, EventBus()), text="zzz")
    assert find_texts(path, query) == []
    call_tool(Remember(path, EventBus()), text=f"before {query} after")
    assert find_texts(path, query) == [f"before {query} after"]


def test_nul_in_a_query_parts_words(path: Path) -> None:
    for text in ("tea", "coffee", "water"):
        call_tool(Remember(path, EventBus()), text=text)
    assert find_texts(path, "tea\0coffee") == ["coffee", "tea"]


def test_query_of_many_words_is_answered(path: Path) -> None:
    call_tool(Remember(path, EventBus()), text="needle")
    assert find_texts(path, " ".join(["needle", *map(str, range(50_000))])) == ["needle"]


@given(text=st.text(st.characters(codec="utf-8"), min_size=1, max_size=50))
def test_every_text_is_found_by_itself(text: str) -> None:
    with closing(MemoryFile(Path(":memory:"))) as memories:
        memories.save(NewMemory(text), NewMemory("."))
        assert text in [memory.text for memory in memories.find(text, 10)]


@pytest.mark.parametrize(
    "text",
    [
        "🎉👩‍👩‍👧",
        "\u202eright to left\u202c",
        "line\u2028separator\r\n",
        "nul\0inside",
        " ",
        "é" * 500_000,
    ],
    ids=["emoji", "bidi", "separators", "nul", "blank", "1 MB"],
)
async def test_unusual_text_comes_back_unchanged_over_the_wire(path: Path, text: str) -> None:
    async with Client(make_suite(path, EventBus())) as client:
        await client.call_tool("remember", {"text": text})
        assert read_texts(await client.call_tool("recall", {"query": ""})) == [text]


def test_empty_text_is_refused_in_words_for_the_model(path: Path) -> None:
    result = call_tool(Remember(path, EventBus()), text="")
    assert result.is_error
    [told] = result.content
    assert isinstance(told, mcp.TextContent)
    assert told.text.startswith("text: ")
    assert find_texts(path) == []


# -- import --------------------------------------------------------------------------


async def test_import_reports_progress_after_each_batch(path: Path) -> None:
    async with stream_tool(
        ImportMemories(path, EventBus(), 2), memories=make_memories(5)
    ) as stream:
        result = await stream.result()
    assert isinstance(result, mcp.CallToolResult)
    assert result.structured_content == {"saved": 5, "already_known": 0}
    assert stream.progress == [(2, 5, "2 saved"), (4, 5, "4 saved"), (5, 5, "5 saved")]
    assert stream.logs == [("info", {"saved": 5})]


def test_import_counts_what_was_known_and_keeps_its_tags(path: Path) -> None:
    call_tool(Remember(path, EventBus()), text="fact number 1", tags=["mine"])
    memories = [*make_memories(3), {"text": "fact number 2", "tags": ["twice"]}]
    result = call_tool(ImportMemories(path, EventBus(), 2), memories=memories)
    assert result.structured_content == {"saved": 2, "already_known": 2}
    assert find_texts(path, "mine") == ["fact number 1"]
    assert find_texts(path, "twice") == []


def test_import_of_nothing_is_answered(path: Path) -> None:
    result = call_tool(ImportMemories(path, EventBus()), memories=[])
    assert result.structured_content == {"saved": 0, "already_known": 0}


def test_import_with_one_bad_memory_saves_none_and_says_which(path: Path) -> None:
    memories = [*make_memories(3), {"text": ""}]
    result = call_tool(ImportMemories(path, EventBus(), 1), memories=memories)
    assert result.is_error
    [told] = result.content
    assert isinstance(told, mcp.TextContent)
    assert "memories[3].text" in told.text
    assert find_texts(path) == []


async def test_import_cut_off_keeps_what_it_saved_and_the_next_one_goes_on(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "memory")
    suite = make_suite(path, EventBus())
    memories = make_memories(1_000)
    arguments = {"name": "import_memories", "arguments": {"memories": memories}}
    async with Client(suite) as client:
        # In memory the server is ahead of its reader by one event at most.
        async with client.open("tools/call", arguments, meta={"progressToken": 1}) as answer:
            first = await answer.next_message()
            assert first["params"]["progress"] == 50
            await answer.disconnect()

        kept = await trio.to_thread.run_sync(count_memories, path)
        assert 50 <= kept < 1_000
        assert kept % 50 == 0
        ends = [one.getMessage() for one in caplog.records if one.name == "memory"]
        assert ends == [f"import: {kept} of 1000 done, {kept} saved"]

        again = await client.call_tool("import_memories", {"memories": memories})
        assert isinstance(again, mcp.CallToolResult)
        assert again.structured_content == {"saved": 1_000 - kept, "already_known": kept}
    assert await trio.to_thread.run_sync(count_memories, path) == 1_000


def count_memories(path: Path) -> int:
    # With a connection of the test's own: nothing is in a memory of the server's.
    with closing(sqlite3.connect(path)) as connection:
        [(count,)] = connection.execute("SELECT count(*) FROM memories")
        return int(count)


async def test_two_imports_at_once_save_each_memory_once(path: Path) -> None:
    results: list[mcp.CallToolResult] = []

    async def run_import(first: int) -> None:
        memories = make_memories(60)[first : first + 40]
        results.append(
            await call_tool_async(ImportMemories(path, EventBus(), 3), memories=memories)
        )

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_import, 0)
        nursery.start_soon(run_import, 20)
    assert sum(read_data(result)["saved"] for result in results) == 60
    assert sum(read_data(result)["already_known"] for result in results) == 20
    assert await trio.to_thread.run_sync(count_memories, path) == 60


# -- forget --------------------------------------------------------------------------

FORGOTTEN = [
    mcp.ResourceUpdatedNotification(
        params=mcp.ResourceUpdatedNotificationParams(uri="memory:///1")
    ),
    mcp.ResourceListChangedNotification(),
]


def read_text(result: mcp.Result) -> str:
    assert isinstance(result, mcp.CallToolResult)
    [block] = result.content
    assert isinstance(block, mcp.TextContent)
    return block.text


def test_forget_asks_the_user_with_the_text_and_then_deletes_it(path: Path) -> None:
    call_tool(Remember(path, EventBus()), text="Ada prefers tea.")
    call_tool(Remember(path, EventBus()), text="Ada lives in Ghent.")
    bus = RecordingBus()
    user = AnsweringClient(consent=accept(forget=True))
    assert read_text(call_tool(Forget(path, bus), {"id": 1}, user)) == "Forgotten."
    assert find_texts(path) == ["Ada lives in Ghent."]
    assert bus.published == FORGOTTEN
    [question] = user.questions
    assert isinstance(question, mcp.ElicitRequest)
    assert question.params.message == "Forget this? Ada prefers tea."


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (decline(), "The user wants it remembered."),
        (accept(forget=False), "The user wants it remembered."),
        (accept(), "The user wants it remembered."),
        (cancel(), "The user did not say, so it is still remembered."),
    ],
    ids=["declined", "box left empty", "nothing filled in", "cancelled"],
)
def test_forget_deletes_nothing_that_the_user_did_not_agree_to(
    path: Path, answer: mcp.ElicitResult, told: str
) -> None:
    call_tool(Remember(path, EventBus()), text="Ada prefers tea.")
    bus = RecordingBus()
    result = call_tool(Forget(path, bus), {"id": 1}, AnsweringClient(consent=answer))
    assert read_text(result) == told
    assert find_texts(path) == ["Ada prefers tea."]
    assert bus.published == []


async def test_forget_over_the_wire_takes_two_rounds_and_asks_again_what_is_not_answered(
    path: Path,
) -> None:
    call: dict[str, Any] = {"name": "forget", "arguments": {"id": 1}}
    async with Client(make_suite(path, EventBus()), capabilities=ASKABLE) as client:
        await client.call_tool("remember", {"text": "Ada prefers tea."})
        asked = await client.request("tools/call", call)
        assert asked["resultType"] == "input_required"
        retry = {"requestState": asked["requestState"]}
        again = await client.request("tools/call", {**call, **retry, "inputResponses": {}})
        assert again["inputRequests"] == asked["inputRequests"]
        # The answer to one memory is none to another.
        await client.call_tool("remember", {"text": "Ada lives in Ghent."})
        answer = {"consent": {"action": "accept", "content": {"forget": True}}}
        other = {"name": "forget", "arguments": {"id": 2}}
        with pytest.raises(ServerError, match="requestState is not valid for this call"):
            await client.request("tools/call", {**other, **retry, "inputResponses": answer})
        await client.request("tools/call", {**call, **retry, "inputResponses": answer})
        recalled = await client.call_tool("recall", {"query": ""})
    assert read_texts(recalled) == ["Ada lives in Ghent."]


async def test_forget_is_refused_to_a_client_that_cannot_show_a_form(path: Path) -> None:
    async with Client(make_suite(path, EventBus())) as client:
        await client.call_tool("remember", {"text": "Ada prefers tea."})
        with pytest.raises(ServerError) as caught:
            await client.call_tool("forget", {"id": 1})
        assert (caught.value.code, caught.value.data) == (
            -32021,
            {"requiredCapabilities": {"elicitation": {"form": {}}}},
        )
        assert read_texts(await client.call_tool("recall", {"query": ""})) == ["Ada prefers tea."]


def test_memory_that_is_not_there_cannot_be_forgotten(path: Path) -> None:
    bus = RecordingBus()
    user = AnsweringClient(consent=accept(forget=True))
    for number in (1, 2**63, 10**18):
        result = call_tool(Forget(path, bus), {"id": number}, user)
        assert result.is_error
        assert read_text(result) == f"There is no memory {number}."
    assert user.asked == []
    assert bus.published == []


def test_memory_forgotten_while_the_user_was_asked_is_not_forgotten_twice(path: Path) -> None:
    call_tool(Remember(path, EventBus()), text="Ada prefers tea.")
    bus = RecordingBus()

    def agree_too_late(_: mcp.InputRequest) -> mcp.ElicitResult:
        with closing(MemoryFile(path)) as memories:
            memories.forget(1)
            memories.save(NewMemory("Ada lives in Ghent."))
        return accept(forget=True)

    result = call_tool(Forget(path, bus), {"id": 1}, AnsweringClient(consent=agree_too_late))
    assert read_text(result) == "There is no memory 1."
    # The number went to no other memory in the meantime.
    assert find_texts(path) == ["Ada lives in Ghent."]
    assert bus.published == []


# -- resources -----------------------------------------------------------------------


def save_texts(path: Path, *texts: str) -> None:
    with closing(MemoryFile(path)) as memories:
        memories.save(*map(NewMemory, texts))


def test_memories_keep_the_contract_of_resources(path: Path) -> None:
    check_resource_repo(Memories(path))
    save_texts(path, *(f"fact {number}" for number in range(5)), "\n", "x" * 500)
    check_resource_repo(Memories(path), ["memory:///1"], missing="memory:///8")
    check_resource_repo(Memories(path, page_size=2))


@pytest.mark.parametrize("page_size", [1, 2, 3, 6, 7, 50])
async def test_every_memory_is_listed_once_the_newest_first(path: Path, page_size: int) -> None:
    save_texts(path, *(f"fact {number}" for number in range(1, 7)))
    suite = Suite(server_name="m", server_version="1", resources=[Memories(path, page_size)])
    async with Client(suite) as client:
        pages: list[list[str]] = []
        cursor = None
        while not pages or cursor is not None:
            page = await client.list_resources(cursor)
            pages.append([one.uri for one in page.resources])
            cursor = page.next_cursor
    assert [uri for page in pages for uri in page] == [
        f"memory:///{number}" for number in (6, 5, 4, 3, 2, 1)
    ]
    assert [len(page) for page in pages[:-1]] == [page_size] * (len(pages) - 1)


async def test_page_goes_on_where_it_was_though_memories_come_and_go(path: Path) -> None:
    save_texts(path, "one", "two", "three", "four")
    suite = Suite(server_name="m", server_version="1", resources=[Memories(path, page_size=2)])
    async with Client(suite) as client:
        first = await client.list_resources()
        with closing(MemoryFile(path)) as memories:
            memories.save(NewMemory("five"))
            memories.forget(3)
        second = await client.list_resources(first.next_cursor)
    assert [one.title for one in first.resources] == ["four", "three"]
    assert [one.title for one in second.resources] == ["two", "one"]
    assert second.next_cursor is None


async def test_memory_is_read_as_it_was_saved(path: Path) -> None:
    text = "  Ada\nprefers\0tea. " + "é" * 100
    async with Client(make_suite(path, EventBus())) as client:
        [template] = await client.list_all_resource_templates()
        assert template.uri_template == "memory:///{id}"
        await client.call_tool("remember", {"text": text})
        [listed] = await client.list_all_resources()
        assert listed.title is not None
        assert len(listed.title) <= 60
        result = await client.read_resource(listed.uri)
    assert isinstance(result, mcp.ReadResourceResult)
    assert result.contents == [
        mcp.TextResourceContents(uri="memory:///1", text=text, mime_type="text/plain")
    ]


@pytest.mark.parametrize(
    "number", ["2", "0", "01", "1.0", "+1", "%201", "x", "", "1/", "-1", "9" * 30, "%D9%A1"]
)
async def test_what_is_not_the_number_of_a_memory_is_not_found(path: Path, number: str) -> None:
    save_texts(path, "one")
    uri = f"memory:///{number}"
    async with Client(make_suite(path, EventBus())) as client:
        with pytest.raises(ServerError, match="Resource not found") as caught:
            await client.read_resource(uri)
    assert (caught.value.code, caught.value.data) == (-32602, {"uri": uri})


# -- what listening clients hear -----------------------------------------------------


async def test_listening_client_hears_that_memories_come_and_go(path: Path) -> None:
    bus = RecordingBus()
    answers = AnsweringClient(consent=accept(forget=True))
    async with Client(make_suite(path, bus), answers=answers) as client:
        async with client.listen(
            tools_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=["memory:///1"],
        ) as heard:
            assert heard.accepted == mcp.SubscriptionFilter(
                resources_list_changed=True, resource_subscriptions=["memory:///1"]
            )
            await client.call_tool("remember", {"text": "Ada prefers tea."})
            assert isinstance(await heard.next_change(), mcp.ResourceListChangedNotification)
            [listed] = await client.list_all_resources()
            assert listed.title == "Ada prefers tea."
            await client.call_tool("forget", {"id": 1})
            gone = await heard.next_change()
            assert isinstance(gone, mcp.ResourceUpdatedNotification)
            assert gone.params.uri == "memory:///1"
            with pytest.raises(ServerError, match="Resource not found"):
                await client.read_resource(gone.params.uri)
            assert isinstance(await heard.next_change(), mcp.ResourceListChangedNotification)
        assert bus.listener_count == 0


def test_only_what_changes_something_is_published(path: Path) -> None:
    bus = RecordingBus()
    call_tool(Remember(path, bus), text="fact number 1")
    assert bus.published == [mcp.ResourceListChangedNotification()]
    call_tool(Remember(path, bus), text="fact number 1")
    call_tool(Recall(path), query="")
    call_tool(ImportMemories(path, bus), memories=[{"text": "fact number 1"}])
    assert len(bus.published) == 1
    call_tool(ImportMemories(path, bus, 2), memories=make_memories(5))
    assert len(bus.published) == 4


# -- prompts -------------------------------------------------------------------------


def test_prompts_keep_the_contract(path: Path) -> None:
    save_texts(path, "Ada prefers tea.")
    check_prompt_repo(MemoryPrompts(path), [("summarise", {"topic": "tea"})])


async def test_summary_embeds_the_memories_of_the_topic(path: Path) -> None:
    async with Client(make_suite(path, EventBus())) as client:
        for text, tags in [("Ada prefers tea.", ["drinks"]), ("Ada lives in Ghent.", [])]:
            await client.call_tool("remember", {"text": text, "tags": tags})
        result = await client.get_prompt("summarise", {"topic": "drinks"})
        assert isinstance(result, mcp.GetPromptResult)
        [embedded, asked] = [message.content for message in result.messages]
        assert embedded == mcp.EmbeddedResource(
            resource=mcp.TextResourceContents(
                uri="memory:///1", text="Ada prefers tea.", mime_type="text/plain"
            )
        )
        assert asked == mcp.TextContent(text="Summarise what these memories say about drinks.")
        unknown = await client.get_prompt("summarise", {"topic": "cars"})
        assert isinstance(unknown, mcp.GetPromptResult)
        [message] = unknown.messages
        assert isinstance(message.content, mcp.TextContent)
        assert "nothing is remembered about cars" in message.content.text
        with pytest.raises(ServerError, match='missing required argument "topic"'):
            await client.get_prompt("summarise")


async def test_topics_are_completed_with_tags_those_used_most_first(path: Path) -> None:
    summarise = mcp.PromptReference(name="summarise")
    async with Client(make_suite(path, EventBus())) as client:
        assert (await client.complete(summarise, "topic")).values == []
        for text, tags in [("a", ["Town", "tea"]), ("b", ["tea"]), ("c", ["cars", "tea"])]:
            await client.call_tool("remember", {"text": text, "tags": tags})
        assert (await client.complete(summarise, "topic")).values == ["tea", "Town", "cars"]
        assert (await client.complete(summarise, "topic", "T")).values == ["tea", "Town"]
        assert (await client.complete(summarise, "topic", "x")).values == []


async def test_only_the_first_hundred_tags_go_out_with_their_number(path: Path) -> None:
    tags = [f"tag {number}" for number in range(120)]
    summarise = mcp.PromptReference(name="summarise")
    async with Client(make_suite(path, EventBus())) as client:
        await client.call_tool("remember", {"text": "many", "tags": tags})
        completion = await client.complete(summarise, "topic", "tag")
    assert completion.values == tags[:100]
    assert (completion.total, completion.has_more) == (120, True)


# -- the file ------------------------------------------------------------------------


async def test_memories_are_still_there_when_the_file_is_opened_again(path: Path) -> None:
    async with Client(make_suite(path, EventBus())) as client:
        await client.call_tool("remember", {"text": "Ada prefers tea."})
    async with Client(make_suite(path, EventBus())) as client:
        assert read_texts(await client.call_tool("recall", {"query": "ada"})) == [
            "Ada prefers tea."
        ]


async def test_call_that_waits_for_the_file_does_not_hold_up_others(path: Path) -> None:
    with closing(MemoryFile(path)):
        pass  # the table is there
    answers: list[mcp.CallToolResult] = []

    async def remember() -> None:
        answers.append(await call_tool_async(Remember(path, EventBus()), text="at last"))

    # Were the event loop blocked, nobody would release the lock and the call would fail.
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(remember)
            for _ in range(100):
                await trio.lowlevel.checkpoint()
            assert answers == []
            other.execute("ROLLBACK")
    assert answers == [mcp.call_tool_result(text="Remembered.")]


@pytest.fixture
def broken_path(path: Path) -> Path:
    path.write_text("These are not the memories you are looking for. " * 20)
    return path


async def test_file_that_is_no_database_fails_the_call_and_tells_the_client_nothing(
    broken_path: Path,
) -> None:
    async with Client(make_suite(broken_path, EventBus())) as client:
        calls: dict[str, dict[str, Any]] = {
            "recall": {"query": ""},
            "import_memories": {"memories": make_memories(1)},
        }
        for name, arguments in calls.items():
            with pytest.raises(ServerError) as caught:
                await client.call_tool(name, arguments)
            assert (caught.value.code, caught.value.message) == (-32603, "Internal server error")
        assert len((await client.list_tools()).tools) == 4


@pytest.mark.parametrize(
    ("variable", "expected"),
    [(None, "memory.sqlite3"), ("", "memory.sqlite3"), ("elsewhere/m.db", "elsewhere/m.db")],
)
def test_environment_says_where_the_file_is_and_loading_does_not_make_it(
    variable: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMORY_DB", raising=False)
    if variable is not None:
        monkeypatch.setenv("MEMORY_DB", variable)
    monkeypatch.chdir(tmp_path)
    loaded = runpy.run_path(server.__file__)
    assert {tool.path for tool in loaded["suite"].tools} == {Path(expected)}
    assert list(tmp_path.iterdir()) == []


# -- what clients see ----------------------------------------------------------------


def test_tools_keep_their_contract(path: Path) -> None:
    check_tool(Remember(path, EventBus()), [{"text": "a"}, {"text": "b", "tags": ["c"]}])
    check_tool(Recall(path), [{"query": "a"}, {"query": "", "limit": 100}])
    check_tool(ImportMemories(path, EventBus()), [{"memories": make_memories(3)}])


async def test_listing_says_what_each_tool_does_to_the_memories(path: Path) -> None:
    async with Client(make_suite(path, EventBus())) as client:
        listed = {tool.name: tool for tool in await client.list_all_tools()}
    hints = {name: tool.annotations for name, tool in listed.items()}
    assert list(hints) == ["remember", "recall", "import_memories", "forget"]
    assert hints["recall"] == mcp.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for name in ("remember", "import_memories"):
        assert hints[name] == mcp.ToolAnnotations(
            read_only_hint=False,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        )
    assert hints["forget"] == mcp.ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
    )
    output = listed["recall"].output_schema
    assert output is not None
    assert output["properties"]["memories"]["items"]["required"] == [
        "id",
        "text",
        "tags",
        "saved_at",
    ]


@pytest.mark.parametrize(
    ("log_level", "heard"),
    [
        ("debug", [("info", {"saved": 1}), ("debug", {"found": 1})]),
        ("info", [("info", {"saved": 1})]),
        ("warning", []),
    ],
)
async def test_calls_log_to_the_client_that_asks(
    path: Path, log_level: mcp.LoggingLevel, heard: list[tuple[str, Any]]
) -> None:
    logs: list[tuple[str, Any]] = []

    def hear(log: mcp.LoggingMessageNotificationParams) -> None:
        logs.append((log.level, log.data))

    async with Client(make_suite(path, EventBus())) as client:
        await client.call_tool("remember", {"text": "tea"}, on_log=hear, log_level=log_level)
        await client.call_tool("recall", {"query": "tea"}, on_log=hear, log_level=log_level)
    assert logs == heard
