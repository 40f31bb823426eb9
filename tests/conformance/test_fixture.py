"""The fixture is a sound server, and the suite is pinned. The suite itself: `make conformance`."""

from __future__ import annotations

import json

import pytest

from genmcp import EventBus, mcp
from genmcp.testing import Client, check_prompt_repo, check_resource_repo, check_tool
from tests.conformance.asking_tools import ASKING_TOOLS
from tests.conformance.changing import Lists
from tests.conformance.content_tools import CONTENT_TOOLS
from tests.conformance.node import HERE
from tests.conformance.repos import Prompts, StaticResources, TemplateData, WatchedResource
from tests.conformance.server import make_suite


@pytest.mark.parametrize("tool", [*CONTENT_TOOLS, *ASKING_TOOLS])
def test_tools_keep_the_contract(tool: type) -> None:
    check_tool(tool)


def test_repositories_keep_the_contract() -> None:
    check_prompt_repo(Prompts(Lists(EventBus())))
    check_resource_repo(StaticResources)
    check_resource_repo(WatchedResource, missing="test://watched-resource/2")
    check_resource_repo(TemplateData, ["test://template/123/data"], missing=None)


async def test_lists_change_and_change_back() -> None:
    counts = []
    async with (
        Client(make_suite()) as client,
        client.listen(tools_list_changed=True, prompts_list_changed=True) as heard,
    ):
        for _ in range(3):
            tools, prompts = await client.list_all_tools(), await client.list_all_prompts()
            counts.append((len(tools), len(prompts)))
            await client.call_tool("test_trigger_tool_change")
            assert isinstance(await heard.next_change(), mcp.ToolListChangedNotification)
            await client.call_tool("test_trigger_prompt_change")
            assert isinstance(await heard.next_change(), mcp.PromptListChangedNotification)
    tool_count, prompt_count = counts[0]
    assert counts[1:] == [(tool_count + 1, prompt_count + 1), counts[0]]


def test_lock_has_a_checksum_for_everything_and_names_no_registry() -> None:
    lock = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert "node_modules/@modelcontextprotocol/conformance" in packages
    assert [name for name, one in packages.items() if "resolved" in one] == []
    assert [name for name, one in packages.items() if "integrity" not in one] == []


def test_what_is_pinned_is_one_exact_version() -> None:
    wanted = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    lock = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert lock[""]["devDependencies"] == wanted
    assert {name: lock[f"node_modules/{name}"]["version"] for name in wanted} == wanted
