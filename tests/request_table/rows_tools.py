"""Rows: calls of tools: their params, their arguments, their results, their crashes."""

from __future__ import annotations

from typing import Any, Final

from tests.request_table.row import ERROR_ID, Answered, Refused, Row, Streamed, each
from tests.request_table.rows_meta import bad_params
from tests.request_table.rows_sender import ADD, ADDED
from tests.request_table.sending import Request, call
from tests.request_table.served import data_result, text_result
from tests.request_table.served_tools import CONSTANTS

MASKED: Final = Refused(
    status=500, code=-32603, data={"errorId": ERROR_ID}, says=("Internal server error",)
)
"""A fault of the server: an error id, and nothing of what happened."""


def invalid_now(*says: str, data: Any = None) -> Refused:
    """-32602 from whoever was asked, the request itself being well-formed."""
    if data is None:
        return Refused(status=200, code=-32602, says=says)
    return Refused(status=200, code=-32602, says=says, data=data)


def failed(text: str) -> Answered:
    return Answered(result=text_result(text, isError=True))


_PARAMS = (
    Row("no arguments are none", call("echo"), Answered(result=data_result({}))),
    Row("null arguments are none", call("echo").member("params.arguments", None),
        Answered(result=data_result({}))),
    *(
        Row(f"arguments {value!r} are refused", ADD.member("params.arguments", value),
            bad_params("params.arguments", "object"))
        for value in ([], ["a"], "a", 1, True)
    ),
    Row("unknown tool is invalid params", call("nobody"),
        invalid_now("Unknown tool: nobody", data={"name": "nobody"})),
    Row("tool names are exact", call("Add", {"a": 1}),
        invalid_now("Unknown tool: Add", data={"name": "Add"})),
    Row("empty name is an unknown tool", call(""), invalid_now(data={"name": ""})),
    Row("long name is shown shortened", call("n" * 1000),
        invalid_now(data={"name": "n" * 128 + "..."})),
    *(
        Row(f"tool name {value!r} is refused", ADD.member("params.name", value),
            bad_params("params.name", "string"))
        for value in each(None, 1, [], {})
    ),
    Row("unknown params are ignored", ADD.member("params.extra", [1]), ADDED),
    Row("request state that is no text is refused", ADD.member("params.requestState", 1),
        bad_params("params.requestState", "string")),
    Row("input responses that are a list are refused", ADD.member("params.inputResponses", []),
        bad_params("params.inputResponses", "object")),
)  # fmt: skip

_ARGUMENTS = (
    Row("missing argument is told to the model", call("add", {}),
        failed('missing required argument "a"')),
    Row("optional argument may be missing", call("add", {"a": 2}),
        Answered(result=text_result("2"))),
    Row("number sent as text is repaired", call("add", {"a": "1", "b": 2}), ADDED),
    Row("float that is an integer is one", call("add", {"a": 1.0, "b": 2}), ADDED),
    *(
        Row(f"argument {value!r} is told to the model", call("add", {"a": value}),
            failed(f"a: expected integer, got {told}"))
        for value, told in (("x", 'string "x"'), (1.5, "number 1.5"), (True, "boolean true"),
                            (None, "null"), ([1], "array"), ({"a": 1}, "object"))
    ),
    Row("unknown argument is told to the model", call("add", {"a": 1, "c": 2}),
        failed('unknown argument "c". Valid arguments: a, b')),
    Row("arguments may be a protocol error instead", call("add", {"a": "x"}).at(b"/strict"),
        invalid_now('a: expected integer, got string "x"')),
)  # fmt: skip

_RESULTS = (
    *(
        Row(f"structured content may be: {which}", call("constant", {"which": which}),
            Answered(result=data_result(value)))
        for which, value in CONSTANTS.items()
    ),
    Row("text alone has no structured content", ADD, ADDED),
    Row("identity may be left out", ADD.at(b"/strict"),
        Answered(result=text_result("3"), server_info=False)),
    Row("tool that says no is a result", call("refuse", {"how": "tool"}), failed("not today")),
    Row("result that says no is a result", call("refuse", {"how": "result"}), failed("not today")),
    Row("error of the application goes out as it is", call("refuse", {"how": "application"}),
        Refused(status=200, code=1234, data={"a": [None]}, says=("not today",))),
)  # fmt: skip

_CRASHES = (
    Row("crash is masked", call("crash"), MASKED),
    Row(
        "crash of an open stream is masked in it",
        call("crash", {"late": True}),
        Streamed(end=MASKED),
    ),
    Row(
        "crash keeps the id",
        call("crash").member("id", "x"),
        Refused(status=500, code=-32603, id="x", data={"errorId": ERROR_ID}),
    ),
    Row("result that breaks the output schema is masked", call("lie"), MASKED),
    Row("tool without an answer is masked", call("nothing"), MASKED),
)


def _reporting(**meta: Any) -> Request:
    return call("report").meta(**meta)


def _progress(token: Any, progress: int, **params: Any) -> dict[str, Any]:
    params = {"progressToken": token, "progress": progress, **params}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def _log(level: str, data: Any, **params: Any) -> dict[str, Any]:
    params = {"level": level, "data": data, **params}
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": params}


_HALF: Final[dict[str, Any]] = {"total": 2, "message": "half\u2028way"}
_REPORTED: Final = Answered(result=text_result("reported"))
_NULL_LOG: Final = _log("error", None, logger="report")

_STREAMS = (
    Row("nothing is reported to whom did not ask", call("report"), _REPORTED),
    *(
        Row(f"progress goes out under the token {token!r}", _reporting(progressToken=token),
            Streamed(notifications=(_progress(token, 1, **_HALF), _progress(token, 2)),
                     end=_REPORTED))
        for token in ("t", "", 0, 7, "7", 2**64 - 1)
    ),
    Row("log goes out from the level that was asked for", _reporting(logLevel="warning"),
        Streamed(notifications=(_NULL_LOG,), end=_REPORTED)),
    Row("all of the log goes out", _reporting(logLevel="debug"),
        Streamed(notifications=(_log("debug", {"step": 1}), _NULL_LOG), end=_REPORTED)),
    Row("log below the level stays", _reporting(logLevel="critical"), _REPORTED),
    Row("progress and log keep their order", _reporting(logLevel="debug", progressToken=1),
        Streamed(notifications=(_progress(1, 1, **_HALF), _log("debug", {"step": 1}), _NULL_LOG,
                                _progress(1, 2)), end=_REPORTED)),
    Row("stream ends under the id of its request",
        _reporting(progressToken=1).member("id", "1"),
        Streamed(notifications=(_progress(1, 1, **_HALF), _progress(1, 2)),
                 end=Answered(result=text_result("reported"), id="1"))),
)  # fmt: skip

ROWS: Final = (*_PARAMS, *_ARGUMENTS, *_RESULTS, *_CRASHES, *_STREAMS)
