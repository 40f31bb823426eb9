"""Drives version 1 of the official Python client.

    python -m tests.clients.drive_python_1 URL
    python -m tests.clients.drive_python_1 COMMAND ARGUMENT...

The server is at the URL, or is started by the command and spoken to over stdio. It takes the
steps of `tests.clients.steps`, and prints a line of JSON for each: what it found, or why
the step failed. Runs in the client's own environment, without genmcp.
"""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import httpx
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.context import RequestContext
from pydantic import AnyUrl, FileUrl

from tests.clients.taking import NOTE, PAUSE_SECONDS, take

URI: Final = AnyUrl(NOTE)
ALL_SECONDS: Final = 280


class Answers:
    """What the client says when it is asked, and what it hears."""

    def __init__(self) -> None:
        self.logged: list[Any] = []
        self.changed: list[str] = []

    async def elicit(
        self, _context: RequestContext[Any, Any], params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        name = "Ada" if "First" in params.message else "Lovelace"
        return types.ElicitResult(action="accept", content={"name": name})

    async def sample(
        self, _context: RequestContext[Any, Any], _params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        text = types.TextContent(type="text", text="Paris")
        return types.CreateMessageResult(role="assistant", content=text, model="m")

    async def list_roots(self, _context: RequestContext[Any, Any]) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///home/ada"))])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logged.append([params.level, params.data])

    async def hear(self, message: Any) -> None:
        if isinstance(message, Exception):
            raise message
        if isinstance(message, types.ServerNotification) and isinstance(
            message.root, types.ResourceUpdatedNotification
        ):
            self.changed.append(str(message.root.params.uri))

    @asynccontextmanager
    async def open_session(self, streams: Any) -> Any:
        async with ClientSession(
            *streams,
            elicitation_callback=self.elicit,
            sampling_callback=self.sample,
            list_roots_callback=self.list_roots,
            logging_callback=self.log,
            message_handler=self.hear,
        ) as session:
            yield session


class Steps:
    """The steps, over whatever streams the session has."""

    def __init__(self, session: ClientSession, answers: Answers) -> None:
        self.session = session
        self.answers = answers

    async def take_all(self) -> None:
        if not await take("opens", self.open):
            return  # nothing can be asked without
        await take("lists the tools", self.list_tools)
        await take("calls", self.call)
        await take("is told what is wrong", self.call_wrongly)
        await take("hears of progress", self.hear_progress)
        await take("hears what is logged", self.hear_logs)
        await take("is asked by form", lambda: self.call_for_text("greet"))
        await take("is asked for its model", lambda: self.call_for_text("think"))
        await take("is asked for its folders", lambda: self.call_for_text("look"))
        await take("reads", self.read)
        await take("gets a prompt", self.get_prompt)
        await take("completes", self.complete)
        await take("hears of a change", self.hear_change)
        await take("cancels", self.cancel)
        await take("pings", self.ping)

    async def open(self) -> Any:
        result = await self.session.initialize()
        return {"version": result.protocolVersion, "server": result.serverInfo.name}

    async def list_tools(self) -> Any:
        names: list[str] = []
        cursor: str | None = None
        while True:
            page = await self.session.list_tools(cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.nextCursor
            if cursor is None:
                return sorted(names)

    async def call(self) -> Any:
        return (await self.session.call_tool("add", {"a": 2, "b": 3})).structuredContent

    async def call_wrongly(self) -> Any:
        return (await self.session.call_tool("add", {"a": 2})).isError

    async def call_for_text(self, name: str) -> Any:
        [block] = (await self.session.call_tool(name, {})).content
        return block.text

    async def hear_progress(self) -> Any:
        heard: list[Any] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            heard.append([progress, total, message])

        await self.session.call_tool("work", {}, progress_callback=hear)
        return heard

    async def hear_logs(self) -> Any:
        await self.session.set_logging_level("info")
        self.answers.logged.clear()
        await self.session.call_tool("work", {})
        return self.answers.logged

    async def read(self) -> Any:
        [content] = (await self.session.read_resource(URI)).contents
        return content.text

    async def get_prompt(self) -> Any:
        [message] = (await self.session.get_prompt("hail", {"who": "Ada"})).messages
        return message.content.text

    async def complete(self) -> Any:
        reference = types.PromptReference(type="ref/prompt", name="hail")
        result = await self.session.complete(reference, {"name": "who", "value": ""})
        return result.completion.values

    async def hear_change(self) -> Any:
        await self.session.subscribe_resource(URI)
        # The stream that tells of it is opened beside all else, and may not be there yet.
        while not self.answers.changed:
            await self.session.call_tool("change", {})
            await anyio.sleep(PAUSE_SECONDS)
        await self.session.unsubscribe_resource(URI)
        return self.answers.changed[0]

    async def cancel(self) -> Any:
        began = anyio.Event()

        async def hear(*_progress: Any) -> None:
            began.set()

        async with anyio.create_task_group() as calls:
            # The client has no word for it: it tells nobody which id its next request has,
            # and sends no notification when its caller is cancelled.
            request_id = self.session._request_id
            calls.start_soon(lambda: self.session.call_tool("hang", {}, progress_callback=hear))
            await began.wait()
            params = types.CancelledNotificationParams(requestId=request_id, reason="enough")
            notification = types.CancelledNotification(params=params)
            await self.session.send_notification(types.ClientNotification(notification))
            # Only the server knows.
            while (count := await self.call_for_text("count")) == "0":  # noqa: ASYNC110
                await anyio.sleep(PAUSE_SECONDS)
            calls.cancel_scope.cancel()
        return count

    async def ping(self) -> Any:
        await self.session.send_ping()
        return True


async def drive_http(url: str) -> None:
    """Take the steps over Streamable HTTP, and look whether the session ends with them."""
    answers = Answers()
    session_ids: list[str] = []

    async def use() -> bool:
        async with (
            streamable_http_client(url) as (read, write, get_session_id),
            answers.open_session((read, write)) as session,
        ):
            await Steps(session, answers).take_all()
            session_ids.append(get_session_id() or "")
        return True

    async def ask_again() -> int:
        # Closing ends the session: its id is good for nothing afterwards.
        [session_id] = session_ids
        body = {"jsonrpc": "2.0", "id": "again", "method": "ping"}
        accept = "application/json, text/event-stream"
        headers = {"Accept": accept, "Mcp-Session-Id": session_id}
        async with httpx.AsyncClient() as client:
            return (await client.post(url, json=body, headers=headers)).status_code

    await take("closes", use, seconds=ALL_SECONDS)
    await take("ends its session", ask_again)


async def drive_stdio(command: str, *arguments: str) -> None:
    """Take the steps over stdio, with a server that is started for it and ends with it."""
    answers = Answers()
    parameters = StdioServerParameters(command=command, args=[*arguments])

    async def use() -> bool:
        async with (
            stdio_client(parameters) as streams,
            answers.open_session(streams) as session,
        ):
            await Steps(session, answers).take_all()
        return True

    await take("closes", use, seconds=ALL_SECONDS)


if __name__ == "__main__":
    over_http = sys.argv[1].startswith("http://")
    anyio.run(drive_http if over_http else drive_stdio, *sys.argv[1:])
