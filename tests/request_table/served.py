"""The servers that the table's requests are put to.

/mcp       everything a Suite has, nothing configured
/bare      one tool and nothing else
/strict    small limits, foreign hosts and origins allowed, no identity in results
/guarded   takes access tokens, at the public URL https://mcp.example.com/guarded
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Final

import trio

from genmcp import (
    Authorization,
    Channel,
    EventBus,
    EventSubscriptions,
    InputRequired,
    NotFound,
    PromptRepo,
    ResourceRepo,
    StreamableHTTP,
    Suite,
    Tool,
    elicit_form,
    mcp,
)
from genmcp.testing import FakeVerifier, fake_access
from tests.request_table.served_tools import SECRET, TOOLS, Add, Echo, Who

if TYPE_CHECKING:
    from genmcp.transport.exchange import Exchange

KEY: Final = "k" * 32
RESOURCE: Final = "https://mcp.example.com/guarded"
METADATA_URL: Final = "https://mcp.example.com/.well-known/oauth-protected-resource/guarded"
SERVER_INFO: Final = {"name": "table", "version": "1"}
STRICT_BODY_BYTES: Final = 600
STRICT_DEPTH: Final = 6
PAGE_SIZE: Final = 3


class Greetings(PromptRepo):
    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        name = mcp.PromptArgument(name="name", required=True)
        return [mcp.Prompt(name="greet", arguments=[name]), mcp.Prompt(name="ask")]

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> Any:
        if name == "ask" and not channel.answers:
            return InputRequired({"who": elicit_form("Who?", Who)})
        if name == "ask":
            return "Greet whoever it is"
        return f"Greet {arguments['name']}"

    async def complete(
        self, name: str, argument: Any, context: dict[str, str], channel: Channel
    ) -> Any:
        return [f"{argument.value}{number}" for number in range(101)]


class Notes(
    ResourceRepo,
    prefix="note://",
    template="note://{id}",
    name="note",
    cache_control=("public", 5000),
):
    async def list_resources(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Resource(uri=f"note://{number}", name=str(number)) for number in range(4)]

    async def read(self, target: Any, channel: Channel) -> Any:
        match target["id"]:
            case "bytes":
                return b"\xff\x00"
            case "ask" if channel.answers:
                return "for your eyes"
            case "ask":
                return InputRequired({"who": elicit_form("Who?", Who)})
            case "crash":
                raise RuntimeError(SECRET)
            case note if note.isdigit():
                return f"note {note}"
        raise NotFound

    async def complete(self, argument: Any, context: dict[str, str], channel: Channel) -> Any:
        return ()


class Wipe(Tool, name="wipe", description="Wipes.", required_scopes=["admin"]):
    async def call(self, request: Any, channel: Channel) -> str:
        return "gone"


def make_guarded(suite: Suite) -> StreamableHTTP:
    """Return an endpoint that takes access tokens with the scope `use`."""
    allows = functools.partial(fake_access, audience=RESOURCE)
    tokens = {
        "good": allows("use"),
        "admin": allows("use", "admin"),
        "root": allows("root"),
        "narrow": allows(),
        "old": allows("use", expires_at=1),
        "foreign": fake_access("use", audience="https://other.example.com/mcp"),
    }
    authorization = Authorization(
        FakeVerifier(tokens),
        authorization_servers=["https://auth.example.com"],
        required_scopes=["use"],
        implied_scopes={"root": ["use", "admin"]},
    )
    return StreamableHTTP(
        suite, public_url=RESOURCE, authorization=authorization, secret_key=KEY, legacy=False
    )


class Endpoints:
    """The servers as one, as an ASGI application or for our own server.

    They serve today's protocol alone: `tests/legacy` has what clients of 2025 send.
    """

    def __init__(self) -> None:
        self.full = StreamableHTTP(
            Suite(
                server_name="table",
                server_version="1",
                instructions="Look it up.",
                tools=TOOLS,
                prompts=[Greetings],
                resources=[Notes],
                subscription_handler=EventSubscriptions(EventBus()),
                page_size=PAGE_SIZE,
            ),
            secret_key=KEY,
            legacy=False,
        )
        bare = Suite(server_name="table", server_version="1", tools=[Echo])
        strict = Suite(
            server_name="table",
            server_version="1",
            tools=[Echo, Add],
            send_server_info=False,
            invalid_arguments="protocol_error",
        )
        guarded = Suite(server_name="table", server_version="1", tools=[Add, Wipe])
        self._others = {
            "/guarded": make_guarded(guarded),
            "/bare": StreamableHTTP(bare, path="/bare", secret_key=KEY, legacy=False),
            "/strict": StreamableHTTP(
                strict,
                path="/strict",
                secret_key=KEY,
                legacy=False,
                allowed_hosts=["mcp.example.com", "other.example.com:8443"],
                allowed_origins=["https://app.example.com"],
                max_body_bytes=STRICT_BODY_BYTES,
                max_json_depth=STRICT_DEPTH,
            ),
        }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        app = self._find(scope["path"]) if scope["type"] == "http" else self.full
        await app(scope, receive, send)

    async def serve_exchange(self, exchange: Exchange) -> None:
        await self._find(exchange.path).serve_exchange(exchange)

    async def drain(self, grace_seconds: float) -> None:
        async with trio.open_nursery() as nursery:
            for app in [self.full, *self._others.values()]:
                nursery.start_soon(app.drain, grace_seconds)

    def _find(self, path: str) -> StreamableHTTP:
        path = path.removesuffix("/")
        guarded = path.startswith("/.well-known/")
        return self._others.get("/guarded" if guarded else path, self.full)

    @property
    def open_calls(self) -> int:
        return sum(app.mux.open_calls for app in [self.full, *self._others.values()])


def text_result(text: str, **members: Any) -> dict[str, Any]:
    """Return the result of a tool that answers with a text."""
    content = [{"type": "text", "text": text}]
    return {"resultType": "complete", "content": content, **members}


def data_result(data: Any) -> dict[str, Any]:
    """Return the result of a tool that answers with data, as text too."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text_result(text, structuredContent=data)
