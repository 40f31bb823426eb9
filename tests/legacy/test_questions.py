from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import wait_all_tasks_blocked

from genmcp import InputRequired, StreamableHTTP, Suite, Tool
from tests.legacy.client import ASKABLE, JUNE, LegacyClient, messages
from tests.legacy.server import Served
from tests.transport.asgi_server import Connection


async def open_client(capabilities: Any = ASKABLE, **settings: Any) -> LegacyClient:
    client = LegacyClient(Served().make_app(**settings))
    await client.open(capabilities)
    return client


def call(client: LegacyClient, tool: str) -> Connection:
    return client.connect(client.request("tools/call", {"name": tool}))


def text_of(connection: Connection) -> str:
    text: str = messages(connection)[-1]["result"]["content"][0]["text"]
    return text


def accept(**content: str) -> Any:
    return {"action": "accept", "content": content}


async def test_a_provider_asks_as_often_as_it_wants() -> None:
    client = await open_client()
    async with client.running(call(client, "greet")) as connection:
        [first] = messages(connection)
        assert first["method"] == "elicitation/create"
        assert first["params"]["message"] == "First name?"
        await client.answer(first["id"], result=accept(name="Ada"))
        await wait_all_tasks_blocked()
        second = messages(connection)[-1]
        assert second["params"]["message"] == "Last name?"
        assert second["id"] != first["id"]
        await client.answer(second["id"], result=accept(name="Lovelace"))
    assert text_of(connection) == "Ada Lovelace (2)"
    assert messages(connection)[-1]["id"] == client.ids


async def test_several_questions_are_asked_at_once() -> None:
    client = await open_client()
    async with client.running(call(client, "ask_all")) as connection:
        by_method = {question["method"]: question for question in messages(connection)}
        assert "params" not in by_method["roots/list"]
        roots = {"roots": [{"uri": "file:///a"}]}
        await client.answer(by_method["roots/list"]["id"], result=roots)
        await wait_all_tasks_blocked()
        assert len(messages(connection)) == 2
        content = {"type": "text", "text": "hello"}
        said = {"role": "assistant", "content": content, "model": "m"}
        await client.answer(by_method["sampling/createMessage"]["id"], result=said)
    assert text_of(connection) == "hello 1"


async def test_prompts_can_ask_too() -> None:
    client = LegacyClient(Served().make_app(), JUNE)
    await client.open(ASKABLE)
    params = {"name": "greeting", "arguments": {"who": "ask"}}
    request = client.connect(client.request("prompts/get", params))
    async with client.running(request) as connection:
        [question] = messages(connection)
        assert "mode" not in question["params"]
        await client.answer(question["id"], result=accept(name="Eve"))
    [message] = messages(connection)[-1]["result"]["messages"]
    assert message["content"]["text"] == "Hello, Eve"


async def test_an_answer_of_another_session_or_to_nothing_is_taken_and_ignored() -> None:
    client = await open_client()
    other = LegacyClient(client.app)
    await other.open()
    async with client.running(call(client, "greet")) as connection:
        [question] = messages(connection)
        await other.answer(question["id"], result=accept(name="Mallory"))
        await client.answer("unknown", result=accept(name="Mallory"))
        await client.answer(7, error={"code": -1, "message": "no"})
        await wait_all_tasks_blocked()
        assert len(messages(connection)) == 1
        await client.answer(question["id"], result={"action": "decline"})
        # Too late: the first answer counts.
        await client.answer(question["id"], result=accept(name="Mallory"))
    assert text_of(connection) == "nobody"


async def test_a_user_who_is_not_asked_has_cancelled() -> None:
    client = await open_client()
    async with client.running(call(client, "greet")) as connection:
        [question] = messages(connection)
        await client.answer(question["id"], error={"code": -1, "message": "no"})
    assert text_of(connection) == "nobody"


