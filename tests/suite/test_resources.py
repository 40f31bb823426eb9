"""Resources: routing, templates, text and bytes, not found, cache hints, questions."""

from __future__ import annotations

import base64
import datetime
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from genmcp import (
    BlockingChannel,
    CallbackReturnError,
    Channel,
    Error,
    InputRequired,
    McpError,
    NotFound,
    ResourceRepo,
    Stream,
    elicit_form,
    mcp,
)
from genmcp.testing import Client, FakeChannel, ServerError, accept
from tests.suite.repos import (
    Giving,
    Prompts,
    Texts,
    ask,
    list_resources,
    make_suite,
    read_resource,
)


class Notes(
    ResourceRepo,
    prefix="note://",
    template="note://{folder}/{id}",
    name="Note",
):
    """One note."""

    async def list_resources(self, cursor: Any, channel: Channel) -> list[mcp.Resource]:
        return [mcp.Resource(uri="note://desk/1", name="one", mime_type="text/plain", size=3)]

    async def read(self, target: Mapping[str, str], channel: Channel) -> Any:
        if target["id"] == "0":
            raise NotFound
        return f"{target['folder']} {target['id']}"


def answering(answer: Any, **keywords: Any) -> ResourceRepo[Any]:
    """A repository whose one resource, `a:x`, is read as this, or raises it."""

    class Answers(Texts, **keywords):
        async def read(self, target: Any, channel: Channel) -> Any:
            if isinstance(answer, BaseException):
                raise answer
            return answer

    return Answers("a:", {"x": "x"})


def contents(result: Any) -> Any:
    """The only contents of a result."""
    [only] = result.contents
    return only


async def error_of(repo: Any, uri: str) -> ServerError:
    """The error that reading gives a client."""
    async with Client(make_suite(resources=[repo])) as client:
        with pytest.raises(ServerError) as caught:
            await client.read_resource(uri)
    return caught.value


# -- offered, listed, found -------------------------------------------------------------


async def test_resources_bring_the_capability_and_are_listed() -> None:
    async with Client(make_suite(resources=[Notes])) as client:
        capabilities = (await client.discover()).capabilities
        assert capabilities.resources is not None
        assert capabilities.prompts is None
        [listed] = await client.list_all_resources()
        assert (listed.uri, listed.mime_type, listed.size) == ("note://desk/1", "text/plain", 3)
        [template] = await client.list_all_resource_templates()
        assert template == mcp.ResourceTemplate(
            uri_template="note://{folder}/{id}", name="Note", description="One note."
        )


@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list", "resources/read"])
async def test_methods_not_offered_are_404_method_not_found(method: str) -> None:
    suite = make_suite(prompts=[Prompts("")])
    async with Client(suite) as client, client.open(method, {"uri": "a:b"}) as answer:
        assert answer.response.status == 404
        assert (await answer.next_message())["error"]["code"] == -32601


async def test_extension_that_may_give_resources_brings_the_capability() -> None:
    async with Client(make_suite(extensions=[Giving()])) as client:
        assert (await client.discover()).capabilities.resources is not None
        assert await client.list_all_resources() == []


async def test_reading_goes_to_the_repository_with_the_prefix() -> None:
    suite = make_suite(resources=[Texts("a:", {"x": "of a"}), Texts("b:", {"x": "of b"})])
    assert contents(await ask(suite, read_resource("a:x"))).text == "of a"
    assert contents(await ask(suite, read_resource("b:x"))).text == "of b"


async def test_longest_prefix_wins_within_an_extension() -> None:
    given = [Texts("a:", {"b/x": "of a"}), Texts("a:b/", {"x": "of a:b/"})]
    suite = make_suite(extensions=[Giving(given_resources=given)])
    assert contents(await ask(suite, read_resource("a:b/x"))).text == "of a:b/"
    assert len((await ask(suite, list_resources())).resources) == 1


async def test_own_repository_answers_without_asking_extensions() -> None:
    extension = Giving(given_resources=[Texts("b:", {"x": "x"})])
    suite = make_suite(resources=[Texts("a:", {"x": "x"})], extensions=[extension])
    await ask(suite, read_resource("a:x"))
    with pytest.raises(NotFound):
        await ask(suite, read_resource("a:missing"))
    assert extension.asked == []
    await ask(suite, read_resource("b:x"))
    assert extension.asked == ["resources"]


