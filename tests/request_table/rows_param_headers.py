"""Rows: the `Mcp-Param-*` headers that repeat a tool's arguments."""

from __future__ import annotations

from typing import Any, Final

from tests.request_table.row import Answered, Refused, Row
from tests.request_table.rows_tools import failed, invalid_now
from tests.request_table.sending import call
from tests.request_table.served import text_result

_ROUTED: Final = Answered(result=text_result("routed"))
_MOST: Final = 2**53 - 1


def _row(name: str, arguments: Any, *lines: bytes, refused: str | None = None) -> Row:
    """A call of `route` with these header lines, refused for what is said, or answered."""
    request = call("route", arguments).line(*(b"Mcp-Param-" + line for line in lines))
    if refused is None:
        return Row(name, request, _ROUTED)
    return Row(name, request, Refused(status=400, code=-32020, says=("Mcp-Param-", refused)))


ROWS: Final = (
    _row("no argument needs no header", {}),
    _row("text is repeated as it is", {"region": "eu"}, b"Region: eu"),
    _row("parameter headers may be in any case", {"region": "eu"}, b"rEGION:   eu  "),
    _row("empty text is an empty header", {"region": ""}, b"Region:"),
    _row("text that is not ASCII is wrapped", {"region": "é"}, b"Region: =?base64?w6k=?="),
    _row("space at the edge is wrapped", {"region": " a"}, b"Region: =?base64?IGE=?="),
    _row("line end is wrapped", {"region": "a\nb"}, b"Region: =?base64?YQpi?="),
    _row("text that looks wrapped is wrapped again", {"region": "=?base64?YQ==?="},
         b"Region: =?base64?PT9iYXNlNjQ/WVE9PT89?="),
    _row("integer is repeated in digits", {"count": 42}, b"Count: 42"),
    _row("integer may be repeated as a float", {"count": 42}, b"Count: 42.0"),
    _row("integer may be sent as a float", {"count": 42.0}, b"Count: 42"),
    _row("zero is repeated too", {"count": 0}, b"Count: 0"),
    _row("greatest integer is repeated", {"count": _MOST}, b"Count: %d" % _MOST),
    _row("least integer is repeated", {"count": -_MOST}, b"Count: %d" % -_MOST),
    _row("true is repeated", {"loud": True}, b"Loud: true"),
    _row("false is repeated", {"loud": False}, b"Loud: false"),
    _row("argument inside another is repeated", {"where": {"city": "Ulm"}}, b"City: Ulm"),
    _row("all of them are repeated", {"region": "eu", "count": 1, "loud": True},
         b"Region: eu", b"Count: 1", b"Loud: true"),
    _row("headers of no argument are ignored", {}, b"Other: \xff", b": x"),
    _row("missing header is a mismatch", {"region": "eu"}, refused="Region is missing"),
    _row("missing header of zero is a mismatch", {"count": 0}, refused="Count is missing"),
    _row("missing header of false is a mismatch", {"loud": False}, refused="Loud is missing"),
    _row("missing header of the empty text is a mismatch", {"region": ""},
         refused="Region is missing"),
    _row("missing header of an inner argument is a mismatch", {"where": {"city": "Ulm"}},
         refused="params.arguments.where.city"),
    _row("second missing header is a mismatch", {"region": "eu", "count": 1}, b"Region: eu",
         refused="Count is missing"),
    _row("header of another text is a mismatch", {"region": "eu"}, b"Region: us",
         refused="differs"),
    _row("case of the text matters", {"region": "eu"}, b"Region: EU", refused="differs"),
    _row("header of another integer is a mismatch", {"count": 42}, b"Count: 43",
         refused="differs"),
    *(
        _row(f"{value.decode()[:9]} is not how 42 is written", {"count": 42}, b"Count: " + value,
             refused="differs")
        for value in (b"042", b"+42", b"42.", b"42.5", b"4.2e1", b"0x2a", b"4_2", b"42 ,42", b"",
                      b"4" * 5000)
    ),
    _row("True is not how true is written", {"loud": True}, b"Loud: True", refused="differs"),
    _row("1 is not how true is written", {"loud": True}, b"Loud: 1", refused="differs"),
    _row("true is not how 1 is written", {"count": 1}, b"Count: true", refused="differs"),
    _row("wrapping is decoded before it is compared", {"region": "eu"}, b"Region: =?base64?dXM=?=",
         refused="differs"),
    _row("Base64 without padding cannot be read", {"region": "eu"}, b"Region: =?base64?ZXU?=",
         refused="cannot be read"),
    _row("Base64 with stray bits cannot be read", {"region": "eu"}, b"Region: =?base64?ZXV=?=",
         refused="cannot be read"),
    _row("Base64 of no UTF-8 cannot be read", {"region": "eu"}, b"Region: =?base64?/w==?=",
         refused="cannot be read"),
    _row("markers in capitals are literal", {"region": "eu"}, b"Region: =?BASE64?ZXU=?=",
         refused="differs"),
    _row("bytes that are not ASCII cannot be read", {"region": "é"}, b"Region: \xc3\xa9",
         refused="cannot be read"),
    _row("header without an argument is a mismatch", {}, b"Region: eu", refused="absent or null"),
    _row("header of null is a mismatch", {"region": None}, b"Region: null",
         refused="absent or null"),
    _row("two equal headers are a mismatch", {"region": "eu"}, b"Region: eu", b"region: eu",
         refused="more than once"),
    _row("two headers of no argument are a mismatch too", {}, b"Other: a", b"Other: a",
         refused="more than once"),
    _row("integer that not every reader keeps is a mismatch", {"count": _MOST + 1},
         b"Count: %d" % (_MOST + 1), refused="within"),
    _row("list cannot be repeated", {"region": ["eu"]}, b"Region: eu", refused="an array"),
    Row("null needs no header", call("route", {"region": None}),
        failed("region: expected string, got null")),
    Row("unknown tool wins over its headers",
        call("nobody", {"region": "eu"}).line(b"Mcp-Param-Region: us"),
        invalid_now(data={"name": "nobody"})),
    Row("headers win over a forged state",
        call("route", {"region": "eu"}, requestState="forged"),
        Refused(status=400, code=-32020, says=("Region is missing",))),
    Row("headers win over arguments", call("route", {"region": "eu", "count": "x"}).line(
        b"Mcp-Param-Region: us"), Refused(status=400, code=-32020, says=("differs",))),
    Row("another tool's headers are ignored",
        call("add", {"a": 1, "b": 2}).line(b"Mcp-Param-Region: \xff"),
        Answered(result=text_result("3"))),
)  # fmt: skip
