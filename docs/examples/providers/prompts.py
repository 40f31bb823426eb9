"""Prompts for a team that reviews code: an MCP server in one file.

    genmcp serve docs/examples/providers/prompts.py:suite

`review-code` takes the code and its language, and suggests languages while the user
types; `review-guidelines` embeds the team's guidelines; `release-notes` asks for the
version if it was not given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from genmcp import Accepted, InputRequired, InvalidParams, PromptRepo, Suite, elicit_form, mcp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from genmcp import Channel

LANGUAGES = ("C", "C++", "Elixir", "Go", "Haskell", "Java", "JavaScript", "Python", "Rust")

GUIDELINES = """\
# How we review

- Say what is wrong and how to mend it.
- Praise what is good.
"""


class ReviewPrompts(PromptRepo, prefix="review-", cache_control=("public", 60_000)):
    """Prompts that review: all whose names begin with `review-`."""

    async def list_prompts(self, cursor: Any, channel: Channel) -> Sequence[mcp.Prompt]:
        """Return both at once; longer lists give `(prompts, next_cursor)`."""
        return [
            mcp.Prompt(
                name="review-code",
                title="Review code",
                description="Reviews a piece of code.",
                arguments=[
                    mcp.PromptArgument(name="code", description="the code", required=True),
                    mcp.PromptArgument(name="language", description="what it is written in"),
                ],
            ),
            mcp.Prompt(
                name="review-guidelines",
                title="Review guidelines",
                description="Explains how this team reviews.",
            ),
        ]

    async def get(
        self, name: str, arguments: dict[str, str], channel: Channel
    ) -> mcp.GetPromptResult:
        """Fill one in. Only a listed name comes here, with its required arguments."""
        if name == "review-guidelines":
            guidelines = {"uri": "review://guidelines", "text": GUIDELINES}
            return mcp.get_prompt_result(
                ("resource", {**guidelines, "mime_type": "text/markdown"}),
                ("text", "Explain how we review, to somebody who is new here."),
            )
        language = arguments.get("language", "the language you see")
        if not arguments["code"].strip():
            raise InvalidParams("code must not be blank")
        return mcp.get_prompt_result(
            ("text", f"Review this code, written in {language}:\n\n{arguments['code']}"),
            ("assistant", "I will look for mistakes first, and then for clarity."),
            description="A review of code",
        )

    async def complete(
        self,
        name: str,
        argument: mcp.CompletionArgument,
        context: dict[str, str],
        channel: Channel,
    ) -> Sequence[str]:
        """Suggest languages that begin like what was typed."""
        if argument.name != "language":
            return []
        typed = argument.value.casefold()
        return [one for one in LANGUAGES if one.casefold().startswith(typed)]


@attrs.frozen
class Release:
    """What is asked for when it was not given."""

    version: str


class ReleasePrompts(PromptRepo, prefix="release-"):
    """Prompts about releases, which may ask the user back."""

    async def list_prompts(self, cursor: Any, channel: Channel) -> Sequence[mcp.Prompt]:
        """Return the only one."""
        return [
            mcp.Prompt(
                name="release-notes",
                title="Release notes",
                description="Drafts the notes of a release.",
                arguments=[mcp.PromptArgument(name="version", description="such as 1.2.0")],
            )
        ]

    async def get(
        self, name: str, arguments: dict[str, str], channel: Channel
    ) -> str | InputRequired:
        """Ask for the version unless it is known, and go on with the answer."""
        if "version" in arguments:
            version = arguments["version"]
        else:
            answer = channel.answers.form("release", Release)
            if answer is None:
                question = elicit_form("Which version are the notes for?", Release)
                return InputRequired({"release": question})
            match answer:
                case Accepted(Release(version=version)):
                    pass
                case _:
                    version = "the next version"
        return f"Draft release notes for {version} from the changes you know of."


suite = Suite(
    server_name="reviews", server_version="1.0.0", prompts=[ReviewPrompts, ReleasePrompts]
)
