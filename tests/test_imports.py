"""What is imported when: little by an import, all before a client waits for it."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import subprocess
import sys
from types import ModuleType

import pytest

import genmcp
from genmcp.mcp import v2607

DEFINED = """\
import attrs
from genmcp import Channel, Suite, Tool, mcp

@attrs.frozen
class Pair:
    a: float
    b: float

class Add(Tool[Pair], name="add", description="Adds."):
    async def call(self, request: mcp.CallToolRequest[Pair], channel: Channel) -> str:
        return str(request.params.arguments.a + request.params.arguments.b)

suite = Suite(server_name="sums", server_version="1", tools=[Add])
"""

BODY = """
import json, sys, trio
from functools import partial

BODY = json.dumps({
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {
        "name": "add", "arguments": {"a": 1, "b": 2},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
})

async def ask(stream, request):
    await stream.send_all(request.encode())
    answer = b""
    while b'"text":"3.0"' not in answer:
        answer += await stream.receive_some()
"""

CALLED = {
    "HTTP": """
from genmcp import serve

REQUEST = (
    "POST /mcp HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\n"
    "Accept: application/json, text/event-stream\\r\\nMCP-Protocol-Version: 2026-07-28\\r\\n"
    f"Mcp-Method: tools/call\\r\\nMcp-Name: add\\r\\nContent-Length: {len(BODY)}\\r\\n\\r\\n"
)

async def main():
    async with trio.open_nursery() as nursery:
        [url] = await nursery.start(partial(serve, suite, port=0))
        port = int(url.removeprefix("http://127.0.0.1:").removesuffix("/mcp"))
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        before = set(sys.modules)
        assert not {"hypercorn", "h2", "h11", "wsproto"} & before, before
        await ask(stream, REQUEST + BODY)
        print(*(set(sys.modules) - before))
        nursery.cancel_scope.cancel()

trio.run(main)
""",
    "stdio": """
import trio.testing
from genmcp import serve_stdio

async def main():
    async with trio.open_nursery() as nursery:
        ours, theirs = trio.testing.memory_stream_pair()
        nursery.start_soon(partial(serve_stdio, suite, stdin=theirs, stdout=theirs))
        await trio.testing.wait_all_tasks_blocked()
        before = set(sys.modules)
        await ask(ours, BODY + "\\n")
        print(*(set(sys.modules) - before))
        nursery.cancel_scope.cancel()

trio.run(main)
""",
}

SERVERS = ["cryptography", "h11", "h2", "httptools", "hypercorn", "uvicorn"]
"""What only a program that serves has a use for."""
SERVING = [
    "genmcp.legacy",
    "genmcp.telemetry",
    "genmcp.mux",
    "genmcp.transport.asgi",
    "genmcp.transport.http1",
]
EXTRAS = ["argparse", "genmcp.cli", "genmcp.testing", "httpx2", "joserfc", "opentelemetry"]

STEPS = {
    "import genmcp": [
        *("cattrs", "jsonschema_rs", "trio", "genmcp.providers", "genmcp.suite", "genmcp.wire"),
        *(*SERVERS, *SERVING, *EXTRAS),
    ],
    "from genmcp import Suite, Tool": ["genmcp.transport", "trio", *SERVERS, *SERVING, *EXTRAS],
    "from genmcp import Suite, Tool, serve": [*SERVERS, *SERVING, *EXTRAS],
    DEFINED: [
        *("genmcp.mcp.v2607.sampling", "genmcp.mcp.v2607.form_schema", "genmcp.mcp.v2607.messages"),
        *("genmcp.providers.uri_template", "genmcp.transport", "trio"),
        *(*SERVERS, *SERVING, *EXTRAS),
    ],
}
"""Code, and what it must not load: all of it takes long."""


def run(code: str) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8"
    )
    return ran.stdout.split()


@pytest.mark.parametrize("code", STEPS, ids=["facade", "names", "names and serve", "server"])
def test_what_is_not_needed_yet_is_not_imported(code: str) -> None:
    loaded = run(f"{code}\nimport sys\nprint(*sys.modules)")
    assert "genmcp" in loaded
    assert [name for name in STEPS[code] if name in loaded] == []


@pytest.mark.parametrize("transport", CALLED)
def test_a_server_that_listens_imports_nothing_more_for_a_call(transport: str) -> None:
    """Nor has it, on HTTP, anything of the other server, which has a cost of its own."""
    assert run(DEFINED + BODY + CALLED[transport]) == []


# -- the two modules that put imports off -----------------------------------------

DEFERRING = [genmcp, v2607]


def read_names(module: ModuleType) -> tuple[set[str], set[str]]:
    """Return what type checkers read, and what there is when it runs: `home.name`."""
    tree = ast.parse(inspect.getsource(module))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    checked = {
        f"{node.module}.{name.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    [table] = [node for node in ast.walk(block) if isinstance(node, ast.Dict)]
    homes: dict[str, str] = ast.literal_eval(table)
    return checked, {f"{home}.{name}" for home, names in homes.items() for name in names.split()}


@pytest.mark.parametrize("module", DEFERRING)
def test_type_checkers_read_what_there_is(module: ModuleType) -> None:
    checked, deferred = read_names(module)
    assert checked == deferred
    names = {name.rpartition(".")[2] for name in deferred}
    # One each is not deferred, as something else has its name.
    [kept] = set(module.__all__) - names
    assert names < set(module.__all__)
    assert kept in vars(module)


@pytest.mark.parametrize("module", DEFERRING)
def test_each_name_is_what_its_module_has(module: ModuleType) -> None:
    for home, _, name in (path.rpartition(".") for path in read_names(module)[1]):
        assert getattr(module, name) is getattr(importlib.import_module(home), name)


@pytest.mark.parametrize("module", DEFERRING)
def test_deferred_names_are_no_modules_which_would_take_their_place(module: ModuleType) -> None:
    for name in (path.rpartition(".")[2] for path in read_names(module)[1]):
        assert importlib.util.find_spec(f"{module.__name__}.{name}") is None


@pytest.mark.parametrize("module", DEFERRING)
def test_all_names_are_listed_before_they_are_imported(module: ModuleType) -> None:
    listed = run(f"import genmcp, sys\nprint(*dir(sys.modules[{module.__name__!r}]))")
    assert set(module.__all__) < set(listed)


@pytest.mark.parametrize("name", ["genmcp", "genmcp.mcp.v2607"])
def test_a_star_imports_all_names(name: str) -> None:
    found = run(f"from {name} import *\nprint(*globals())")
    assert set(importlib.import_module(name).__all__) < set(found)


@pytest.mark.parametrize("module", DEFERRING)
def test_other_names_are_not_there(module: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'Rest'"):
        module.Rest  # noqa: B018 - the access is what is tried


@pytest.mark.parametrize("first", ["genmcp.mcp", "genmcp.errors", "genmcp.mcp.v2607.capabilities"])
def test_names_that_folders_and_pages_have_too_are_the_names(first: str) -> None:
    said = run(
        f"import {first}, genmcp\nfrom genmcp.mcp import v2607\nimport genmcp.suite\n"
        "print(genmcp.mcp is v2607, callable(v2607.capabilities))"
    )
    assert said == ["True", "True"]
