"""Drives version 2 of the official Python client.

    python -m tests.clients.drive_python_2 MODE URL
    python -m tests.clients.drive_python_2 MODE COMMAND ARGUMENT...

MODE is one of pinned, auto and legacy. The server is at the URL, or is started by the
command and spoken to over stdio. It takes the steps of `tests.clients.steps`, and
prints a line of JSON for each: what it found, or why the step failed.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, Final

import anyio
import mcp_types
from mcp import Client, StdioServerParameters

from tests.clients.taking import NOTE, PAUSE_SECONDS, take

MODES: Final = {"pinned": "2026-07-28", "auto": "auto", "legacy": "legacy"}
ALL_SECONDS: Final = 280


class Answers:
    """What the client says when it is asked, and what it hears."""

    def __init__(self) -> None:
        self.logged: list[Any] = []
        self.changed: list[str] = []

    async def elicit(self, context: Any, params: Any) -> mcp_types.ElicitResult:
        name = "Ada" if "First" in params.message else "Lovelace"
        return mcp_types.ElicitResult(action="accept", content={"name": name})

    async def sample(self, context: Any, params: Any) -> mcp_types.CreateMessageResult:
        text = mcp_types.TextContent(type="text", text="Paris")
        return mcp_types.CreateMessageResult(role="assistant", content=text, model="m")

    async def list_roots(self, context: Any) -> mcp_types.ListRootsResult:
        root = mcp_types.Root.model_validate({"uri": "file:///home/ada"})
        return mcp_types.ListRootsResult(roots=[root])

    async def log(self, params: Any) -> None:
        self.logged.append([params.level, params.data])

    async def hear(self, message: Any) -> None:
        if isinstance(message, mcp_types.ResourceUpdatedNotification):
            self.changed.append(str(message.params.uri))


class Steps:
    """The steps of one client."""

    def __init__(self, client: Client, answers: Answers, *, old: bool) -> None:
        self.client = client
        self.answers = answers
        self.old = old

    async def take_all(self) -> None:
        await take("opens", self.tell)
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
        await take("hears of a change", self.hear_of_old if self.old else self.hear_change)
        await take("cancels", self.cancel)
        if self.old:
            await take("pings", self.ping)

    async def tell(self) -> Any:
        info = self.client.server_info
        return {
            "version": self.client.protocol_version,
            "server": None if info is None else info.name,
        }

    async def list_tools(self) -> Any:
        names: list[str] = []
        cursor: str | None = None
        while True:
            page = await self.client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                return sorted(names)

    async def call(self) -> Any:
        return (await self.client.call_tool("add", {"a": 2, "b": 3})).structured_content

    async def call_wrongly(self) -> Any:
        return (await self.client.call_tool("add", {"a": 2})).is_error

    async def call_for_text(self, name: str) -> Any:
        result: Any = await self.client.call_tool(name, {})
        return result.content[0].text

    async def hear_progress(self) -> Any:
        heard: list[Any] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            heard.append([progress, total, message])

        await self.client.call_tool("work", {}, progress_callback=hear)
        return heard

    async def hear_logs(self) -> Any:
        if self.old:
            await self.client.set_logging_level("info")
        self.answers.logged.clear()
        await self.client.call_tool("work", {})
        return self.answers.logged

    async def read(self) -> Any:
        result: Any = await self.client.read_resource(NOTE)
        return result.contents[0].text

    async def get_prompt(self) -> Any:
        result: Any = await self.client.get_prompt("hail", {"who": "Ada"})
        return result.messages[0].content.text

    async def complete(self) -> Any:
        reference = mcp_types.PromptReference(type="ref/prompt", name="hail")
        result = await self.client.complete(reference, {"name": "who", "value": ""})
        return result.completion.values

    async def hear_of_old(self) -> Any:
        await self.client.subscribe_resource(NOTE)
        # The stream that tells of it is opened beside all else, and may not be there yet.
        while not self.answers.changed:
            await self.client.call_tool("change", {})
            await anyio.sleep(PAUSE_SECONDS)
        await self.client.unsubscribe_resource(NOTE)
        return self.answers.changed[0]

    async def hear_change(self) -> Any:
        async with self.client.listen(resource_subscriptions=[NOTE]) as subscription:
            await self.client.call_tool("change", {})
            event: Any = await anext(aiter(subscription))
            return event.uri

    async def cancel(self) -> Any:
        began = anyio.Event()

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            began.set()

        async def hang() -> None:
            await self.client.call_tool("hang", {}, progress_callback=hear)

        async with anyio.create_task_group() as calls:
            calls.start_soon(hang)
            await began.wait()
            calls.cancel_scope.cancel()
        # Only the server knows.
        while (count := await self.call_for_text("count")) == "0":  # noqa: ASYNC110
            await anyio.sleep(PAUSE_SECONDS)
        return count

    async def ping(self) -> Any:
        await self.client.send_ping()
        return True


async def drive(mode: str, server: str, *arguments: str) -> None:
    answers = Answers()
    over_http = server.startswith("http://")

    async def use() -> bool:
        client = Client(
            server if over_http else StdioServerParameters(command=server, args=[*arguments]),
            mode=MODES[mode],
            cache=None,
            elicitation_callback=answers.elicit,
            sampling_callback=answers.sample,
            list_roots_callback=answers.list_roots,
            logging_callback=answers.log,
            log_level="info",
            message_handler=answers.hear,
        )
        async with client:
            await Steps(client, answers, old=mode == "legacy").take_all()
        return True

    await take("closes", use, seconds=ALL_SECONDS)


if __name__ == "__main__":
    # The client warns of what the protocol has deprecated, all of which is used here.
    warnings.simplefilter("ignore")
    mode, server, *arguments = sys.argv[1:]
    anyio.run(drive, mode, server, *arguments)
