"""Rows: listen streams and what they begin with."""

from __future__ import annotations

from typing import Any, Final

from tests.request_table.row import Refused, Row, Streamed, each
from tests.request_table.rows_meta import bad_params, mismatch
from tests.request_table.rows_tools import invalid_now
from tests.request_table.sending import Request, good

_FILTER: Final = "params.notifications"
_EVERYTHING: Final = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["note://1", "note://2"],
}


def _listen(wanted: Any) -> Request:
    return good("subscriptions/listen", {"notifications": wanted})


def _acknowledged(accepted: Any, request_id: Any = 1) -> Streamed:
    params = {
        "notifications": accepted,
        "_meta": {"io.modelcontextprotocol/subscriptionId": request_id},
    }
    message = {
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": params,
    }
    return Streamed(notifications=(message,))


ROWS: Final = (
    Row("what is listened for is acknowledged", _listen(_EVERYTHING), _acknowledged(_EVERYTHING)),
    Row("one kind of change may be listened for", _listen({"toolsListChanged": True}),
        _acknowledged({"toolsListChanged": True})),
    Row("nothing may be listened for", _listen({}), _acknowledged({})),
    Row("false is not listened for", _listen({"toolsListChanged": False}), _acknowledged({})),
    Row("null is not listened for", _listen({"toolsListChanged": None}), _acknowledged({})),
    Row("unknown kinds of change are not accepted",
        _listen({"tasksChanged": True, "promptsListChanged": True}),
        _acknowledged({"promptsListChanged": True})),
    Row("resources out of reach are not accepted",
        _listen({"resourceSubscriptions": ["note://1", "other://x"]}),
        _acknowledged({"resourceSubscriptions": ["note://1"]})),
    *(
        Row(f"subscription id is the id {request_id!r} of the request",
            _listen({"toolsListChanged": True}).member("id", request_id),
            _acknowledged({"toolsListChanged": True}, request_id))
        for request_id in (0, "", "1", -5, 2**64 - 1, "a\u2028b")
    ),
    Row("stream has no log and no progress",
        _listen({"toolsListChanged": True}).meta(logLevel="debug", progressToken="t"),
        _acknowledged({"toolsListChanged": True})),
    Row("filter is needed", _listen({}).drop(_FILTER), bad_params(_FILTER, "required")),
    *(
        Row(f"filter {value!r} is refused", _listen(value), bad_params(_FILTER, "object"))
        for value in each([], "tools", 1, True)
    ),
    Row("null as a filter is refused", _listen(None), bad_params(_FILTER)),
    *(
        Row(f"flag {value!r} is refused", _listen({"toolsListChanged": value}),
            bad_params(f"{_FILTER}.toolsListChanged", "boolean"))
        for value in each(1, "true", [], {})
    ),
    Row("URIs that are no list are refused", _listen({"resourceSubscriptions": "note://1"}),
        bad_params(f"{_FILTER}.resourceSubscriptions", "list")),
    Row("URI that is no text is refused", _listen({"resourceSubscriptions": ["note://1", 2]}),
        bad_params(f"{_FILTER}.resourceSubscriptions[1]", "string")),
    Row("too many URIs are invalid",
        _listen({"resourceSubscriptions": [f"note://{number}" for number in range(10_000)]}),
        invalid_now("at most", data={"path": f"{_FILTER}.resourceSubscriptions"})),
    Row("too long a URI is invalid", _listen({"resourceSubscriptions": ["note://" + "x" * 50_000]}),
        invalid_now("at most", data={"path": f"{_FILTER}.resourceSubscriptions[0]"})),
    Row("stream needs its headers", _listen({}).without(b"Mcp-Method"), mismatch("missing")),
    Row("stream is not offered by who has nothing to tell", _listen({}).at(b"/bare"),
        Refused(status=404, code=-32601)),
)  # fmt: skip
