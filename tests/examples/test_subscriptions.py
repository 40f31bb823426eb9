"""The notice board: what its clients hear is what its tools did."""

from __future__ import annotations

import pytest

from docs.examples.providers.subscriptions import PREFIX, Board, PinNote, TakeDownNote, make_suite
from genmcp import mcp
from genmcp.testing import Client, RecordingBus, call_tool, check_tool
from genmcp.wire.codec import encode

TEA = f"{PREFIX}tea"


async def test_listening_client_hears_of_new_and_changed_notes() -> None:
    bus = RecordingBus()
    async with Client(make_suite(bus)) as client:
        assert encode((await client.discover()).capabilities) == {
            "logging": {},
            "resources": {"listChanged": True, "subscribe": True},
            "tools": {},
        }
        async with client.listen(
            tools_list_changed=True, resources_list_changed=True, resource_subscriptions=[TEA]
        ) as heard:
            assert heard.accepted == mcp.SubscriptionFilter(
                resources_list_changed=True, resource_subscriptions=[TEA]
            )
            await client.call_tool("pin_note", {"name": "tea", "text": "at four"})
            assert isinstance(await heard.next_change(), mcp.ResourceListChangedNotification)
            await client.call_tool("pin_note", {"name": "tea", "text": "at five"})
            change = await heard.next_change()
            assert change.params.uri == TEA
            [read] = (await client.request("resources/read", {"uri": TEA}))["contents"]
            assert read["text"] == "at five"
            await client.call_tool("take_down_note", {"name": "tea"})
            assert isinstance(await heard.next_change(), mcp.ResourceListChangedNotification)
            listed = await client.request("resources/list")
            assert listed["resources"] == []
        assert bus.listener_count == 0


def test_tools_keep_their_contract() -> None:
    bus = RecordingBus()
    board = Board(bus)
    check_tool(PinNote(board), [{"name": "tea", "text": "at four"}])
    check_tool(TakeDownNote(board), [{"name": "tea"}])
    assert len(bus.published) == 2


def test_note_that_is_not_there_cannot_be_taken_down() -> None:
    bus = RecordingBus()
    result = call_tool(TakeDownNote(Board(bus)), name="tea")
    assert result.is_error
    assert bus.published == []


@pytest.mark.parametrize("name", ["", "a/b", "Tea", "x" * 51])
def test_name_that_does_not_fit_a_uri_is_refused(name: str) -> None:
    bus = RecordingBus()
    assert call_tool(PinNote(Board(bus)), name=name, text="").is_error
    assert bus.published == []