# -- not found --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "uri",
    [
        "note://desk/0",  # the repository says so
        "note://desk",  # the template does not match
        "note://desk/1/2",
        "note://desk/../secret",
        "note://desk/%2e%2e",
        "note://desk/%00",
        "other://x",  # nobody's
        "note:/",
    ],
)
async def test_missing_resource_is_invalid_params_with_its_uri(uri: str) -> None:
    error = await error_of(Notes, uri)
    assert (error.code, error.message, error.data) == (-32602, "Resource not found", {"uri": uri})


@pytest.mark.parametrize("uri", ["", "x", "note", "/etc/passwd", "a b:c", "a:b c", "1:x", "ü:x"])
async def test_what_is_no_uri_is_invalid_params(uri: str) -> None:
    error = await error_of(Texts(""), uri)
    assert (error.code, error.data) == (-32602, {"uri": uri})
    assert "params.uri must be a URI" in error.message


@pytest.mark.parametrize(
    "missing", [NotFound(), ExceptionGroup("nursery", [NotFound()]), Error(NotFound())]
)
async def test_bare_not_found_says_what_it_was(missing: Any) -> None:
    error = await error_of(answering(missing), "a:x")
    assert (error.code, error.message, error.data) == (-32602, "Resource not found", {"uri": "a:x"})


async def test_own_words_of_not_found_are_kept() -> None:
    error = await error_of(answering(NotFound("It was deleted")), "a:x")
    assert (error.message, error.data) == ("It was deleted", {"uri": "a:x"})


async def test_empty_contents_are_the_servers_fault(caplog: pytest.LogCaptureFixture) -> None:
    error = await error_of(answering(mcp.read_resource_result(contents=[])), "a:x")
    assert (error.code, error.message) == (-32603, "Internal server error")
    assert "Answers.read returned ReadResourceResult" in caplog.text
    assert "raise NotFound()" in caplog.text


async def test_resource_that_is_empty_is_one_empty_text() -> None:
    result = await ask(make_suite(resources=[answering("")]), read_resource("a:x"))
    assert contents(result) == mcp.TextResourceContents(uri="a:x", text="")


# -- templates and parse_uri --------------------------------------------------------------


async def test_template_variables_are_decoded_once() -> None:
    async with Client(make_suite(resources=[Notes])) as client:
        result = await client.read_resource("note://a%20b%2525/7")
    assert contents(result) == mcp.TextResourceContents(uri="note://a%20b%2525/7", text="a b%25 7")


async def test_repository_without_a_template_gets_the_uri() -> None:
    class Raw(Texts):
        async def read(self, target: Any, channel: Channel) -> str:
            return repr(target)

    result = await ask(make_suite(resources=[Raw("a:")]), read_resource("a:%20x"))
    assert contents(result).text == "'a:%20x'"


class Numbered(Notes):
    """Reads its URIs by itself."""

    def parse_uri(self, uri: str) -> Any:
        return {"folder": "n", "id": int(uri.removeprefix("note://"))}


async def test_own_parse_uri_replaces_the_template() -> None:
    suite = make_suite(resources=[Numbered])
    assert contents(await ask(suite, read_resource("note://12"))).text == "n 12"


async def test_value_error_of_parse_uri_is_not_found() -> None:
    error = await error_of(Numbered, "note://twelve")
    assert (error.code, error.message, error.data) == (
        -32602,
        "Resource not found",
        {"uri": "note://twelve"},
    )


@pytest.mark.parametrize("target", [None, 5, ["a"], b"x"])
async def test_parse_uri_that_gives_something_else_is_named(target: Any) -> None:
    class Wrong(Texts):
        def parse_uri(self, uri: str) -> Any:
            return target

    with pytest.raises(CallbackReturnError, match=r"Wrong\.parse_uri returned"):
        await ask(make_suite(resources=[Wrong("a:")]), read_resource("a:x"))


async def test_unsafe_paths_reach_only_a_repository_that_wants_them() -> None:
    class Unsafe(Texts, template="u:{+path}", name="unsafe", allow_unsafe_paths=True, prefix="u:"):
        async def read(self, target: Any, channel: Channel) -> str:
            return str(target["path"])

    result = await ask(make_suite(resources=[Unsafe("u:")]), read_resource("u:/etc/../passwd"))
    assert contents(result).text == "/etc/../passwd"


# -- contents -----------------------------------------------------------------------------


