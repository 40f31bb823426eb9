"""Lists made of several repositories: paging, cursors, extensions, cache hints."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from genmcp import (
    BlockingChannel,
    CallbackReturnError,
    Channel,
    InvalidParams,
    PromptRepo,
    Suite,
    mcp,
)
from genmcp.suite.repo_listing import MAX_EMPTY_PAGES
from genmcp.testing import Client, FakeChannel, ServerError
from tests.suite.repos import (
    Giving,
    Prompts,
    Texts,
    ask,
    get_prompt,
    list_prompts,
    list_resources,
    list_templates,
    make_suite,
)

CURSORS: list[Any] = [
    lambda at: at,
    lambda at: str(at) if at else "",
    lambda at: [at, "page"],
    lambda at: ("page", at),
    lambda at: {"at": at},
    lambda at: at + 0.5,
]
"""Ways to write a place in a list as JSON; the first gives 0 and the second "" ."""


def number_of(cursor: Any) -> int:
    """The place that a cursor of `CURSORS` stands for, as it comes back."""
    match cursor:
        case "":
            return 0
        case [int(at), "page"] | ["page", int(at)] | {"at": int(at)}:
            return at
        case _:
            return int(float(cursor))


@attrs.frozen
class Paged(PromptRepo):
    """Pages by itself: `cuts` says how many items each of its own pages holds."""

    of: str
    cuts: Sequence[int]
    write: Any = CURSORS[0]

    def prefix(self) -> str:
        return self.of

    @property
    def names(self) -> list[str]:
        return [f"{self.of}{number}" for number in range(sum(self.cuts))]

    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        # The place is the number of the page, one less to have 0 and "" among them.
        page = 0 if cursor is None else number_of(cursor) + 1
        start = sum(self.cuts[:page])
        names = self.names[start : start + sum(self.cuts[page : page + 1])]
        following = None if page + 1 >= len(self.cuts) else self.write(page)
        return [mcp.Prompt(name=name) for name in names], following

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> str:
        return self.of


async def walk(suites: Sequence[Suite], channel: Channel) -> list[mcp.ListPromptsResult]:
    """Fetch all pages, each from the next of the suites."""
    pages: list[mcp.ListPromptsResult] = []
    cursor: str | None = None
    for turn in range(2000):
        page = await ask(suites[turn % len(suites)], list_prompts(cursor), channel)
        pages.append(page)
        cursor = page.next_cursor
        if cursor is None:
            return pages
    raise AssertionError("the list has no end")


def names_in(pages: Sequence[mcp.ListPromptsResult]) -> list[str]:
    return [prompt.name for page in pages for prompt in page.prompts]


repo_shapes = st.tuples(
    st.lists(st.integers(min_value=0, max_value=5), min_size=1, max_size=5),
    st.sampled_from(CURSORS),
)


@given(
    own=st.lists(repo_shapes, max_size=4),
    extended=st.lists(st.lists(repo_shapes, max_size=3), max_size=2),
    sizes=st.lists(st.integers(min_value=1, max_value=7), min_size=1, max_size=4),
)
async def test_any_way_to_cut_a_list_gives_the_same_list(
    own: list[Any], extended: list[list[Any]], sizes: list[int]
) -> None:
    repos = [Paged(f"own{n}/", cuts, write) for n, (cuts, write) in enumerate(own)]
    given = [
        [Paged(f"ext{e}-{n}/", cuts, write) for n, (cuts, write) in enumerate(shapes)]
        for e, shapes in enumerate(extended)
    ]
    extensions = [Giving(given_prompts=some) for some in given] or [Giving()]
    suites = [make_suite(prompts=repos, extensions=extensions, page_size=n) for n in sizes]
    pages = await walk(suites, FakeChannel())
    expected = [name for repo in itertools.chain(repos, *given) for name in repo.names]
    assert names_in(pages) == expected
    assert all(page.prompts for page in pages[:-1])
    assert all(len(page.prompts) <= sizes[turn % len(sizes)] for turn, page in enumerate(pages))
    assert {page.cache_scope for page in pages} == {"private"}


async def test_pages_are_filled_from_one_repository_after_the_other() -> None:
    repos = [Prompts(f"{n}/", ["a"]) for n in range(7)]
    pages = await walk([make_suite(prompts=repos, page_size=3)], FakeChannel())
    assert [len(page.prompts) for page in pages] == [3, 3, 1]


async def test_page_ends_where_a_repository_ends_its_own() -> None:
    suite = make_suite(prompts=[Paged("a/", [2, 3]), Prompts("b/", "xyz")], page_size=4)
    pages = await walk([suite], FakeChannel())
    assert [len(page.prompts) for page in pages] == [2, 4, 2]


async def test_empty_repositories_leave_no_trace() -> None:
    repos = [Prompts("a/"), Paged("b/", [0, 0, 0]), Prompts("c/", ["x"]), Prompts("d/")]
    suite = make_suite(prompts=repos, page_size=1)
    page = await ask(suite, list_prompts())
    assert [prompt.name for prompt in page.prompts] == ["c/x"]
    assert page.next_cursor is None


async def test_list_of_empty_repositories_is_one_empty_page() -> None:
    suite = make_suite(prompts=[Prompts("a/"), Paged("b/", [0, 0])])
    assert await walk([suite], FakeChannel()) == [mcp.list_prompts_result([])]


async def test_two_prompts_in_a_tuple_are_a_page_and_no_cursor() -> None:
    class Two(Prompts):
        async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
            return mcp.Prompt(name="a"), mcp.Prompt(name="b")

    suite = make_suite(prompts=[Two("")])
    assert names_in(await walk([suite], FakeChannel())) == ["a", "b"]


# -- cursors ------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["prompts/list", "resources/list", "resources/templates/list"])
@pytest.mark.parametrize("cursor", ["", "x", "A" * 92])
async def test_foreign_cursor_is_invalid_params(method: str, cursor: str) -> None:
    suite = make_suite(prompts=[Prompts("a")], resources=[Texts("a:", {"x": "x"})])
    async with Client(suite) as client:
        with pytest.raises(ServerError, match="cursor is not valid") as caught:
            await client.request(method, {"cursor": cursor})
    assert caught.value.code == -32602


async def test_cursor_opens_only_the_list_it_was_given_for() -> None:
    suite = make_suite(
        prompts=[Prompts("a:", "xy")],
        resources=[Texts("a:", {"x": "x", "y": "y"})],
        page_size=1,
    )
    channel = FakeChannel()
    for mine, other in [(list_prompts, list_resources), (list_resources, list_templates)]:
        cursor = (await ask(suite, mine(), channel)).next_cursor
        assert cursor is not None
        with pytest.raises(InvalidParams, match="cursor is not valid"):
            await ask(suite, other(cursor), channel)


async def test_repositorys_own_cursor_cannot_be_read_by_the_client() -> None:
    class Secret(Prompts):
        async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
            return [mcp.Prompt(name="a")], "table=salaries" if cursor is None else None

    page = await ask(make_suite(prompts=[Secret("")]), list_prompts())
    assert "salaries" not in page.next_cursor
    assert "a" * 9 not in page.next_cursor


@pytest.mark.parametrize(
    ("before", "after", "rest"),
    [
        (["b", "c", "d"], ["a", "b", "c", "d"], ["c", "d"]),
        (["b", "c", "d"], ["c", "d"], ["d"]),
        (["b", "c", "d"], ["b", "x", "c"], ["x", "c"]),
        (["b", "c", "d"], [], []),
    ],
)
async def test_page_goes_on_where_it_was_when_a_list_changes(
    before: list[str], after: list[str], rest: list[str]
) -> None:
    channel = FakeChannel()
    old = make_suite(prompts=[Prompts("", before)], page_size=1)
    first = await ask(old, list_prompts(), channel)
    again = make_suite(prompts=[Prompts("", after)])
    page = await ask(again, list_prompts(first.next_cursor), channel)
    assert [prompt.name for prompt in page.prompts] == rest


async def test_page_goes_on_when_repositories_come_and_go() -> None:
    channel = FakeChannel()
    old = [Prompts("a/", "12"), Prompts("b/", "12"), Prompts("c/", "12")]
    first = await ask(make_suite(prompts=old, page_size=3), list_prompts(), channel)
    moved = make_suite(prompts=[Prompts("new/", "1"), *old])
    page = await ask(moved, list_prompts(first.next_cursor), channel)
    assert [prompt.name for prompt in page.prompts] == ["b/2", "c/1", "c/2"]
    gone = make_suite(prompts=[old[0], old[2]])
    page = await ask(gone, list_prompts(first.next_cursor), channel)
    assert [prompt.name for prompt in page.prompts] == ["c/1", "c/2"]


async def test_page_that_shrank_to_what_was_served_goes_on_with_the_next() -> None:
    class Shrinking(Prompts):
        async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
            if cursor is None:
                return [mcp.Prompt(name=name) for name in self.names], "next"
            return [mcp.Prompt(name="y"), mcp.Prompt(name="z")]

    channel = FakeChannel()
    old = make_suite(prompts=[Shrinking("", "abc")], page_size=2)
    first = await ask(old, list_prompts(), channel)
    page = await ask(
        make_suite(prompts=[Shrinking("", "ab")]), list_prompts(first.next_cursor), channel
    )
    assert [prompt.name for prompt in page.prompts] == ["y", "z"]


async def test_own_cursor_has_one_form_wherever_pages_are_cut() -> None:
    seen: list[Any] = []

    class Tuples(Prompts):
        async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
            seen.append(cursor)
            prompts = [mcp.Prompt(name=str(len(seen)))] if len(seen) > 2 else []
            return prompts, None if len(seen) == 4 else ("place", len(seen))

    await walk([make_suite(prompts=[Tuples("")])], FakeChannel())
    assert seen == [None, ["place", 1], ["place", 2], ["place", 3]]


# -- what a repository must not give --------------------------------------------------


class Wrong(PromptRepo, prefix="w/"):
    """Gives back what it is told to."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        return self.answer

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> str:
        return name


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "a list of mcp.Prompt objects"),
        ("w/a", "a list of mcp.Prompt objects"),
        ({"w/a": 1}, "a list of mcp.Prompt objects"),
        (["w/a"], "only mcp.Prompt objects"),
        ([mcp.Resource(uri="w/a", name="a")], "only mcp.Prompt objects"),
        ([mcp.Prompt(name="a")], "only what begins with its prefix 'w/'"),
        (([mcp.Prompt(name="w/a")], object()), "a next cursor that is JSON"),
        (([mcp.Prompt(name="w/a")], {1, 2}), "a next cursor that is JSON"),
        (([mcp.Prompt(name="w/a")], float("nan")), "a next cursor that is JSON"),
    ],
)
async def test_what_is_no_list_is_named(answer: Any, expected: str) -> None:
    with pytest.raises(CallbackReturnError, match=expected) as caught:
        await ask(make_suite(prompts=[Wrong(answer)]), list_prompts())
    assert "Wrong.list_prompts returned" in str(caught.value)


