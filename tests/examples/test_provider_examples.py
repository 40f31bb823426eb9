"""The examples of each provider do what they say."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from docs.examples.providers import asking, prompts, resources, tools
from docs.examples.providers.asking import BookTrip, Desk, PayTrip
from docs.examples.providers.extensions import (
    Borrow,
    Catalogue,
    Library,
    OwnLoans,
    Reminders,
    make_app,
)
from docs.examples.providers.prompts import ReleasePrompts, ReviewPrompts
from docs.examples.providers.resources import About, Folder, make_suite
from docs.examples.providers.tools import Convert, CountPrimes, Door, Ring, WaitForVisitor
from genmcp import StreamableHTTP, Suite, mcp
from genmcp.testing import (
    AnsweringClient,
    Client,
    ServerError,
    accept,
    call_tool,
    cancel,
    check_prompt_repo,
    check_resource_repo,
    check_tool,
    decline,
    fake_caller,
    stream_tool,
)

ASKABLE = mcp.ClientCapabilities(elicitation=mcp.ElicitationCapability())


def texts_of(result: mcp.Result) -> list[str]:
    assert isinstance(result, mcp.GetPromptResult)
    blocks = [message.content for message in result.messages]
    return [block.text for block in blocks if isinstance(block, mcp.TextContent)]


# -- prompts --------------------------------------------------------------------------


def test_prompt_repositories_keep_the_contract() -> None:
    code = {"code": "x = 1", "language": "Python"}
    [review] = check_prompt_repo(ReviewPrompts, [("review-code", code)])
    assert "written in Python:\n\nx = 1" in texts_of(review)[0]
    check_prompt_repo(ReleasePrompts, [("release-notes", {"version": "2.0.0"})])


async def test_reviews_are_listed_got_and_completed() -> None:
    async with Client(prompts.suite) as client:
        listed = [prompt.name for prompt in await client.list_all_prompts()]
        assert listed == ["review-code", "review-guidelines", "release-notes"]
        with pytest.raises(ServerError, match='missing required argument "code"'):
            await client.get_prompt("review-code")
        with pytest.raises(ServerError, match="code must not be blank"):
            await client.get_prompt("review-code", {"code": " "})
        guidelines = await client.get_prompt("review-guidelines")
        assert isinstance(guidelines, mcp.GetPromptResult)
        assert isinstance(guidelines.messages[0].content, mcp.EmbeddedResource)
        ref = mcp.PromptReference(name="review-code")
        assert (await client.complete(ref, "language", "ja")).values == ["Java", "JavaScript"]
        assert (await client.complete(ref, "code", "x")).values == []


@pytest.mark.parametrize(
    ("answer", "expected"), [(accept(version="3.1"), "3.1"), (decline(), "the next version")]
)
async def test_release_notes_ask_for_the_version(answer: mcp.ElicitResult, expected: str) -> None:
    async with Client(prompts.suite, capabilities=ASKABLE) as client:
        assert texts_of(await client.get_prompt("release-notes", {"version": "9"})) == [
            "Draft release notes for 9 from the changes you know of."
        ]
        asked = await client.get_prompt("release-notes")
        assert isinstance(asked, mcp.InputRequiredResult)
        result = await client.get_prompt(
            "release-notes",
            input_responses={"release": answer},
            request_state=asked.request_state,
        )
    assert texts_of(result) == [f"Draft release notes for {expected} from the changes you know of."]


# -- resources ------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with text, bytes, odd names, and what must not be served."""
    folder = tmp_path / "served"
    for name, data in {
        "a.md": b"# A",
        "deep/er/b.txt": "grüße".encode(),
        "deep/c.bin": b"\xff\xfe\x00",
        "empty.txt": b"",
        "hash#and?mark.txt": b"odd",
        "with space.txt": b"spaced",
        ".hidden": b"secret",
        ".git/config": b"secret",
        "100%41.txt": b"cannot be named",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "outside.txt").write_bytes(b"secret")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "loop").symlink_to(folder)
    return folder


SERVED = [
    "a.md",
    "deep/c.bin",
    "deep/er/b.txt",
    "empty.txt",
    "hash#and?mark.txt",
    "with space.txt",
]


def test_resource_repositories_keep_the_contract(root: Path) -> None:
    check_resource_repo(Folder(root), ["folder:///a.md"])
    check_resource_repo(Folder(root, page_size=2))
    check_resource_repo(About)


