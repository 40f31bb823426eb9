from __future__ import annotations

import re
from typing import Any

import pytest

from genmcp.errors import InvalidParams, TokenError
from genmcp.legacy.session import TTL_SECONDS, read_handshake, seal_session, unseal_session
from genmcp.tokens import Keyring

PARAMS: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {
        "roots": {"listChanged": True},
        "sampling": {"tools": {}, "other": {}},
        "elicitation": {"form": {}, "url": {}},
        "tasks": {"list": {}},
    },
    "clientInfo": {"name": "n" * 1000, "version": "1", "title": "T", "icons": [{"src": "x"}]},
}


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_session_comes_back_as_it_was_sealed() -> None:
    session = read_handshake(PARAMS, 1_000_000)
    keyring = Keyring(["k" * 32], clock=Clock())
    token = seal_session(session, keyring, "ada")
    assert unseal_session(token, Keyring(["k" * 32], clock=Clock()), "ada") == session
    assert re.fullmatch(r"[\x21-\x7e]+", token)
    assert session.capabilities == {
        "roots": {},
        "sampling": {"tools": {}},
        "elicitation": {"form": {}, "url": {}},
    }
    assert session.client_info == {"name": "n" * 256, "version": "1", "title": "T"}


def test_ids_differ_and_stay_short_whatever_a_client_declares() -> None:
    keyring = Keyring(["k" * 32])
    params = {**PARAMS, "clientInfo": dict.fromkeys(("name", "version", "title"), "x" * 5000)}
    params["capabilities"] = {"experimental": {"a/b": {"x": "y" * 5_000}}}
    ids = {seal_session(read_handshake(params, 0), keyring, None) for _ in range(2)}
    assert len(ids) == 2
    assert all(len(one) < 2_000 for one in ids)


def test_june_knows_nothing_inside_a_capability() -> None:
    session = read_handshake({**PARAMS, "protocolVersion": "2025-06-18"}, 0)
    assert session.version == "2025-06-18"
    assert session.capabilities == {"roots": {}, "sampling": {}, "elicitation": {}}


@pytest.mark.parametrize("principal", [None, "", "eve", "principal ada"])
def test_an_id_is_good_for_whoever_opened_the_session_alone(principal: str | None) -> None:
    keyring = Keyring(["k" * 32])
    token = seal_session(read_handshake(PARAMS, 0), keyring, "ada")
    with pytest.raises(TokenError):
        unseal_session(token, keyring, principal)


def test_an_id_expires() -> None:
    clock = Clock()
    keyring = Keyring(["k" * 32], clock=clock)
    token = seal_session(read_handshake(PARAMS, clock.now), keyring, None)
    clock.now += TTL_SECONDS - 1
    assert unseal_session(token, keyring, None).expires_at == 1_000_000 + TTL_SECONDS
    clock.now += 1
    with pytest.raises(TokenError) as caught:
        unseal_session(token, keyring, None)
    assert caught.value.cause == "expired"


def test_a_cursor_is_no_session() -> None:
    keyring = Keyring(["k" * 32])
    with pytest.raises(TokenError):
        unseal_session(keyring.seal("cursor", b"[]", ttl_seconds=60), keyring, None)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"protocolVersion": None}, "params.protocolVersion"),
        ({"protocolVersion": 20251125}, "params.protocolVersion"),
        ({"capabilities": None}, "params.capabilities"),
        ({"capabilities": {"experimental": {"x": 1}}}, "params.capabilities"),
        ({"clientInfo": None}, "params.clientInfo"),
        ({"clientInfo": {"version": "1"}}, "params.clientInfo.name"),
        ({"clientInfo": {"name": "n", "version": 1}}, "params.clientInfo.version"),
    ],
)
def test_what_a_handshake_lacks_is_named(change: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        read_handshake({**PARAMS, **change}, 0)
    assert caught.value.data == {"path": path}


def test_a_handshake_without_params_is_refused() -> None:
    with pytest.raises(InvalidParams, match="protocolVersion"):
        read_handshake(None, 0)