async def test_cursor_that_leads_to_itself_is_named() -> None:
    channel = FakeChannel()
    suite = make_suite(prompts=[Wrong(([mcp.Prompt(name="w/a")], 7))])
    first = await ask(suite, list_prompts(), channel)
    with pytest.raises(CallbackReturnError, match="not the one it was called with"):
        await ask(suite, list_prompts(first.next_cursor), channel)


async def test_endless_empty_pages_are_named() -> None:
    class Endless(Prompts):
        async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
            return [], (cursor or 0) + 1

    with pytest.raises(CallbackReturnError, match=f"an item in {MAX_EMPTY_PAGES} pages"):
        await ask(make_suite(prompts=[Endless("")]), list_prompts())


@pytest.mark.parametrize("uri", ["no-scheme", "a b:c", "x:with space", "x:\n", ":x", "1x:y", ""])
async def test_listed_uri_must_be_one(uri: str) -> None:
    class Odd(Texts):
        async def list_resources(self, cursor: Any, channel: Channel) -> Any:
            return [mcp.Resource(uri=uri, name="odd")]

    with pytest.raises(CallbackReturnError, match="a URI: a scheme, a colon"):
        await ask(make_suite(resources=[Odd("")]), list_resources())


# -- extensions -----------------------------------------------------------------------