@pytest.mark.parametrize("page_size", [1, 2, 3, 100])
async def test_every_file_is_listed_once_and_can_be_read(root: Path, page_size: int) -> None:
    served = Suite(
        server_name="folder", server_version="1", resources=[Folder(root, page_size=page_size)]
    )
    async with Client(served) as client:
        listed = await client.list_all_resources()
        assert [one.name for one in listed] == SERVED
        for one in listed:
            result = await client.read_resource(one.uri)
            assert isinstance(result, mcp.ReadResourceResult)
            [contents] = result.contents
            assert contents.uri == one.uri
            data = (
                contents.text.encode()
                if isinstance(contents, mcp.TextResourceContents)
                else base64.b64decode(contents.blob)
            )
            assert data == (root / one.name).read_bytes()
            assert one.size == len(data)
            assert (result.cache_scope, result.ttl_ms) == ("private", 10_000)


@pytest.mark.parametrize(
    "path",
    [
        "nothing.txt",
        "deep",
        ".hidden",
        ".git/config",
        "link.txt",
        "../outside.txt",
        "deep/%2e%2e/%2e%2e/outside.txt",
        "/etc/passwd",
        "a.md%00",
        "100%41.txt",
        "100%2541.txt",
        "",
    ],
)
async def test_what_is_not_served_is_not_found(root: Path, path: str) -> None:
    uri = f"folder:///{path}"
    async with Client(make_suite(root)) as client:
        with pytest.raises(ServerError, match="Resource not found") as caught:
            await client.read_resource(uri)
    assert (caught.value.code, caught.value.data) == (-32602, {"uri": uri})


async def test_paths_are_completed(root: Path) -> None:
    ref = mcp.ResourceTemplateReference(uri="folder:///{+path}")
    async with Client(make_suite(root)) as client:
        completion = await client.complete(ref, "path", "deep/")
    assert completion.values == ["deep/c.bin", "deep/er/b.txt"]


async def test_about_is_public_for_a_day(root: Path) -> None:
    async with Client(make_suite(root)) as client:
        result = await client.read_resource("about://server")
        assert isinstance(result, mcp.ReadResourceResult)
        assert (result.cache_scope, result.ttl_ms) == ("public", 86_400_000)
        with pytest.raises(ServerError, match="Resource not found"):
            await client.read_resource("about://other")


def test_folder_comes_from_the_environment() -> None:
    expected = os.environ.get("SERVED_FOLDER") or "."
    [folder, _] = resources.suite.resources
    assert isinstance(folder, Folder)
    assert folder.root == Path(expected)


# -- tools ----------------------------------------------------------------------------


def text_of(result: mcp.Result) -> str:
    assert isinstance(result, mcp.CallToolResult)
    [block] = result.content
    assert isinstance(block, mcp.TextContent)
    return block.text


def test_tools_keep_their_contract() -> None:
    door = Door()
    [mile] = check_tool(Convert, [{"amount": 2, "unit": "mile", "to": "km"}])
    assert mile.structured_content == {"amount": pytest.approx(3.218688), "unit": "km"}
    check_tool(CountPrimes, [{"below": 100}])
    check_tool(Ring(door), [{"name": "Ada"}])


def test_lengths_are_no_weights() -> None:
    result = call_tool(Convert, amount=1, unit="kg", to="km")
    assert result.is_error
    assert text_of(result) == "kg is a weight, and km is a length"


@pytest.mark.parametrize(
    ("below", "primes"), [(0, 0), (2, 0), (3, 1), (4, 2), (10, 4), (30, 10), (1_000, 168)]
)
def test_primes_are_counted(below: int, primes: int) -> None:
    assert text_of(call_tool(CountPrimes, below=below)) == str(primes)


async def test_counting_reports_after_each_chunk() -> None:
    async with stream_tool(CountPrimes(chunk=10), below=25) as stream:
        assert text_of(await stream.result()) == "9"
    assert stream.progress == [(10, 25, None), (20, 25, None), (25, 25, None)]


async def test_visitor_ends_every_call_that_waits() -> None:
    workshop = tools.make_suite()
    heard: list[str] = []

    async def wait(client: Client) -> None:
        heard.append(text_of(await client.call_tool("wait_for_visitor")))

    async with Client(workshop) as client:
        assert text_of(await client.call_tool("ring", {"name": "Ada"})) == "0 heard it."
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait, client)
            nursery.start_soon(wait, client)
            await trio.testing.wait_all_tasks_blocked()
            assert text_of(await client.call_tool("ring", {"name": "Bob"})) == "2 heard it."
        assert heard == ["Bob is at the door."] * 2
        assert text_of(await client.call_tool("ring", {"name": "Cyd"})) == "0 heard it."


