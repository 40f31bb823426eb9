"""The testing kit's listening client finds servers that break the rules of a stream."""

from __future__ import annotations

from typing import Any

import pytest

from genmcp import Channel, Error, Server, mcp
from genmcp.testing import Client, ServerError
from tests.suite.listening import TOOLS, updated

ID = 1
"""The id of a client's first request."""


def acknowledgement(subscription_id: Any = ID, **accepted: Any) -> mcp.ServerNotification:
    return mcp.SubscriptionsAcknowledgedNotification(
        params=mcp.SubscriptionsAcknowledgedNotificationParams(
            meta=mcp.NotificationMetaObject(subscription_id=subscription_id),
            notifications=mcp.SubscriptionFilter(**accepted),
        )
    )


def tools_changed(subscription_id: Any = ID) -> mcp.ServerNotification:
    meta = mcp.NotificationMetaObject(subscription_id=subscription_id)
    return mcp.ToolListChangedNotification(params=mcp.NotificationParams(meta=meta))


def ended(subscription_id: Any = ID) -> mcp.SubscriptionsListenResult:
    meta = mcp.SubscriptionsListenResultMetaObject(subscription_id=subscription_id)
    return mcp.SubscriptionsListenResult(meta=meta)


class Scripted(Server):
    """Sends what it is told to, without any of the Suite's care."""

    def __init__(self, *messages: mcp.ServerNotification, ending: mcp.Result | Error) -> None:
        self._messages = messages
        self._ending = ending

    def methods(self) -> set[str]:
        return {"server/discover", "subscriptions/listen"}

    async def handle_request(self, request: mcp.Request, channel: Channel) -> Any:
        for message in self._messages:
            await channel.deliver(message)
        return self._ending


async def test_changes_come_until_the_result() -> None:
    accepted = acknowledgement(tools_list_changed=True)
    server = Scripted(accepted, tools_changed(), tools_changed(), ending=ended())
    async with Client(server).listen(tools_list_changed=True) as subscription:
        assert [change.method async for change in subscription] == [TOOLS.method] * 2
        assert [change async for change in subscription] == []
        assert await subscription.result() == ended()
        with pytest.raises(AssertionError, match="the server ended the subscription"):
            await subscription.next_change()


async def test_result_skips_what_is_still_heard() -> None:
    server = Scripted(
        acknowledgement(tools_list_changed=True), tools_changed(), tools_changed(), ending=ended()
    )
    async with Client(server).listen(tools_list_changed=True) as subscription:
        assert (await subscription.next_change()).method == TOOLS.method
        assert await subscription.result() == ended()


@pytest.mark.parametrize(
    ("first", "problem"),
    [
        ([], "the server ended before it acknowledged"),
        ([tools_changed()], "the acknowledgement must be the first message"),
        ([acknowledgement("1")], "the subscription id must be 1"),
        ([acknowledgement(None)], "the subscription id must be 1"),
    ],
    ids=["none", "late", "another id", "no id"],
)
async def test_wrong_acknowledgement_is_found(first: list[Any], problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        async with Client(Scripted(*first, ending=ended())).listen(tools_list_changed=True):
            pytest.fail("it was taken for a subscription")


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (TOOLS, "the subscription id must be 1"),
        (tools_changed("1"), "the subscription id must be 1"),
        (updated("file:///a"), "the subscription id must be 1"),
        (acknowledgement(), "no change, but"),
        (
            mcp.ResourceListChangedNotification(params=tools_changed().params),
            "this was not accepted",
        ),
    ],
    ids=["no id", "string", "no id in params", "second acknowledgement", "unasked"],
)
async def test_wrong_message_is_found(second: Any, problem: str) -> None:
    server = Scripted(acknowledgement(tools_list_changed=True), second, ending=ended())
    async with Client(server).listen(tools_list_changed=True) as subscription:
        with pytest.raises(AssertionError, match=problem):
            await subscription.next_change()


async def test_wrong_end_is_found() -> None:
    accepted = acknowledgement(tools_list_changed=True)
    async with Client(Scripted(accepted, ending=ended("1"))).listen() as subscription:
        with pytest.raises(AssertionError, match="the subscription id must be 1"):
            await subscription.result()
    async with Client(Scripted(accepted, ending=Error("broken"))).listen() as subscription:
        with pytest.raises(ServerError, match="broken"):
            await subscription.result()
    with pytest.raises(ServerError, match="broken"):
        async with Client(Scripted(ending=Error("broken"))).listen():
            pytest.fail("it was taken for a subscription")