async def test_what_an_extension_lists_belongs_to_it() -> None:
    """Its repository has all names, and own ones claim some of them."""
    everything = Prompts("", ["a/1", "b/1", "c"])
    suite = make_suite(
        prompts=[Prompts("a/", ["own"])],
        extensions=[Giving(given_prompts=[everything, Prompts("b/", ["ext"])])],
    )
    assert names_in(await walk([suite], FakeChannel())) == ["a/own", "c", "b/ext"]
    assert (await ask(suite, get_prompt("a/own"))).messages[0].content.text == "a/: a/own"
    assert (await ask(suite, get_prompt("c"))).messages[0].content.text == ": c"
    assert (await ask(suite, get_prompt("b/ext"))).messages[0].content.text == "b/: b/ext"


async def test_hidden_repository_is_not_listed_and_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Unasked(Prompts):
        async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
            raise AssertionError("nothing can belong to it")

    suite = make_suite(
        prompts=[Prompts("", ["own"])],
        extensions=[Giving(given_prompts=[Unasked("admin/", ["x"])])],
    )
    for _ in range(2):
        assert names_in(await walk([suite], FakeChannel())) == ["own"]
    warned = [record for record in caplog.records if "is never asked" in record.getMessage()]
    assert len(warned) == 1
    assert "has everything that begins with ''" in warned[0].getMessage()


