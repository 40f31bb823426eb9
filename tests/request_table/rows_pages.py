"""Rows: lists and their cursors, prompts, resources, completion."""

from __future__ import annotations

import time
from typing import Any, Final

from genmcp.suite.listing import TTL_SECONDS, seal_place
from genmcp.tokens import Keyring
from tests.request_table.row import TOKEN, Answered, Refused, Row, each
from tests.request_table.rows_meta import bad_params
from tests.request_table.rows_tools import MASKED, invalid_now
from tests.request_table.sending import Request, good
from tests.request_table.served import KEY
from tests.request_table.served_tools import ODD_NAME, TOOLS

_RING: Final = Keyring([KEY])
_OTHER_RING: Final = Keyring(["another secret, as long"])
_EARLIER: Final = Keyring([KEY], clock=lambda: time.time() - TTL_SECONDS - 1)
_PLACE: Final[list[Any]] = [len(TOOLS) - 2, "needs_much"]

_LISTS: Final = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
_BAD_CURSOR: Final = invalid_now("cursor")


def _listed(ttl_ms: int = 0, cache_scope: str = "private", **items: Any) -> Answered:
    result = {"resultType": "complete", "ttlMs": ttl_ms, "cacheScope": cache_scope, **items}
    return Answered(result=result)


def _tool(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


def _note(number: int) -> dict[str, Any]:
    return {"uri": f"note://{number}", "name": str(number)}


def _from(cursor: Any, method: str = "tools/list") -> Request:
    return good(method).member("params.cursor", cursor)


def _cursor(ring: Keyring = _RING, method: str = "tools/list") -> str:
    return seal_place(method, _PLACE, ring)


_PAGES = (
    Row("list on one page has no cursor", good("tools/list").at(b"/bare"),
        _listed(tools=[_tool("echo", "Gives its arguments back.")])),
    Row("prompts are listed", good("prompts/list"), _listed(prompts=[
        {"name": "greet", "arguments": [{"name": "name", "required": True}]}, {"name": "ask"}])),
    Row("first page has a cursor for the next", good("resources/list"),
        _listed(5000, "public", resources=[_note(0), _note(1), _note(2)], nextCursor=TOKEN)),
    Row("templates are listed", good("resources/templates/list"),
        _listed(5000, "public",
                resourceTemplates=[{"uriTemplate": "note://{id}", "name": "note"}])),
    Row("last page has no cursor", _from(_cursor()), _listed(tools=[
        _tool("größe", "Has a name."), _tool(ODD_NAME, "Has an odd name.")])),
    Row("null as cursor is the first page", _from(None, "prompts/list"), _listed(prompts=[
        {"name": "greet", "arguments": [{"name": "name", "required": True}]}, {"name": "ask"}])),
    *(
        Row(f"cursor that is none is invalid for {method}", _from("x", method), _BAD_CURSOR)
        for method in _LISTS
    ),
    Row("empty cursor is none of the server's", _from(""), _BAD_CURSOR),
    Row("cursor of another list is invalid", _from(_cursor(method="prompts/list")), _BAD_CURSOR),
    Row("cursor of another server is invalid", _from(_cursor(_OTHER_RING)), _BAD_CURSOR),
    Row("cursor that has expired is invalid", _from(_cursor(_EARLIER)), _BAD_CURSOR),
    Row("cursor with a character changed is invalid", _from(_cursor()[:-1] + "."), _BAD_CURSOR),
    Row("long cursor is invalid", _from("A" * 100_000), _BAD_CURSOR),
    Row("cursor that is not ASCII is invalid", _from("é\0"), _BAD_CURSOR),
    *(
        Row(f"cursor {value!r} is refused", _from(value), bad_params("params.cursor", "string"))
        for value in each(1, True, [], {})
    ),
)  # fmt: skip


def _prompt() -> Request:
    return good("prompts/get", {"name": "greet"})


_GREETED: Final = Answered(
    result={
        "resultType": "complete",
        "messages": [{"role": "user", "content": {"type": "text", "text": "Greet Ada"}}],
    }
)

_PROMPTS = (
    Row("prompt is filled in", _prompt().member(
        "params.arguments", {"name": "Ada"}), _GREETED),
    Row("unknown prompt is invalid params", good("prompts/get", {"name": "nobody"}),
        invalid_now("Unknown prompt: nobody", data={"name": "nobody"})),
    Row("missing argument of a prompt is invalid params", good("prompts/get", {"name": "greet"}),
        invalid_now('"name"', data={"name": "greet", "missing": ["name"]})),
    Row("undeclared arguments of a prompt are taken", _prompt().member(
        "params.arguments", {"name": "Ada", "other": "x"}), _GREETED),
    *(
        Row(f"argument {value!r} of a prompt is refused",
            _prompt().member("params.arguments", {"name": value}),
            bad_params("params.arguments.name", "string"))
        for value in each(1, None, True, [], {})
    ),
    Row("arguments of a prompt in a list are refused",
        _prompt().member("params.arguments", ["Ada"]), bad_params("params.arguments", "object")),
    Row("prompt without a name is refused", good("prompts/get", {"name": "x"}).drop("params.name"),
        bad_params("params.name", "required")),
)  # fmt: skip


def _read(uri: str) -> Request:
    return good("resources/read", {"uri": uri})


def _missing(uri: str) -> Refused:
    return invalid_now("Resource not found", data={"uri": uri})


_RESOURCES = (
    Row("text is read", _read("note://1"),
        _listed(5000, "public", contents=[{"uri": "note://1", "text": "note 1"}])),
    Row("bytes are read as Base64", _read("note://bytes"),
        _listed(5000, "public", contents=[{"uri": "note://bytes", "blob": "/wA="}])),
    *(
        Row(f"resource {uri} is not found", _read(uri), _missing(uri))
        for uri in ("note://nobody", "note://a/b", "file:///etc/passwd", "NOTE://1", "note://1?x")
    ),
    *(
        Row(f"resource {uri!r} is no URI", _read(uri), invalid_now("URI", data={"uri": uri}))
        for uri in ("x", "note://a b", "../etc", "1a:b", ":")
    ),
    Row("empty URI is none", _read(""), invalid_now("URI", data={"uri": ""})),
    *(
        Row(f"URI {value!r} is refused", _read("x:y").member("params.uri", value),
            bad_params("params.uri", "string"))
        for value in (1, None, ["note://1"])
    ),
    Row("no URI is refused", _read("x:y").drop("params.uri"), bad_params("params.uri", "required")),
    Row("crash of a resource is masked", _read("note://crash"), MASKED),
)  # fmt: skip

_REF: Final = {"type": "ref/prompt", "name": "greet"}
_ARGUMENT: Final = {"name": "name", "value": "a"}


def _complete(ref: Any = _REF, argument: Any = _ARGUMENT, **params: Any) -> Request:
    return good("completion/complete", {"ref": ref, "argument": argument, **params})


_COMPLETED: Final = Answered(
    result={
        "resultType": "complete",
        "completion": {
            "values": [f"a{number}" for number in range(100)],
            "total": 101,
            "hasMore": True,
        },
    }
)

_COMPLETION = (
    Row("hundred suggestions are given at most", _complete(), _COMPLETED),
    Row("context is taken", _complete(context={"arguments": {"other": "x"}}), _COMPLETED),
    Row("empty context is taken", _complete(context={}), _COMPLETED),
    Row("context that is no text is refused", _complete(context={"arguments": {"other": 1}}),
        bad_params("params.context.arguments.other", "string")),
    Row("unknown prompt is not completed", _complete({"type": "ref/prompt", "name": "nobody"}),
        invalid_now(data={"name": "nobody"})),
    Row("unknown argument is not completed", _complete(argument={"name": "age", "value": ""}),
        invalid_now('"age"', "name")),
    Row("unknown variable is not completed",
        _complete({"type": "ref/resource", "uri": "note://{id}"}), invalid_now('"name"', "id")),
    Row("resource without suggestions has none",
        _complete({"type": "ref/resource", "uri": "note://{id}"}, {"name": "id", "value": ""}),
        Answered(result={"resultType": "complete",
                         "completion": {"values": [], "total": 0, "hasMore": False}})),
    Row("unknown resource is not completed",
        _complete({"type": "ref/resource", "uri": "other://x"}), _missing("other://x")),
    Row("unknown kind of reference is refused", _complete({"type": "ref/tool", "name": "add"}),
        Refused(status=400, code=-32602, data={"path": "params.ref"})),
    Row("reference without its name is refused", _complete({"type": "ref/prompt"}),
        bad_params("params.ref.name", "required")),
    Row("value that is no text is refused", _complete(argument={"name": "name", "value": 1}),
        bad_params("params.argument.value", "string")),
    Row("argument without a value is refused", _complete(argument={"name": "name"}),
        bad_params("params.argument.value", "required")),
    Row("completion without an argument is refused", _complete().drop("params.argument"),
        bad_params("params.argument", "required")),
)  # fmt: skip

ROWS: Final = (*_PAGES, *_PROMPTS, *_RESOURCES, *_COMPLETION)