async def test_bytes_are_padded_standard_base64() -> None:
    data = os.urandom(1000) + b"\xfb\xff"
    async with Client(make_suite(resources=[answering(data)])) as client:
        wire = await client.request("resources/read", {"uri": "a:x"})
    assert wire["contents"] == [{"uri": "a:x", "blob": base64.b64encode(data).decode()}]


@pytest.mark.parametrize("answer", ["text", b"bytes"])
async def test_text_and_bytes_have_the_media_type_of_the_template(answer: Any) -> None:
    template = mcp.ResourceTemplate(uri_template="a:{id}", name="t", mime_type="text/csv")
    suite = make_suite(resources=[answering(answer, template=template)])
    assert contents(await ask(suite, read_resource("a:x"))).mime_type == "text/csv"


async def test_several_contents_travel_as_they_are() -> None:
    made = mcp.read_resource_result(
        contents=[
            {"uri": "a:x", "text": "t", "mime_type": "text/plain"},
            {"uri": "a:x/y", "blob": b"\x00", "meta": {"com.example/k": 1}},
        ]
    )
    async with Client(make_suite(resources=[answering(made)])) as client:
        assert await client.read_resource("a:x") == made


@pytest.mark.parametrize(
    "answer", [None, 5, ["text"], {"text": "x"}, Stream(1), mcp.get_prompt_result(text="x")]
)
async def test_wrong_answer_is_named(answer: Any) -> None:
    with pytest.raises(CallbackReturnError, match=r"Answers\.read returned"):
        await ask(make_suite(resources=[answering(answer)]), read_resource("a:x"))


@pytest.mark.parametrize(
    "error", [McpError("Locked", code=4000), Error(McpError("Locked", code=4000))]
)
async def test_error_is_answered_as_it_is(error: Any) -> None:
    answered = await error_of(answering(error), "a:x")
    assert (answered.code, answered.message) == (4000, "Locked")


async def test_plain_read_runs_in_a_thread() -> None:
    main = threading.get_ident()

    class Plain(ResourceRepo[BlockingChannel]):
        def list_resources(self, cursor: Any, channel: BlockingChannel) -> Sequence[mcp.Resource]:
            return []

        def read(self, target: str, channel: BlockingChannel) -> bytes:
            channel.send_progress(1)
            return b"thread" if threading.get_ident() != main else b"loop"

    channel = FakeChannel()
    result = await ask(make_suite(resources=[Plain]), read_resource("a:x"), channel)
    assert base64.b64decode(contents(result).blob) == b"thread"
    assert channel.progress == [(1, None, None)]


# -- cache hints ----------------------------------------------------------------------------


def hints_of(result: mcp.Result) -> tuple[str, int]:
    assert isinstance(result, mcp.CacheableResult)
    return result.cache_scope, result.ttl_ms


HOUR = ("public", datetime.timedelta(hours=1))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("text", ("public", 3_600_000)),
        (mcp.read_resource_result(uri="a:x", text="t"), ("public", 3_600_000)),
        (mcp.read_resource_result(uri="a:x", text="t", ttl_ms=5), ("private", 5)),
        (mcp.read_resource_result(uri="a:x", text="t", cache_scope="public"), ("public", 0)),
        (mcp.read_resource_result(uri="a:x", text="t", cache_scope="private"), ("private", 0)),
        (mcp.read_resource_result(uri="a:x", text="t", ttl_ms=0), ("private", 0)),
    ],
)
async def test_repository_speaks_where_the_result_does_not(answer: Any, expected: Any) -> None:
    suite = make_suite(resources=[answering(answer, cache_control=HOUR)])
    assert hints_of(await ask(suite, read_resource("a:x"))) == expected


async def test_what_is_read_is_not_kept_by_default() -> None:
    async with Client(make_suite(resources=[answering("t")])) as client:
        wire = await client.request("resources/read", {"uri": "a:x"})
    assert (wire["cacheScope"], wire["ttlMs"]) == ("private", 0)


@pytest.mark.parametrize(
    "answer",
    ["text", mcp.read_resource_result(uri="a:x", text="t", cache_scope="public", ttl_ms=7)],
)
async def test_what_an_extensions_repository_gives_is_private(answer: Any) -> None:
    repo = answering(answer, cache_control=("public", 7))
    suite = make_suite(extensions=[Giving(given_resources=[repo])])
    assert hints_of(await ask(suite, read_resource("a:x"))) == ("private", 7)


# -- questions ------------------------------------------------------------------------------