async def test_first_extension_with_a_prefix_wins() -> None:
    early = Giving(given_prompts=[Prompts("x/", ["early"])])
    late = Giving(given_prompts=[Prompts("x/", ["late"]), Prompts("y/", ["late"])])
    suite = make_suite(extensions=[early, late])
    assert names_in(await walk([suite], FakeChannel())) == ["x/early", "y/late"]


@pytest.mark.parametrize("given_back", [None, 5, "abc", {"a": 1}])
async def test_extension_that_gives_no_list_is_named(given_back: Any) -> None:
    suite = make_suite(extensions=[Giving(given_prompts=given_back)])
    with pytest.raises(CallbackReturnError, match=r"Giving\.prompts returned"):
        await ask(suite, list_prompts())


# -- cache hints ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ([("public", 500), ("public", 90)], ("public", 90)),
        ([("public", 500), ("private", 900)], ("private", 500)),
        ([("public", 500), ("private", 0)], ("private", 0)),
    ],
)
async def test_all_pages_have_the_hints_of_the_most_careful(
    hints: list[Any], expected: tuple[str, int]
) -> None:
    class Hinting(Prompts):
        def cache_control(self) -> Any:
            return hints[int(self.of)]

    suite = make_suite(prompts=[Hinting(str(n), "ab") for n in range(len(hints))], page_size=1)
    pages = await walk([suite], FakeChannel())
    assert len(pages) == 4
    assert {(page.cache_scope, page.ttl_ms) for page in pages} == {expected}


async def test_list_with_extensions_is_private_even_when_they_give_nothing() -> None:
    class Public(Prompts, cache_control=("public", 70)):
        pass

    suite = make_suite(prompts=[Public("a", "x")], extensions=[Giving()])
    page = await ask(suite, list_prompts())
    assert (page.cache_scope, page.ttl_ms) == ("private", 70)


# -- templates ------------------------------------------------------------------------


class Templated(Texts):
    """Below its prefix, one segment is the variable."""

    def template(self) -> mcp.ResourceTemplate:
        return mcp.ResourceTemplate(uri_template=f"{self.of}{{id}}", name=self.of)


async def test_templates_are_paged() -> None:
    repos = [Templated(f"x{n}:") for n in range(5)]
    suite = make_suite(resources=[*repos, Texts("none:")], page_size=2)
    async with Client(suite) as client:
        first = await client.list_resource_templates()
        assert [one.uri_template for one in first.resource_templates] == ["x0:{id}", "x1:{id}"]
        listed = await client.list_all_resource_templates()
        assert [one.name for one in listed] == [f"x{n}:" for n in range(5)]


async def test_template_whose_matches_belong_to_another_is_not_listed() -> None:
    class Wide(Texts):
        def template(self) -> mcp.ResourceTemplate:
            return mcp.ResourceTemplate(uri_template="x:own/{id}", name="wide")

    suite = make_suite(
        resources=[Texts("x:own/")],
        extensions=[Giving(given_resources=[Wide("x:"), Templated("y:")])],
    )
    page = await ask(suite, list_templates())
    assert [one.name for one in page.resource_templates] == ["y:"]


async def test_suite_without_templates_lists_none() -> None:
    page = await ask(make_suite(resources=[Texts("x:")]), list_templates())
    assert page == mcp.list_resource_templates_result([])


# -- plain def ------------------------------------------------------------------------


async def test_plain_hooks_run_in_a_thread_with_the_blocking_channel() -> None:
    main = threading.get_ident()
    seen: list[tuple[bool, type]] = []

    class Plain(PromptRepo[BlockingChannel]):
        def list_prompts(self, cursor: Any, channel: BlockingChannel) -> list[mcp.Prompt]:
            seen.append((threading.get_ident() == main, type(channel)))
            channel.send_log("info", "listing")
            return [mcp.Prompt(name="a")]

        def get(self, name: str, arguments: dict[str, str], channel: BlockingChannel) -> str:
            seen.append((threading.get_ident() == main, type(channel)))
            return name

    channel = FakeChannel()
    suite = make_suite(prompts=[Plain])
    await ask(suite, list_prompts(), channel)
    await ask(suite, get_prompt("a"), channel)
    assert seen == [(False, BlockingChannel)] * 3  # the third: get looks for the declaration
    assert channel.logs == [("info", "listing")] * 2


async def test_lists_of_many_callers_do_not_wait_for_each_other() -> None:
    class Slow(Prompts):
        async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
            started.append(channel)
            while len(started) < 2:
                await trio.lowlevel.checkpoint()
            return []

    started: list[Channel] = []
    suite = make_suite(prompts=[Slow("")])
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(ask, suite, list_prompts())