async def test_client_that_leaves_waits_no_more() -> None:
    door = Door()
    async with stream_tool(WaitForVisitor(door)) as stream:
        await trio.testing.wait_all_tasks_blocked()
        assert len(door.waiting) == 1
        await stream.disconnect()
    assert door.waiting == set()


# -- asking ---------------------------------------------------------------------------


def test_trip_is_booked_after_two_questions() -> None:
    desk = Desk()
    user = AnsweringClient(
        wishes=accept(seats=2, comfort="first class"), agreement=accept(agreed=True)
    )
    told = text_of(call_tool(BookTrip(desk), {"to": "Ghent"}, user))
    [(number, trip)] = desk.bookings.items()
    assert told == f"Booked as {number}, for 44 euros."
    assert trip == "2 to Ghent for 44"
    assert user.asked == ["wishes", "agreement"]
    assert isinstance(user.questions[1], mcp.ElicitRequest)
    assert user.questions[1].params.message == "2 in the first class to Ghent: 44 euros."


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({"wishes": decline()}, "The user does not want to travel."),
        ({"wishes": cancel()}, "The user did not answer. Nothing was booked."),
        (
            {"wishes": accept(), "agreement": accept(agreed=False)},
            "The user did not agree to the price. Nothing was booked.",
        ),
        (
            {"wishes": accept(), "agreement": decline()},
            "The user did not agree to the price. Nothing was booked.",
        ),
    ],
    ids=["declined", "cancelled", "not agreed", "price declined"],
)
def test_nothing_is_booked_without_agreement(
    answers: dict[str, mcp.ElicitResult], told: str
) -> None:
    desk = Desk()
    assert text_of(call_tool(BookTrip(desk), {"to": "Ghent"}, AnsweringClient(answers))) == told
    assert desk.bookings == {}


def test_price_is_the_one_that_was_agreed_to_though_fares_change() -> None:
    desk = Desk()

    def agree_late(_: mcp.InputRequest) -> mcp.ElicitResult:
        desk.fares["Ghent"] = 99
        return accept(agreed=True)

    user = AnsweringClient(wishes=accept(), agreement=agree_late)
    assert text_of(call_tool(BookTrip(desk), {"to": "Ghent"}, user)).endswith("for 11 euros.")


async def test_same_answer_twice_books_once_and_unasked_answers_book_nothing() -> None:
    desk = Desk()
    call: dict[str, Any] = {"name": "book_trip", "arguments": {"to": "Ghent"}}
    wishes = {"wishes": {"action": "accept", "content": {"seats": 1}}}
    agreement = {"agreement": {"action": "accept", "content": {"agreed": True}}}
    async with Client(asking.make_suite(desk), capabilities=ASKABLE) as client:
        unasked = {**call, "inputResponses": {**wishes, **agreement}}
        offered = await client.request("tools/call", unasked)
        assert list(offered["inputRequests"]) == ["agreement"]
        assert desk.bookings == {}
        retry = {**call, "requestState": offered["requestState"], "inputResponses": agreement}
        first = await client.request("tools/call", retry)
        assert await client.request("tools/call", retry) == first
    assert len(desk.bookings) == 1


def test_payment_page_is_opened_and_only_the_desk_knows_that_it_was_paid() -> None:
    desk = Desk()
    desk.book("77", "1 to Ghent for 11")
    user = AnsweringClient(payment=mcp.ElicitResult(action="accept"))
    told = text_of(call_tool(PayTrip(desk), {"number": "77"}, user))
    assert told.startswith("The page is open.")
    [question] = user.questions
    assert isinstance(question, mcp.ElicitRequest)
    assert isinstance(question.params, mcp.ElicitRequestURLParams)
    assert question.params.url == "https://pay.example.org/trips/77"
    desk.paid.add("77")
    assert text_of(call_tool(PayTrip(desk), {"number": "77"}, user)) == "It is paid."
    desk.book("78", "1 to Paris for 60")
    refusing = AnsweringClient(payment=decline())
    told = text_of(call_tool(PayTrip(desk), {"number": "78"}, refusing))
    assert told == "The user does not want to pay now."


