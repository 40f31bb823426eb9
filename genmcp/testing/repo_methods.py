"""The client's methods for prompts, resources and completion.

Layer: testing. The base of `genmcp.testing.client.Client`, which sends the requests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, TypeVar

from genmcp.mcp import v2607 as mcp
from genmcp.testing.answering import MAX_ROUNDS
from genmcp.wire.codec import decode, encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from genmcp.testing.answering import AnsweringClient

    Hear = Callable[[dict[str, Any]], None]

_ANSWERS: Final = (mcp.ElicitResult, mcp.CreateMessageResult, mcp.ListRootsResult)

Page = TypeVar("Page", bound=mcp.PaginatedResult)
Item = TypeVar("Item")


class RepoMethods(ABC):
    """What a client asks of repositories. Every method raises as `request` does."""

    @abstractmethod
    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        hear: Hear | None = None,
    ) -> dict[str, Any]:
        """Send a request in wire form; return its result in wire form."""

    _answers: AnsweringClient | None = None

    async def request_answered(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        meta: Mapping[str, Any] | None = None,
        hear: Hear | None = None,
    ) -> dict[str, Any]:
        """`request`, and retry it with answers while the server asks for input.

        Without answers to give, what asks is returned.

        Raises:
            AssertionError: the server still asks after ten rounds.
        """
        result = await self.request(method, params, meta=meta, hear=hear)
        for _ in range(MAX_ROUNDS):
            if result.get("resultType") != "input_required" or self._answers is None:
                return result
            answered = self._answers.answer(decode(mcp.InputRequiredResult, result))
            retry = _retry(answered, result.get("requestState"))
            result = await self.request(method, {**params, **retry}, meta=meta, hear=hear)
        raise AssertionError(f"the server still asks after {MAX_ROUNDS} rounds")

    # -- prompts -----------------------------------------------------------------

    async def list_prompts(self, cursor: str | None = None) -> mcp.ListPromptsResult:
        """Ask for one page of the prompts."""
        return await self._list_page(mcp.ListPromptsResult, "prompts/list", cursor)

    async def list_all_prompts(self) -> Sequence[mcp.Prompt]:
        """Ask for all pages of the prompts."""
        return await _collect(self.list_prompts, lambda page: page.prompts)

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        input_responses: Mapping[str, Any] | None = None,
        request_state: str | None = None,
    ) -> mcp.GetPromptResult | mcp.InputRequiredResult:
        """Ask for a prompt's messages.

        `input_responses` (in wire form, or results such as `accept()`) and
        `request_state` are for the retry of a request that was asked for input.
        """
        params = {"name": name, "arguments": dict(arguments or {})}
        result = await self.request_answered(
            "prompts/get", {**params, **_retry(input_responses, request_state)}
        )
        if result.get("resultType") == "input_required":
            return decode(mcp.InputRequiredResult, result)
        return decode(mcp.GetPromptResult, result)

    # -- resources ---------------------------------------------------------------

    async def list_resources(self, cursor: str | None = None) -> mcp.ListResourcesResult:
        """Ask for one page of the resources."""
        return await self._list_page(mcp.ListResourcesResult, "resources/list", cursor)

    async def list_all_resources(self) -> Sequence[mcp.Resource]:
        """Ask for all pages of the resources."""
        return await _collect(self.list_resources, lambda page: page.resources)

    async def list_resource_templates(
        self, cursor: str | None = None
    ) -> mcp.ListResourceTemplatesResult:
        """Ask for one page of the resource templates."""
        kind = mcp.ListResourceTemplatesResult
        return await self._list_page(kind, "resources/templates/list", cursor)

    async def list_all_resource_templates(self) -> Sequence[mcp.ResourceTemplate]:
        """Ask for all pages of the resource templates."""
        return await _collect(self.list_resource_templates, lambda page: page.resource_templates)

    async def read_resource(
        self,
        uri: str,
        *,
        input_responses: Mapping[str, Any] | None = None,
        request_state: str | None = None,
    ) -> mcp.ReadResourceResult | mcp.InputRequiredResult:
        """Read a resource. The keywords are those of `get_prompt`."""
        result = await self.request_answered(
            "resources/read", {"uri": uri, **_retry(input_responses, request_state)}
        )
        if result.get("resultType") == "input_required":
            return decode(mcp.InputRequiredResult, result)
        return decode(mcp.ReadResourceResult, result)

    # -- completion --------------------------------------------------------------

    async def complete(
        self,
        ref: mcp.PromptReference | mcp.ResourceTemplateReference,
        name: str,
        value: str = "",
        *,
        context: Mapping[str, str] | None = None,
    ) -> mcp.Completion:
        """Ask for suggestions.

        Args:
            ref: what the argument belongs to.
            name: the argument's, or the template variable's, name.
            value: what was typed so far.
            context: the values of other arguments.
        """
        params: dict[str, Any] = {
            "ref": encode(ref),
            "argument": {"name": name, "value": value},
        }
        if context is not None:
            params["context"] = {"arguments": dict(context)}
        result = await self.request("completion/complete", params)
        return decode(mcp.CompleteResult, result).completion

    async def _list_page(self, kind: type[Page], method: str, cursor: str | None) -> Page:
        params = {} if cursor is None else {"cursor": cursor}
        return decode(kind, await self.request(method, params))


async def _collect(
    ask: Callable[[str | None], Awaitable[Page]], items_of: Callable[[Page], Sequence[Item]]
) -> list[Item]:
    items: list[Item] = []
    cursor: str | None = None
    while True:
        page = await ask(cursor)
        items += items_of(page)
        cursor = page.next_cursor
        if cursor is None:
            return items


def _retry(input_responses: Mapping[str, Any] | None, request_state: str | None) -> dict[str, Any]:
    params: dict[str, Any] = {}
    if input_responses is not None:
        params["inputResponses"] = {
            key: encode(answer) if isinstance(answer, _ANSWERS) else answer
            for key, answer in input_responses.items()
        }
    if request_state is not None:
        params["requestState"] = request_state
    return params
