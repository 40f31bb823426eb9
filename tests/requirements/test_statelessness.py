"""One request knows nothing of another: no session, no connection, no memory."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from genmcp import Channel, InvalidParams, Keyring, StreamableHTTP, Suite, Tool, mcp
from genmcp.suite.input_required import TTL_SECONDS
from genmcp.testing import Client, FakeChannel, ServerError, fake_caller, fake_request
from tests.requirements.whole_server import (
    ASKABLE,
    ASKING,
    LISTEN,
    LISTS,
    REQUESTS,
    SECRET,
    Asks,
    make_app,
    make_suite,
    messages_of,
)

TURN = {"type": "object", "required": ["say", "hear"]}
YES: dict[str, Any] = {"sure": {"action": "accept", "content": {"sure": True}}}


async def whole_list(app: StreamableHTTP, method: str, *, earlier: int = 0) -> list[Any]:
    """All items of a list, fetched by a client that has made other requests before."""
    client, found, params = Client(app), list[Any](), dict[str, Any]()
    for _ in range(earlier):
        await client.discover()
    while True:
        page = await client.request(method, params)
        found += page[LISTS[method]]
        if "nextCursor" not in page:
            return found
        params = {"cursor": page["nextCursor"]}


def make_endpoint(page_size: int) -> StreamableHTTP:
    return make_app(make_suite(page_size=page_size))


@pytest.mark.parametrize("page_size", [1, 99])
@pytest.mark.parametrize("method", list(LISTS))
async def test_list_is_the_same_for_all_clients_whatever_was_called_before(
    method: str, page_size: int
) -> None:
    app = make_endpoint(page_size)
    before = await whole_list(app, method)
    for other, params in [*REQUESTS.items(), *ASKING.items()]:
        if other != LISTEN:
            await messages_of(app, other, params)
    with pytest.raises(ServerError):
        await Client(app).request("tools/call", {"name": "no such tool"})
    assert len(before) > 1
    for earlier in range(3):
        assert await whole_list(app, method, earlier=earlier) == before
        assert await whole_list(make_endpoint(page_size), method, earlier=earlier) == before


async def test_call_may_wait_for_what_another_call_does(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Were calls served one after the other, the first would wait for ever."""
    said = {name: trio.Event() for name in ("ping", "pong")}

    class Wait(Tool, name="wait", input_schema=TURN):
        async def call(self, request: Any, channel: Channel) -> str:
            turn = request.params.arguments
            said[turn["say"]].set()
            await said[turn["hear"]].wait()
            return str(turn["hear"])

    client = Client(make_app(make_suite(tools=[Wait])))
    heard: list[str] = []

    async def call(say: str, hear: str) -> None:
        result = await client.call_tool("wait", {"say": say, "hear": hear})
        assert isinstance(result, mcp.CallToolResult)
        heard.append(result.text)

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call, "ping", "pong")
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(call, "pong", "ping")
    assert sorted(heard) == ["ping", "pong"]


async def test_capabilities_of_one_request_are_not_those_of_the_next() -> None:
    app = make_app()
    asking: Any = ("tools/call", ASKING["tools/call"])
    able, unable = Client(app, capabilities=ASKABLE), Client(app)
    for _ in range(2):
        assert "inputRequests" in await able.request(*asking)
        with pytest.raises(ServerError) as caught:
            await unable.request(*asking)
        assert caught.value.code == -32021


async def test_version_of_one_request_is_not_that_of_the_next() -> None:
    client = Client(make_app())
    version = {mcp.PROTOCOL_VERSION_KEY: "1999-01-01"}
    for _ in range(2):
        assert (await client.request("tools/call", {"name": "plain"}))["content"]
        with pytest.raises(ServerError) as caught:
            await client.request("tools/call", {"name": "plain"}, meta=version)
        # The header still names the version that is served.
        assert caught.value.code == -32020


async def test_nobody_has_to_introduce_itself() -> None:
    class Who(Tool, name="who"):
        async def call(self, request: Any, channel: Channel) -> str:
            return repr(channel.client_info)

    app = make_app(make_suite(tools=[Who]))
    named = Client(app, info=mcp.Implementation(name="somebody", version="1"))
    assert "somebody" in (await named.call_tool("who")).text
    assert (await Client(app, info=None).call_tool("who")).text == "None"


