"""The prompts and resources of the fixture."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from genmcp import (
    Accepted,
    Channel,
    InputRequired,
    NotFound,
    PromptRepo,
    ResourceRepo,
    elicit_form,
    mcp,
)
from tests.conformance.changing import Lists
from tests.conformance.content_tools import PNG

# -- prompts -------------------------------------------------------------------------


@attrs.frozen
class Context:
    context: str


@attrs.frozen
class Prompts(PromptRepo, prefix="test_"):
    """All prompts. `lists` says whether there is one more at the moment."""

    lists: Lists

    async def list_prompts(self, cursor: Any, channel: Channel) -> Sequence[mcp.Prompt]:
        prompts = [
            mcp.Prompt(name="test_simple_prompt", description="Has one message."),
            mcp.Prompt(
                name="test_prompt_with_arguments",
                description="Repeats its arguments.",
                arguments=[
                    mcp.PromptArgument(name="arg1", description="the first", required=True),
                    mcp.PromptArgument(name="arg2", description="the second", required=True),
                ],
            ),
            mcp.Prompt(
                name="test_prompt_with_embedded_resource",
                description="Embeds a resource.",
                arguments=[
                    mcp.PromptArgument(name="resourceUri", description="which one", required=True)
                ],
            ),
            mcp.Prompt(name="test_prompt_with_image", description="Shows an image."),
            mcp.Prompt(name="test_input_required_result_prompt", description="Asks first."),
        ]
        if self.lists.has_extra_prompt:
            prompts.append(mcp.Prompt(name="test_extra_prompt", description="Comes and goes."))
        return prompts

    async def get(
        self, name: str, arguments: dict[str, str], channel: Channel
    ) -> mcp.GetPromptResult | InputRequired | str:
        match name:
            case "test_simple_prompt":
                return "This is a simple prompt for testing."
            case "test_prompt_with_arguments":
                return (
                    f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"
                )
            case "test_prompt_with_embedded_resource":
                return mcp.get_prompt_result(
                    resource={
                        "uri": arguments["resourceUri"],
                        "text": "Embedded resource content for testing.",
                    },
                    text="Please process the embedded resource above.",
                )
            case "test_prompt_with_image":
                return mcp.get_prompt_result(
                    image=("image/png", PNG), text="Please analyze the image above."
                )
            case "test_input_required_result_prompt":
                return self.ask(channel)
            case _:
                return "This prompt comes and goes."

    def ask(self, channel: Channel) -> InputRequired | str:
        match channel.answers.form("user_context", Context):
            case None:
                question = elicit_form("What context should the prompt use?", Context)
                return InputRequired({"user_context": question})
            case Accepted(Context(context=context)):
                return f"Use this context: {context}"
            case _:
                return "Use no context."

    async def complete(
        self,
        name: str,
        argument: mcp.CompletionArgument,
        context: Mapping[str, str],
        channel: Channel,
    ) -> Sequence[str]:
        values = ["testValue1", "testValue2"]
        return [value for value in values if value.startswith(argument.value)]


# -- resources -----------------------------------------------------------------------


class StaticResources(ResourceRepo, prefix="test://static-"):
    """A text and an image."""

    async def list_resources(self, cursor: Any, channel: Channel) -> Sequence[mcp.Resource]:
        return [
            mcp.Resource(uri="test://static-text", name="A text", mime_type="text/plain"),
            mcp.Resource(uri="test://static-binary", name="An image", mime_type="image/png"),
        ]

    async def read(self, target: str, channel: Channel) -> mcp.ReadResourceResult:
        match target:
            case "test://static-text":
                text = "This is the content of the static text resource."
                return mcp.read_resource_result(uri=target, text=text, mime_type="text/plain")
            case "test://static-binary":
                return mcp.read_resource_result(uri=target, blob=PNG, mime_type="image/png")
            case _:
                raise NotFound


class WatchedResource(ResourceRepo, prefix="test://watched-resource"):
    """A resource to be told about when it changes."""

    async def list_resources(self, cursor: Any, channel: Channel) -> Sequence[mcp.Resource]:
        return [mcp.Resource(uri="test://watched-resource", name="Watched")]

    async def read(self, target: str, channel: Channel) -> str:
        if target != "test://watched-resource":
            raise NotFound
        return "This resource may be watched."


class TemplateData(
    ResourceRepo,
    prefix="test://template/",
    template=mcp.ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="Data of a template",
        description="Repeats the id.",
        mime_type="application/json",
    ),
):
    """Resources that no list has."""

    async def list_resources(self, cursor: Any, channel: Channel) -> Sequence[mcp.Resource]:
        return []

    async def read(self, target: Mapping[str, str], channel: Channel) -> str:
        id_ = target["id"]
        return json.dumps({"id": id_, "templateTest": True, "data": f"Data for ID: {id_}"})
