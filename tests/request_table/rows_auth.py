"""Rows: access tokens, at an endpoint that takes nothing without one."""

from __future__ import annotations

from typing import Any, Final

from tests.request_table.row import ABSENT, Answered, Bare, Refused, Row
from tests.request_table.sending import Request, call, good, notify
from tests.request_table.served import METADATA_URL, text_result

ADD: Final = call("add", {"a": 1, "b": 2}).at(b"/guarded")
WIPE: Final = call("wipe").at(b"/guarded")
METADATA_PATH: Final = b"/.well-known/oauth-protected-resource/guarded"
PREFLIGHT: Final = (
    ADD.with_verb(b"OPTIONS")
    .saying(b"")
    .line(b"Origin: https://mcp.example.com", b"Access-Control-Request-Method: POST")
)


def _with(token: bytes, request: Request = ADD) -> Request:
    return request.line(b"Authorization: Bearer " + token)


def _challenge(error: str | None = None, scope: str = "use", said: str = "") -> str:
    parts = [f'error="{error}", '] if error else []
    parts.append(f'resource_metadata="{METADATA_URL}", scope="{scope}"')
    parts += [f', error_description="{said}"'] if said else []
    return "Bearer " + "".join(parts)


def _refused(status: int, error: str | None = None, *says: str, **more: Any) -> Refused:
    data = {"resourceMetadata": METADATA_URL, "requiredScopes": ["use"]}
    more.setdefault("headers", {} if error else {"www-authenticate": _challenge()})
    return Refused(status=status, code=-32600, id=ABSENT, data=data, says=says, **more)


NO_TOKEN: Final = _refused(401, None, "access token", METADATA_URL)
BAD_TOKEN: Final = _refused(401, "invalid_token", METADATA_URL)
MALFORMED: Final = _refused(400, "invalid_request", METADATA_URL)
NARROW: Final = Refused(
    status=403,
    code=-32600,
    id=ABSENT,
    data={"requiredScopes": ["use"]},
    headers={
        "www-authenticate": _challenge(
            "insufficient_scope",
            said="This request needs an access token with the scopes: use",
        )
    },
)
NEEDS_MORE: Final = Refused(
    status=403,
    code=-32600,
    data={"requiredScopes": ["admin", "use"]},
    headers={
        "www-authenticate": _challenge(
            "insufficient_scope",
            "admin use",
            "This request needs an access token with the scopes: admin use",
        )
    },
)
ADDED: Final = Answered(result=text_result("3"))
DOCUMENT: Final = {"content-type": "application/json", "access-control-allow-origin": "*"}

_TOKENS = (
    Row("good token is let in", _with(b"good"), ADDED),
    Row(
        "name of the scheme has no case",
        ADD.line(b"authorization: bEARER good"),
        ADDED,
    ),
    Row(
        "several spaces before the token are one", ADD.line(b"Authorization: Bearer   good"), ADDED
    ),
    Row("no token is told where to get one", ADD, NO_TOKEN),
    Row("other scheme is no token", ADD.line(b"Authorization: Basic Z29vZDo="), NO_TOKEN),
    Row("unknown token is refused", _with(b"stolen"), BAD_TOKEN),
    Row("expired token is refused", _with(b"old"), BAD_TOKEN),
    Row("token for another server is refused", _with(b"foreign"), BAD_TOKEN),
    Row("token without what the endpoint needs is 403", _with(b"narrow"), NARROW),
    Row("no token behind the scheme is malformed", ADD.line(b"Authorization: Bearer"), MALFORMED),
    Row("token with a space is malformed", _with(b"go od"), MALFORMED),
    Row("token with a quote is malformed", _with(b'go"od'), MALFORMED),
    Row("token with a comma is malformed", _with(b"good, Bearer good"), MALFORMED),
    Row("token beyond ASCII is malformed", _with(b"go\xffod"), MALFORMED),
    Row("token without end is malformed", _with(b"a" * 20_000), MALFORMED),
    Row("two tokens are malformed", _with(b"good", _with(b"good")), MALFORMED),
    Row("token in the query is none", ADD.at(b"/guarded?access_token=good"), NO_TOKEN),
    Row(
        "token in the body is none",
        ADD.member("access_token", "good"),
        NO_TOKEN,
    ),
    Row("discovery needs a token too", good("server/discover").at(b"/guarded"), NO_TOKEN),
    Row(
        "notification needs a token too",
        notify("notifications/cancelled", {"requestId": 1}).at(b"/guarded"),
        NO_TOKEN,
    ),
)

_ORDER = (
    Row(
        "verb wins over a missing token",
        ADD.with_verb(b"GET").saying(b""),
        Refused(status=405, code=-32600, id=ABSENT, headers={"allow": "POST"}),
    ),
    Row(
        "foreign origin wins over a missing token",
        ADD.line(b"Origin: https://evil.example"),
        Refused(
            status=403,
            code=-32600,
            id=ABSENT,
            data={
                "setting": "allowed_origins",
                "flag": "--allowed-origin",
                "variable": "GENMCP_ALLOWED_ORIGINS",
                "header": "Origin",
                "refused": "https://evil.example",
            },
        ),
    ),
    Row("missing token wins over a body that is not JSON", ADD.saying(b"{"), NO_TOKEN),
    Row(
        "missing token wins over a type that is not JSON",
        ADD.instead(b"Content-Type: text/plain"),
        NO_TOKEN,
    ),
    Row("missing token wins over an unknown method", good("no/such").at(b"/guarded"), NO_TOKEN),
    Row("missing token wins over what is missing elsewhere", ADD.without(b"Mcp-Name"), NO_TOKEN),
)

_SCOPES = (
    Row("tool may need more than the endpoint", _with(b"good", WIPE), NEEDS_MORE),
    Row(
        "refusal for scopes echoes the id with its type",
        _with(b"good", WIPE.member("id", "7")),
        Refused(status=403, code=-32600, id="7", data={"requiredScopes": ["admin", "use"]}),
    ),
    Row(
        "token with all scopes calls it",
        _with(b"admin", WIPE),
        Answered(result=text_result("gone")),
    ),
    Row(
        "broader scope implies a narrower one",
        _with(b"root", WIPE),
        Answered(result=text_result("gone")),
    ),
    Row(
        "header that differs wins over scopes",
        _with(b"good", WIPE.instead(b"Mcp-Name: add")),
        Refused(status=400, code=-32020),
    ),
    Row(
        "scopes win over arguments",
        _with(b"good", WIPE.member("params.arguments", {"a": "x"})),
        NEEDS_MORE,
    ),
)

_METADATA = (
    Row("page may ask before it has a token", PREFLIGHT, Bare(status=204)),
    *(
        Row(
            f"metadata is at {path.decode()}, for anybody",
            ADD.with_verb(b"HEAD").saying(b"").at(path).line(b"Origin: https://any.example"),
            Bare(status=200, headers=DOCUMENT),
        )
        for path in (METADATA_PATH, b"/.well-known/oauth-protected-resource")
    ),
    Row(
        "metadata is only to be read",
        ADD.at(METADATA_PATH),
        Refused(status=405, code=-32600, id=ABSENT, headers={"allow": "GET, HEAD, OPTIONS"}),
    ),
)

ROWS: Final = (*_TOKENS, *_ORDER, *_SCOPES, *_METADATA)
