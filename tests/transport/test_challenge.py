"""What refusals tell clients, and that nothing of a stranger's gets into it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from genmcp import InsufficientScope
from genmcp.events import Failed, Opened
from genmcp.transport.challenge import Challenges, clean
from genmcp.transport.reply import Chunk, End, Part, Reply, Whole

URL = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
PLAIN = Challenges(URL, frozenset())
SCOPED = Challenges(URL, frozenset({"use", "base"}))


def text(headers: tuple[tuple[bytes, bytes], ...]) -> str:
    [(name, value)] = headers
    assert name == b"www-authenticate"
    return value.decode("ascii")


def test_without_a_token_no_error_is_named() -> None:
    assert text(PLAIN.render()) == f'Bearer resource_metadata="{URL}"'
    assert text(SCOPED.render()) == f'Bearer resource_metadata="{URL}", scope="base use"'


def test_an_error_comes_with_all_there_is_to_know() -> None:
    assert text(SCOPED.render("invalid_token", "It has expired")) == (
        f'Bearer error="invalid_token", resource_metadata="{URL}", scope="base use", '
        'error_description="It has expired"'
    )


def test_a_missing_scope_is_named_with_those_of_the_endpoint() -> None:
    error, headers = SCOPED.challenge(InsufficientScope(["write"]))
    assert error.required == ("base", "use", "write")
    assert error.data == {"requiredScopes": ["base", "use", "write"]}
    assert 'error="insufficient_scope"' in text(headers)
    assert 'scope="base use write"' in text(headers)


@pytest.mark.parametrize(
    "required",
    [
        ['files", resource_metadata="https://evil.example'],
        ["files\r\nset-cookie: a=b"],
        ["files read"],
        ["grüße"],
        [""],
        [7],
        "files:read",
    ],
)
def test_what_is_no_scope_gets_into_no_header(required: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"scope|strings"):
        InsufficientScope(required)


@pytest.mark.parametrize(
    ("description", "cleaned"),
    [
        ('a", scope="admin', "a?, scope=?admin"),
        ("back\\slash", "back?slash"),
        ("line\r\nset-cookie: x", "line??set-cookie: x"),
        ("grüße\x00\x7f", "gr??e??"),
        ("x" * 1000, "x" * 300),
    ],
)
def test_descriptions_hold_only_what_the_rfc_allows(description: str, cleaned: str) -> None:
    assert clean(description) == cleaned
    rendered = text(PLAIN.render("invalid_token", description))
    assert re.fullmatch(
        r'Bearer error="invalid_token", resource_metadata="[^"\\]+", '
        r'error_description="[\x20\x21\x23-\x5b\x5d-\x7e]*"',
        rendered,
    )


def fail(reply: Reply) -> Part:
    *_, last = reply.render(Failed(InsufficientScope(["write"])))
    return last


def test_a_call_that_ends_for_want_of_a_scope_is_challenged() -> None:
    whole = fail(Reply(1, SCOPED.challenge))
    assert isinstance(whole, Whole)
    assert whole.status == 403
    assert 'scope="base use write"' in dict(whole.headers)[b"www-authenticate"].decode()
    error = json.loads(whole.body)["error"]
    assert error["code"] == -32600
    assert error["data"] == {"requiredScopes": ["base", "use", "write"]}


def test_in_a_stream_the_error_says_as_much() -> None:
    reply = Reply(1, SCOPED.challenge)
    reply.render(Opened())
    event, end = reply.render(Failed(InsufficientScope(["write"])))
    assert isinstance(event, Chunk)
    assert isinstance(end, End)
    assert json.loads(event.body.removeprefix(b"data: "))["error"]["data"] == {
        "requiredScopes": ["base", "use", "write"]
    }


def test_without_a_challenge_it_is_a_403_all_the_same() -> None:
    whole = fail(Reply(1))
    assert isinstance(whole, Whole)
    assert whole.status == 403
    assert b"www-authenticate" not in dict(whole.headers)