@pytest.mark.parametrize("method", [one for one in REQUESTS if one != LISTEN])
async def test_no_answer_depends_on_how_the_client_names_itself(method: str) -> None:
    names = ["Claude", "genmcp.testing", "admin", ""]
    infos = [mcp.Implementation(name=name, version="1") for name in names]
    app = make_app(make_suite(page_size=99))
    answers = [
        await Client(app, info=info).request(method, REQUESTS[method]) for info in [*infos, None]
    ]
    assert all(answer == answers[0] for answer in answers)


async def test_principal_is_never_what_the_client_says_it_is() -> None:
    class Who(Tool, name="who"):
        async def call(self, request: Any, channel: Channel) -> str:
            return f"{channel.principal} {dict(channel.assigns)}"

    client = Client(
        make_app(make_suite(tools=[Who])), info=mcp.Implementation(name="ada", version="1")
    )
    claims = {"principal": "ada", "user": "ada", "io.modelcontextprotocol/principal": "ada"}
    params = {"name": "who", "principal": "ada", "assigns": {"user": "ada"}}
    result = await client.request("tools/call", params, meta=claims)
    assert result["content"] == [{"type": "text", "text": "None {}"}]


# -- what goes on somewhere else, later, or not at all ---------------------------------


async def test_what_spans_requests_travels_with_them_to_another_process() -> None:
    """A cursor and a question's state are honoured by an endpoint that never saw the client."""
    one, other = make_app(), make_app()
    page = await Client(one).request("tools/list")
    following = await Client(other).request("tools/list", {"cursor": page["nextCursor"]})
    assert page["tools"] + following["tools"] == (await whole_list(one, "tools/list"))[:2]
    params: Any = ASKING["tools/call"]
    asked = await Client(one, capabilities=ASKABLE).request("tools/call", params)
    retry = {**params, "requestState": asked["requestState"], "inputResponses": YES}
    answered = await Client(other, capabilities=ASKABLE).request("tools/call", retry)
    assert answered["content"] == [{"type": "text", "text": "asked"}]


@pytest.mark.parametrize("stray", [1, None, {"action": "accept"}, []], ids=repr)
async def test_answer_that_nobody_asked_for_is_ignored(stray: Any) -> None:
    client = Client(make_app(), capabilities=ASKABLE)
    asked = await client.request("tools/call", ASKING["tools/call"])
    retry: dict[str, Any] = {**ASKING["tools/call"], "requestState": asked["requestState"]}
    answered = await client.request("tools/call", {**retry, "inputResponses": YES | {"x": stray}})
    assert answered["content"] == [{"type": "text", "text": "asked"}]
    again = await client.request("tools/call", {**retry, "inputResponses": {"x": stray}})
    assert again["inputRequests"] == asked["inputRequests"]


async def test_question_holds_nothing_open_whether_the_client_comes_back_or_not() -> None:
    app = make_app()
    client = Client(app, capabilities=ASKABLE)
    states = set()
    for _ in range(100):
        asked = await client.request("tools/call", ASKING["tools/call"])
        states.add(asked["requestState"])
        assert app.mux.open_calls == 0
    assert len(states) == 100


class Clock:
    """A clock that stands still until it is told otherwise."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


async def test_state_of_a_question_is_refused_when_it_is_old() -> None:
    clock = Clock()
    channel = FakeChannel(fake_caller(client_capabilities=ASKABLE))
    channel.keyring = Keyring([SECRET], clock=clock)
    suite = Suite(server_name="s", server_version="1", tools=[Asks])
    asked: Any = await suite.handle_request(fake_request("asks"), channel)
    retry = fake_request("asks", request_state=asked.request_state, input_responses=YES)
    clock.now += TTL_SECONDS - 1
    assert await suite.handle_request(retry, channel)
    clock.now += 2
    with pytest.raises(InvalidParams, match="requestState is not valid"):
        await suite.handle_request(retry, channel)
    assert TTL_SECONDS <= 60 * 60
