"""Completion: suggestions for prompt arguments and template variables."""

from __future__ import annotations

from typing import Any

import pytest

from genmcp import (
    BlockingChannel,
    CallbackReturnError,
    Channel,
    Extension,
    InputRequired,
    NotFound,
    PromptRepo,
    PromptRepoSource,
    ResourceRepo,
    ResourceRepoSource,
    mcp,
)
from genmcp.testing import Client, FakeChannel, ServerError
from tests.suite.repos import META, Giving, Prompts, Texts, ask, make_suite

PROMPT = mcp.PromptReference(name="greet")
TEMPLATE = mcp.ResourceTemplateReference(uri="city://{country}/{name}")

CITIES = {"be": ["Antwerp", "Bruges", "Ghent"], "fr": ["Paris", "Amiens"]}


class Greetings(PromptRepo):
    """Suggests languages."""

    async def list_prompts(self, cursor: Any, channel: Channel) -> list[mcp.Prompt]:
        arguments = [mcp.PromptArgument(name="language"), mcp.PromptArgument(name="tone")]
        return [mcp.Prompt(name="greet", arguments=arguments), mcp.Prompt(name="free")]

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> str:
        return "hi"

    async def complete(
        self,
        name: str,
        argument: mcp.CompletionArgument,
        context: dict[str, str],
        channel: Channel,
    ) -> list[str]:
        return [f"{name} {argument.name} {argument.value} {context}"]


class Cities(ResourceRepo, template="city://{country}/{name}", name="City", prefix="city://"):
    """Suggests cities of the country chosen before."""

    async def list_resources(self, cursor: Any, channel: Channel) -> list[mcp.Resource]:
        return []

    async def read(self, target: Any, channel: Channel) -> str:
        return str(target)

    async def complete(
        self, argument: mcp.CompletionArgument, context: dict[str, str], channel: Channel
    ) -> Any:
        if argument.name == "country":
            return [country for country in CITIES if country.startswith(argument.value)]
        return [one for one in CITIES[context["country"]] if one.startswith(argument.value)]


def answering(answer: Any) -> ResourceRepo[Any]:
    """A repository that suggests this."""

    class Answers(Texts):
        async def complete(
            self, argument: mcp.CompletionArgument, context: dict[str, str], channel: Channel
        ) -> Any:
            if isinstance(answer, BaseException):
                raise answer
            return answer

    return Answers("a:")


class Idle(Extension):
    """Completes, but has nothing to complete."""

    def offers_completions(self) -> bool:
        return True


class GivesPrompts(Idle):
    def prompts(self, channel: Channel) -> list[PromptRepoSource]:
        return []


class GivesResources(Idle):
    def resources(self, channel: Channel) -> list[ResourceRepoSource]:
        return []


async def complete(repo: ResourceRepo[Any], channel: Channel | None = None) -> mcp.Completion:
    """What the repository's suggestions become."""
    params = mcp.CompleteRequestParams(
        meta=META,
        ref=mcp.ResourceTemplateReference(uri="a:x"),
        argument=mcp.CompletionArgument(name="n", value="v"),
    )
    suite = make_suite(resources=[repo])
    result = await ask(suite, mcp.CompleteRequest(params=params), channel)
    assert isinstance(result, mcp.CompleteResult)
    return result.completion


# -- offered --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "offered"),
    [
        ({}, False),
        ({"prompts": [Prompts("")], "resources": [Texts("")]}, False),
        ({"prompts": [Greetings]}, True),
        ({"resources": [Cities]}, True),
        ({"prompts": [Prompts("a/"), Prompts("b/")], "resources": [Cities]}, True),
        ({"extensions": [Giving()]}, False),
        ({"extensions": [GivesPrompts()]}, True),
        ({"extensions": [GivesResources()]}, True),
        ({"extensions": [Idle()]}, False),
    ],
)
async def test_completions_are_offered_when_something_completes(
    options: dict[str, Any], offered: bool
) -> None:
    async with Client(make_suite(**options)) as client:
        capability = (await client.discover()).capabilities.completions
        assert (capability is not None) == offered
        if offered:
            assert capability == {}


async def test_completion_not_offered_is_404_method_not_found() -> None:
    suite = make_suite(prompts=[Prompts("", ["greet"])])
    async with Client(suite) as client, client.open("completion/complete", {}) as answer:
        assert answer.response.status == 404
        assert (await answer.next_message())["error"]["code"] == -32601


# -- asking ---------------------------------------------------------------------------


async def test_prompt_argument_is_completed_with_what_is_known() -> None:
    async with Client(make_suite(prompts=[Greetings])) as client:
        completion = await client.complete(PROMPT, "language", "fr", context={"tone": "kind"})
        assert completion == mcp.Completion(
            values=["greet language fr {'tone': 'kind'}"], total=1, has_more=False
        )
        assert (await client.complete(PROMPT, "tone")).values == ["greet tone  {}"]


async def test_template_variable_is_completed_with_what_is_known() -> None:
    async with Client(make_suite(resources=[Cities])) as client:
        assert (await client.complete(TEMPLATE, "country", "f")).values == ["fr"]
        known = {"country": "be"}
        assert (await client.complete(TEMPLATE, "name", "A", context=known)).values == ["Antwerp"]
        partly = mcp.ResourceTemplateReference(uri="city://be/{name}")
        assert (await client.complete(partly, "country")).values == ["be", "fr"]


