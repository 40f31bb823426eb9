"""Rows: the headers that mirror the method and the name of what is asked for."""

from __future__ import annotations

from typing import Final

from tests.request_table.row import Answered, Row, no_http
from tests.request_table.rows_meta import bad_params, mismatch, wrap
from tests.request_table.rows_sender import ADD, ADDED
from tests.request_table.sending import DISCOVER, Request, call, good
from tests.request_table.served import text_result
from tests.request_table.served_tools import ODD_NAME


def _name(value: bytes, request: Request = ADD) -> Request:
    return request.instead(b"Mcp-Name: " + value)


_METHODS = (
    Row("no Mcp-Method is a mismatch", ADD.without(b"Mcp-Method"),
        mismatch("Mcp-Method", "missing", "method")),
    Row("no Mcp-Method is a mismatch for discovery too", DISCOVER.without(b"Mcp-Method"),
        mismatch("Mcp-Method", "missing")),
    Row("method header names may be in any case", ADD.without(b"Mcp-Method").line(
        b"MCP-METHOD: tools/call"), ADDED),
    Row("space around the method is no part of it", ADD.instead(b"Mcp-Method:tools/call  "), ADDED),
    *(
        Row(f"Mcp-Method {value!a} is a mismatch", ADD.instead(b"Mcp-Method: " + value),
            mismatch("Mcp-Method"))
        for value in (b"tools/list", b"TOOLS/CALL", b"tools/call/", b"", b"tools", b"tools/c\xe4ll",
                      wrap("tools/call"), b"tools/call, tools/call")
    ),
    Row("two equal Mcp-Method are a mismatch", ADD.line(b"mcp-method: tools/call"),
        mismatch("Mcp-Method", "more than once")),
    Row("wrong Mcp-Method wins over an unknown method",
        good("no/such").instead(b"Mcp-Method: tools/call"), mismatch("Mcp-Method", "no/such")),
    Row("wrong Mcp-Method wins over a missing Mcp-Name",
        ADD.instead(b"Mcp-Method: x").without(b"Mcp-Name"), mismatch("Mcp-Method")),
)  # fmt: skip

_FOREIGN: Final = call("größe")
_ODD: Final = call(ODD_NAME)

_NAMES = (
    *(
        Row(f"no Mcp-Name is a mismatch for {request.lines[4].decode()}",
            request.without(b"Mcp-Name"), mismatch("Mcp-Name", "missing", mirrored))
        for request, mirrored in (
            (ADD, "params.name"),
            (good("prompts/get", {"name": "greet", "arguments": {"name": "x"}}), "params.name"),
            (good("resources/read", {"uri": "note://1"}), "params.uri"),
        )
    ),
    *(
        Row(f"Mcp-Name {value!a} is a mismatch", _name(value), mismatch("Mcp-Name"))
        for value in (b"echo", b"ADD", b"", b"add, add", b"a dd", wrap("Add"), wrap(""),
                      wrap(wrap("add")), b"=?BASE64?YWRk?=", b"=?base64?YWRk", b"YWRk?=",
                      b"=?base64?=", b"\xe4dd")
    ),
    Row("Mcp-Name with a control character is a mismatch", _name(b"add\x7f"), mismatch("Mcp-Name"),
        native=no_http("Invalid header value")),
    *(
        Row(f"Mcp-Name {value!a} cannot be decoded", _name(value), mismatch(
            "Mcp-Name", "cannot be decoded"))
        for value in (b"=?base64?YWR?=", b"=?base64?YWRkYQ?=", b"=?base64?YW Rk?=",
                      b"=?base64?YWRk=?=", b"=?base64?YW-_?=", b"=?base64?YWRkYR==?=",
                      b"=?base64?/////w==?=", b"=?base64?7aCA?=", b"=?base64?YWRk\t?=")
    ),
    Row("Mcp-Name may be wrapped without need", _name(wrap("add")), ADDED),
    Row("name of the header may be in any case", ADD.without(b"Mcp-Name").line(b"MCP-NAME: add"),
        ADDED),
    Row("space around the name is no part of it", _name(b" \tadd\t "), ADDED),
    Row("two Mcp-Name are a mismatch", ADD.line(b"Mcp-Name: add"), mismatch("more than once")),
    Row("name that is not ASCII is sent wrapped", _name(wrap("größe"), _FOREIGN),
        Answered(result=text_result("gross"))),
    Row("name that is not ASCII is refused as it is", _FOREIGN, mismatch("ASCII", "base64")),
    Row("name in another normal form is another name", _name(wrap("gro\u0308ße"), _FOREIGN),
        mismatch("Mcp-Name")),
    Row("name that looks wrapped is sent wrapped again", _name(wrap(ODD_NAME), _ODD),
        Answered(result=text_result("odd"))),
    Row("name that looks wrapped is decoded once", _ODD, mismatch("Mcp-Name", "tool")),
    Row("escapes in a URI are not decoded",
        good("resources/read", {"uri": "note://%31"}).instead(b"Mcp-Name: note://1"),
        mismatch("Mcp-Name", "params.uri")),
    Row("two stray Mcp-Name are a mismatch", DISCOVER.line(b"Mcp-Name: a", b"Mcp-Name: a"),
        mismatch("Mcp-Name", "more than once")),
    Row("wrong Mcp-Name wins over an unknown tool", _name(b"add", call("nobody")),
        mismatch("Mcp-Name")),
    Row("wrong Mcp-Name wins over params of the wrong type",
        _name(b"x", ADD.member("params.arguments", [])), mismatch("Mcp-Name")),
    Row("name that is no string has nothing to mirror", ADD.member("params.name", 7),
        bad_params("params.name")),
    Row("no name is refused for that, not for the header",
        ADD.drop("params.name").without(b"Mcp-Name"), bad_params("params.name", "required")),
)  # fmt: skip

ROWS: Final = (*_METHODS, *_NAMES)