FORM = mcp.FormSchema(properties={"code": mcp.StringSchema()}, required=["code"])
ASKED = mcp.ClientCapabilities(elicitation=mcp.ElicitationCapability())


class Locked(Texts, cache_control=("public", 60_000)):
    """Asks for a code."""

    async def read(self, target: Any, channel: Channel) -> Any:
        answer = channel.answers.form("code", FORM)
        if answer is None:
            return InputRequired({"code": elicit_form("The code?", FORM)})
        return f"{target} opened with {answer.content['code']}"


async def test_read_that_asked_is_never_kept() -> None:
    async with Client(make_suite(resources=[Locked("a:")]), capabilities=ASKED) as client:
        wire = await client.request("resources/read", {"uri": "a:x"})
        assert wire.keys() == {"resultType", "inputRequests", "requestState"}
        result = await client.read_resource(
            "a:x", input_responses={"code": accept(code="7")}, request_state=wire["requestState"]
        )
    assert contents(result).text == "a:x opened with 7"
    assert hints_of(result) == ("private", 0)


async def test_retry_with_state_alone_is_never_kept() -> None:
    class Busy(Texts, cache_control=("public", 60_000)):
        async def read(self, target: Any, channel: Channel) -> Any:
            state = channel.answers.client_state
            return InputRequired(client_state=1) if state is None else f"after {state}"

    async with Client(make_suite(resources=[Busy("a:")])) as client:
        asked = await client.read_resource("a:x")
        assert isinstance(asked, mcp.InputRequiredResult)
        assert asked.input_requests is None
        result = await client.read_resource("a:x", request_state=asked.request_state)
    assert contents(result).text == "after 1"
    assert hints_of(result) == ("private", 0)


async def test_state_of_another_resource_is_refused() -> None:
    async with Client(make_suite(resources=[Locked("a:")]), capabilities=ASKED) as client:
        asked = await client.read_resource("a:x")
        assert isinstance(asked, mcp.InputRequiredResult)
        with pytest.raises(ServerError, match="requestState is not valid") as caught:
            await client.read_resource(
                "a:y", input_responses={"code": accept(code="7")}, request_state=asked.request_state
            )
    assert caught.value.code == -32602


async def test_repository_may_require_a_capability_up_front() -> None:
    class Needy(Texts, requires=mcp.ClientCapabilities(roots=mcp.RootsCapability())):
        pass

    async with Client(make_suite(resources=[Needy("a:", {"x": "x"})])) as client:
        assert len(await client.list_all_resources()) == 1
        with pytest.raises(ServerError) as caught:
            await client.read_resource("a:x")
    assert (caught.value.code, caught.value.data) == (
        -32021,
        {"requiredCapabilities": {"roots": {}}},
    )


# -- building the suite -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [("", ""), ("a:", ""), ("", "a:"), ("a:", "a:"), ("a:", "a:b"), ("file:///x/y", "file:///")],
)
@pytest.mark.parametrize("kind", ["resources", "prompts"])
def test_overlapping_prefixes_are_refused_naming_both(kind: str, one: str, other: str) -> None:
    base: Any = {"resources": Texts, "prompts": Prompts}[kind]
    first, second = type("First", (base,), {}), type("Second", (base,), {})
    with pytest.raises(ValueError, match=r"First .*Second .*both serve what begins with"):
        make_suite(**{kind: [first(one), second(other)]})


def test_prefixes_side_by_side_are_taken() -> None:
    make_suite(resources=[Texts("a:b"), Texts("a:c"), Texts("b:")], prompts=[Prompts("a:b")])


def test_template_outside_the_prefix_is_refused() -> None:
    class Elsewhere(Texts, template="b:{id}", name="t"):
        pass

    with pytest.raises(ValueError, match=r"Elsewhere: the template 'b:\{id\}' must begin with"):
        make_suite(resources=[Elsewhere("a:")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resources": ["files"]}, "expected a ResourceRepo or a subclass of ResourceRepo"),
        ({"resources": [Prompts("")]}, "expected a ResourceRepo or a subclass"),
        ({"prompts": [Notes]}, "expected a PromptRepo or a subclass of PromptRepo"),
        ({"resources": [Texts]}, "Texts cannot be made without arguments"),
        ({"resources": [ResourceRepo]}, "ResourceRepo does not define list_resources, read"),
        ({"resources": 5}, "resources must be a list"),
    ],
)
def test_what_is_no_repository_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make_suite(**options)