async def test_result_on_the_wire_has_no_cache_hints() -> None:
    async with Client(make_suite(resources=[Cities])) as client:
        wire = await client.request(
            "completion/complete",
            {
                "ref": {"type": "ref/resource", "uri": "city://{country}/{name}"},
                "argument": {"name": "country", "value": ""},
            },
        )
    assert wire == {
        "resultType": "complete",
        "completion": {"values": ["be", "fr"], "total": 2, "hasMore": False},
    }


async def test_repository_without_suggestions_gives_none() -> None:
    suite = make_suite(prompts=[Prompts("", ["greet"])], resources=[Cities, Texts("a:")])
    async with Client(suite) as client:
        nothing = mcp.Completion(values=[], total=0, has_more=False)
        assert await client.complete(PROMPT, "any") == nothing
        assert await client.complete(mcp.ResourceTemplateReference(uri="a:x"), "any") == nothing


async def test_prompt_that_declares_no_arguments_takes_any() -> None:
    async with Client(make_suite(prompts=[Greetings])) as client:
        free = mcp.PromptReference(name="free")
        assert (await client.complete(free, "x", "y")).values == ["free x y {}"]


async def test_extensions_repositories_complete() -> None:
    extension = Giving(given_prompts=[Greetings], given_resources=[Cities], completes=True)
    async with Client(make_suite(extensions=[extension])) as client:
        assert (await client.complete(TEMPLATE, "country", "b")).values == ["be"]
        assert (await client.complete(PROMPT, "tone")).total == 1


async def test_plain_complete_runs_in_a_thread() -> None:
    class Plain(ResourceRepo[BlockingChannel], prefix="a:"):
        def list_resources(self, cursor: Any, channel: BlockingChannel) -> list[mcp.Resource]:
            return []

        def read(self, target: Any, channel: BlockingChannel) -> str:
            return ""

        def complete(
            self,
            argument: mcp.CompletionArgument,
            context: dict[str, str],
            channel: BlockingChannel,
        ) -> list[str]:
            channel.send_log("info", argument.value)
            return [argument.name]

    channel = FakeChannel()
    assert (await complete(Plain(), channel)).values == ["n"]
    assert channel.logs == [("info", "v")]


# -- refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ref", "name", "message", "data"),
    [
        (mcp.PromptReference(name="no"), "x", "Unknown prompt: no", {"name": "no"}),
        (mcp.ResourceTemplateReference(uri="x:y"), "x", "Resource not found", {"uri": "x:y"}),
    ],
)
async def test_unknown_reference_is_invalid_params(
    ref: Any, name: str, message: str, data: Any
) -> None:
    async with Client(make_suite(prompts=[Greetings], resources=[Cities])) as client:
        with pytest.raises(ServerError) as caught:
            await client.complete(ref, name)
    assert (caught.value.code, caught.value.message, caught.value.data) == (-32602, message, data)


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        (PROMPT, "prompt 'greet' has no argument \"colour\"; it has: language, tone"),
        (
            TEMPLATE,
            "template 'city://{country}/{name}' has no variable \"colour\"; it has: country, name",
        ),
    ],
)
async def test_unknown_argument_is_named_with_the_valid_ones(ref: Any, message: str) -> None:
    async with Client(make_suite(prompts=[Greetings], resources=[Cities])) as client:
        with pytest.raises(ServerError) as caught:
            await client.complete(ref, "colour")
    assert (caught.value.code, caught.value.message) == (-32602, message)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"ref": {"type": "ref/prompt", "name": "greet"}},
        {"ref": {"type": "ref/tool", "name": "greet"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "tone"}},
        {
            "ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "tone", "value": ""},
            "context": {"arguments": {"language": 1}},
        },
    ],
)
async def test_malformed_request_is_invalid_params(params: dict[str, Any]) -> None:
    async with Client(make_suite(prompts=[Greetings])) as client:
        with pytest.raises(ServerError) as caught:
            await client.request("completion/complete", params)
    assert caught.value.code == -32602


async def test_not_found_of_a_repository_names_the_reference() -> None:
    with pytest.raises(NotFound, match="Resource not found") as caught:
        await complete(answering(NotFound()))
    assert caught.value.data == {"uri": "a:x"}


# -- what is given ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "sent", "more"), [(0, 0, False), (99, 99, False), (100, 100, False), (101, 100, True)]
)
@pytest.mark.parametrize("kind", [list, tuple])
async def test_at_most_a_hundred_go_out_with_the_number_of_all(
    kind: Any, count: int, sent: int, more: bool
) -> None:
    values = [str(number) for number in range(count)]
    completion = await complete(answering(kind(values)))
    assert completion == mcp.Completion(values=values[:sent], total=count, has_more=more)


async def test_ready_completion_is_sent_as_it_is() -> None:
    ready = mcp.Completion(values=["a"], total=5000, has_more=True)
    assert await complete(answering(ready)) == ready


@pytest.mark.parametrize(
    "answer",
    [None, 5, "text", b"x", {"a"}, {"a": 1}, [1], ["a", None], InputRequired(client_state=1)],
)
async def test_wrong_suggestions_are_named(answer: Any) -> None:
    with pytest.raises(CallbackReturnError, match=r"Answers\.complete returned"):
        await complete(answering(answer))