@pytest.mark.parametrize(
    ("name", "arguments", "missing"),
    [
        ("book_trip", {"to": "Ghent"}, {"elicitation": {"form": {}}}),
        ("pay_trip", {"number": "77"}, {"elicitation": {"url": {}}}),
    ],
)
async def test_client_that_cannot_ask_its_user_is_refused(
    name: str, arguments: dict[str, Any], missing: dict[str, Any]
) -> None:
    async with Client(asking.suite) as client:
        with pytest.raises(ServerError) as caught:
            await client.call_tool(name, arguments)
    assert (caught.value.code, caught.value.data) == (-32021, {"requiredCapabilities": missing})


def test_what_is_not_there_is_told_to_the_model() -> None:
    nobody = AnsweringClient()
    no_town = call_tool(BookTrip(Desk()), {"to": "Rome"}, nobody)
    assert text_of(no_town) == "No train goes to Rome; there are Bruges, Ghent, Paris."
    no_booking = call_tool(PayTrip(Desk()), {"number": "1"}, nobody)
    assert text_of(no_booking) == "There is no booking 1."


# -- extensions -----------------------------------------------------------------------

USERS = {
    "a": {"name": "ada", "role": "member"},
    "b": {"name": "bob", "role": "member"},
    "c": {"name": "cyd", "role": "staff"},
}


class UserClient(Client):
    """A client that sends a token."""

    def __init__(self, app: StreamableHTTP, token: str | None) -> None:
        super().__init__(app)
        self._token = token

    def headers(self, method: str, params: Mapping[str, Any]) -> list[tuple[bytes, bytes]]:
        sent = super().headers(method, params)
        if self._token is None:
            return sent
        return [*sent, (b"authorization", f"Bearer {self._token}".encode())]


@pytest.mark.parametrize(
    ("token", "tool_names", "prompt_names"),
    [
        (None, [], []),
        ("a", ["borrow"], []),
        ("c", ["borrow"], ["remind-ada"]),
    ],
)
async def test_guests_members_and_staff_see_what_is_theirs(
    token: str | None, tool_names: list[str], prompt_names: list[str]
) -> None:
    library = Library()
    library.borrowers["emma"] = "ada"
    app = make_app(library, USERS, secret_key="only for this test")
    async with UserClient(app, token) as client:
        assert [tool.name for tool in await client.list_all_tools()] == tool_names
        assert [prompt.name for prompt in await client.list_all_prompts()] == prompt_names
        uris = [one.uri for one in await client.list_all_resources()]
        own = ["loan:///emma"] if token == "a" else []
        assert uris == ["book:///emma", "book:///ulysses", "book:///walden", *own]


async def test_loans_are_read_by_who_borrowed_and_nobody_else() -> None:
    app = make_app(Library(), USERS, secret_key="only for this test")
    async with UserClient(app, "a") as ada, UserClient(app, "b") as bob:
        assert text_of(await ada.call_tool("borrow", {"id": "emma"})) == (
            "Emma is yours for two weeks."
        )
        assert text_of(await bob.call_tool("borrow", {"id": "emma"})) == "Somebody else has it."
        loan = await ada.read_resource("loan:///emma")
        assert isinstance(loan, mcp.ReadResourceResult)
        assert loan.cache_scope == "private"
        with pytest.raises(ServerError, match="Resource not found"):
            await bob.read_resource("loan:///emma")
    async with UserClient(app, None) as guest:
        with pytest.raises(ServerError, match="Unknown tool"):
            await guest.call_tool("borrow", {"id": "emma"})
        book = await guest.read_resource("book:///emma")
        assert isinstance(book, mcp.ReadResourceResult)
        assert (book.cache_scope, book.ttl_ms) == ("public", 60_000)
    async with UserClient(app, "c") as staff:
        assert texts_of(await staff.get_prompt("remind-ada")) == [
            "Write a kind letter to ada, who still has Emma."
        ]


async def test_unknown_token_is_refused() -> None:
    app = make_app(Library(), USERS, secret_key="only for this test")
    async with UserClient(app, "stolen") as client:
        with pytest.raises(ServerError, match="This token is not known here"):
            await client.list_tools()


def test_providers_of_the_library_keep_their_contract() -> None:
    library = Library()
    library.borrowers["emma"] = "ada"
    ada = fake_caller(assigns={"name": "ada"})
    check_resource_repo(Catalogue(library))
    check_resource_repo(OwnLoans(library, "ada"), caller=ada)
    check_prompt_repo(Reminders(library), [("remind-ada", {})])
    assert not call_tool(Borrow(library), {"id": "emma"}, ada).is_error
