"""check_prompt_repo and check_resource_repo: what they let pass, and what they find."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from genmcp import CallbackReturnError, Channel, NotFound, PromptRepo, ResourceRepo, mcp
from genmcp.testing import check_prompt_repo, check_resource_repo, fake_caller


class Greetings(PromptRepo, prefix="greet-"):
    """Two prompts in pages of one, with suggestions."""

    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        if cursor is None:
            return [mcp.Prompt(name="greet-all", description="Greets everybody.")], 1
        argument = mcp.PromptArgument(name="who", required=True)
        return [mcp.Prompt(name="greet-one", description="Greets one.", arguments=[argument])]

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> str:
        return f"Hello {arguments.get('who', 'all')}."

    async def complete(
        self,
        name: str,
        argument: mcp.CompletionArgument,
        context: dict[str, str],
        channel: Channel,
    ) -> Any:
        return ["Ada"]


class Items(ResourceRepo, prefix="item://", template="item://{id}", name="Item"):
    """Three items."""

    known = ("1", "2", "3")

    async def list_resources(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Resource(uri=f"item://{one}", name=one) for one in self.known]

    async def read(self, target: Mapping[str, str], channel: Channel) -> Any:
        if target["id"] not in self.known:
            raise NotFound
        return target["id"]

    async def complete(
        self, argument: mcp.CompletionArgument, context: dict[str, str], channel: Channel
    ) -> Any:
        return self.known


def test_sound_prompts_pass_and_examples_are_returned() -> None:
    examples = [("greet-one", {"who": "Ada"}), ("greet-all", {})]
    one, everybody = check_prompt_repo(Greetings, examples)
    assert one == check_prompt_repo(Greetings(), examples)[0]
    assert isinstance(one, mcp.GetPromptResult)
    assert isinstance(everybody, mcp.GetPromptResult)
    assert one.messages[0].content == mcp.TextContent(text="Hello Ada.")


def test_sound_resources_pass_and_examples_are_returned() -> None:
    [result] = check_resource_repo(Items(), ["item://3"])
    assert isinstance(result, mcp.ReadResourceResult)
    assert result.contents == [mcp.TextResourceContents(uri="item://3", text="3")]


class Undescribed(Greetings):
    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Prompt(name="greet-all")]


class Twice(Greetings):
    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Prompt(name="greet-all", description="d")] * 2


class Restless(Greetings):
    turn = 0

    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        self.turn += 1
        names = ["greet-a", "greet-b"]
        return [mcp.Prompt(name=name, description="d") for name in names[:: (-1) ** self.turn]]


class Forgetful(Greetings):
    """Ignores its own cursor."""

    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        prompts = [mcp.Prompt(name=f"greet-{n}", description="d") for n in range(3)]
        return prompts, None if cursor == 2 else (cursor or 0) + 1


class ArgumentTwice(Greetings):
    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        arguments = [mcp.PromptArgument(name="a"), mcp.PromptArgument(name="a")]
        return [mcp.Prompt(name="greet-a", description="d", arguments=arguments)]


class Anything(Greetings):
    """Takes every name for a prompt of its own."""

    async def find_prompt(self, name: str, channel: Channel) -> mcp.Prompt:
        return mcp.Prompt(name=name)


@pytest.mark.parametrize(
    ("repo", "message"),
    [
        (Undescribed, "Undescribed: people choose prompts by their description; 'greet-all'"),
        (Twice, "Twice: listed more than once: greet-all"),
        (Restless, "Restless: two listings differ"),
        (Forgetful, "Forgetful: listed more than once: greet-0, greet-1, greet-2"),
        (ArgumentTwice, "ArgumentTwice: 'greet-a' declares an argument twice"),
        (Anything, "Anything: 'greet-no-such-thing' was answered .*raise NotFound"),
    ],
)
def test_unsound_prompts_are_found_out(repo: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_prompt_repo(repo)


class Everything(Items):
    async def read(self, target: Mapping[str, str], channel: Channel) -> Any:
        return f"item {target['id']}"


class Elsewhere(Items):
    async def list_resources(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Resource(uri="item://a/b", name="not in the template")]


class Hollow(Items):
    async def read(self, target: Mapping[str, str], channel: Channel) -> Any:
        return mcp.read_resource_result(contents=[])


class Muddled(Items):
    async def complete(
        self, argument: mcp.CompletionArgument, context: dict[str, str], channel: Channel
    ) -> Any:
        return "abc"


@pytest.mark.parametrize(
    ("repo", "error", "message"),
    [
        (Everything, AssertionError, "Everything: 'item://no-such-thing' was answered"),
        (Elsewhere, NotFound, "Resource not found"),
        (Hollow, CallbackReturnError, "Hollow.read returned"),
        (Muddled, CallbackReturnError, "Muddled.complete returned 'abc'"),
    ],
)
def test_unsound_resources_are_found_out(repo: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        check_resource_repo(repo)


def test_missing_uri_can_be_named_or_waived() -> None:
    check_resource_repo(Everything, missing=None)
    with pytest.raises(AssertionError, match="'item://9' was answered"):
        check_resource_repo(Everything, missing="item://9")
    check_resource_repo(Everything, missing="item://9/9")


def test_what_a_hook_raises_is_raised() -> None:
    class Broken(Items):
        async def read(self, target: Mapping[str, str], channel: Channel) -> Any:
            raise KeyError("no such key")

    with pytest.raises(KeyError, match="no such key"):
        check_resource_repo(Broken)


def test_repositories_are_checked_as_a_caller_sees_them() -> None:
    class Mine(Items):
        async def list_resources(self, cursor: Any, channel: Channel) -> Any:
            return [mcp.Resource(uri=f"item://{channel.assigns['mine']}", name="mine")]

    check_resource_repo(Mine, caller=fake_caller(assigns={"mine": "2"}))
    with pytest.raises(NotFound):
        check_resource_repo(Mine, caller=fake_caller(assigns={"mine": "9"}))