async def test_a_refusal_is_told_to_the_model_and_other_questions_are_taken_back() -> None:
    client = await open_client()
    async with client.running(call(client, "ask_all")) as connection:
        questions = {question["method"]: question["id"] for question in messages(connection)}
        error = {"code": -1, "message": "User rejected sampling request"}
        await client.answer(questions["sampling/createMessage"], error=error)
    *_, cancellation, response = messages(connection)
    assert cancellation["method"] == "notifications/cancelled"
    assert cancellation["params"]["requestId"] == questions["roots/list"]
    assert response["result"]["isError"] is True
    assert "User rejected" in text_of(connection)


async def test_an_answer_of_the_wrong_kind_is_the_clients_fault() -> None:
    client = await open_client()
    async with client.running(call(client, "greet")) as connection:
        await client.answer(messages(connection)[0]["id"], result={"action": "perhaps"})
    assert messages(connection)[-1]["error"]["code"] == -32602


async def test_what_was_not_declared_is_not_asked() -> None:
    client = await open_client({"sampling": {}})
    for tool in ("greet", "ask_all"):
        connection = await call(client, tool).run(client.app)
        [response] = messages(connection)
        assert response["result"]["isError"] is True
    assert "roots" in text_of(connection)
    params = {"name": "greeting", "arguments": {"who": "ask"}}
    assert (await client.ask("prompts/get", params))["error"]["code"] == -32603


async def test_a_client_that_does_not_answer_is_given_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    client = await open_client()
    connection = await call(client, "greet").run(client.app)
    question, cancellation, response = messages(connection)
    assert cancellation["params"]["requestId"] == question["id"]
    assert "did not answer" in response["result"]["content"][0]["text"]
    assert connection.body.count(b": keep-alive") > 10
    assert 500 < trio.current_time() < 700


async def test_a_client_that_cancels_is_asked_no_more() -> None:
    client = await open_client()
    async with client.running(call(client, "greet")) as connection:
        await client.notify("notifications/cancelled", {"requestId": client.ids})
    question, cancellation = messages(connection)
    assert cancellation["params"]["requestId"] == question["id"]


async def test_a_provider_that_only_wants_to_be_called_again_is(
    autojump_clock: trio.testing.MockClock,
) -> None:
    client = await open_client()
    connection = await call(client, "patient").run(client.app)
    assert text_of(connection) == "3 times"


async def test_a_question_is_asked_again_on_the_next_connection() -> None:
    client = await open_client()
    async with client.running(call(client, "greet")) as connection:
        connection.disconnect()
        await wait_all_tasks_blocked()
        event_id = connection.body.split(b"id: ")[1].split(b"\n")[0]
        async with client.running(client.stream(last_event_id=event_id)) as again:
            [question] = messages(again)
            await client.answer(question["id"], result={"action": "cancel"})
    assert text_of(again) == "nobody"


async def test_requests_that_wait_count_as_calls() -> None:
    client = await open_client(max_calls=1)
    async with client.running(call(client, "greet")) as connection:
        refused = await client.post(client.request("tools/list"))
        assert refused.status == 503
        await client.answer(messages(connection)[0]["id"], result={"action": "cancel"})
    assert (await client.post(client.request("tools/list"))).status == 200


@pytest.mark.parametrize("response", [{"result": {}, "error": {}}, {"id": None, "result": {}}])
async def test_broken_responses_are_refused(response: Any) -> None:
    client = await open_client()
    message = {"jsonrpc": "2.0", "id": "x", **response}
    connection = await client.post(message)
    assert (connection.status, connection.json["error"]["code"]) == (400, -32600)


async def test_a_provider_that_asks_for_ever_is_stopped(
    autojump_clock: trio.testing.MockClock,
) -> None:
    class Endless(Tool, name="endless"):
        """Never has enough."""

        async def call(self, request: Any, channel: Any) -> Any:
            return InputRequired(client_state=(channel.answers.client_state or 0) + 1)

    suite = Suite(server_name="s", server_version="1", tools=[Endless])
    client = LegacyClient(StreamableHTTP(suite, secret_key="k" * 32))
    await client.open(ASKABLE)
    connection = await call(client, "endless").run(client.app)
    assert "more than 100 times" in messages(connection)[-1]["error"]["message"]
