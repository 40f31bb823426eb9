"""Sealed tokens: what opens, and that nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.errors import TokenError
from genmcp.tokens import Keyring

KEY_A, KEY_B = "a" * 32, b"b" * 32


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@given(payload=st.binary(max_size=500), bound_to=st.binary(max_size=50), purpose=st.text())
def test_sealed_comes_back_as_it_was(payload: bytes, bound_to: bytes, purpose: str) -> None:
    ring = Keyring([KEY_A])
    token = ring.seal(purpose, payload, ttl_seconds=60, bound_to=bound_to)
    assert ring.unseal(purpose, token, bound_to=bound_to) == payload
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@given(st.text(max_size=300) | st.text(alphabet="ABCabc012-_", max_size=300))
def test_no_text_opens_by_chance(text: str) -> None:
    with pytest.raises(TokenError):
        Keyring([KEY_A]).unseal("cursor", text)


@given(position=st.integers(min_value=0), flip=st.integers(min_value=1, max_value=63))
def test_every_changed_character_is_noticed(position: int, flip: int) -> None:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    ring = Keyring([KEY_A])
    token = ring.seal("cursor", b"payload", ttl_seconds=60)
    at = position % len(token)
    changed = alphabet[(alphabet.index(token[at]) + flip) % 64]
    with pytest.raises(TokenError):
        ring.unseal("cursor", token[:at] + changed + token[at + 1 :])


@pytest.mark.parametrize(
    ("purpose", "bound_to"), [("state", b"x"), ("cursor", b"y"), ("cursor", b""), ("", b"x")]
)
def test_purpose_and_binding_must_be_the_same(purpose: str, bound_to: bytes) -> None:
    ring = Keyring([KEY_A])
    token = ring.seal("cursor", b"p", ttl_seconds=60, bound_to=b"x")
    with pytest.raises(TokenError) as caught:
        ring.unseal(purpose, token, bound_to=bound_to)
    assert caught.value.cause == "forged or foreign"


def test_all_failures_read_alike() -> None:
    clock = Clock()
    ring = Keyring([KEY_A], clock=clock)
    good = ring.seal("cursor", b"p", ttl_seconds=10)
    foreign = Keyring([KEY_B], clock=clock).seal("cursor", b"p", ttl_seconds=10)
    clock.now += 11
    causes: dict[str, str] = {}
    other = ring.seal("other", b"p", ttl_seconds=60)
    for token in (good, foreign, other, "!!", "", "A" * 300_000):
        with pytest.raises(TokenError) as caught:
            ring.unseal("cursor", token)
        causes[caught.value.cause] = str(caught.value)
    assert set(causes) == {"expired", "unknown key", "forged or foreign", "malformed"}
    assert len(set(causes.values())) == 1


def test_tokens_expire() -> None:
    clock = Clock()
    ring = Keyring([KEY_A], clock=clock)
    token = ring.seal("cursor", b"p", ttl_seconds=10)
    clock.now += 9
    assert ring.unseal("cursor", token) == b"p"
    clock.now += 1
    with pytest.raises(TokenError):
        ring.unseal("cursor", token)


def test_token_of_a_clock_far_ahead_is_refused() -> None:
    ahead, behind = Clock(), Clock()
    ahead.now += 3_600
    token = Keyring([KEY_A], clock=ahead).seal("cursor", b"p", ttl_seconds=9_999)
    with pytest.raises(TokenError) as caught:
        Keyring([KEY_A], clock=behind).unseal("cursor", token)
    assert caught.value.cause == "from the future"


def test_first_key_seals_and_every_key_opens() -> None:
    old = Keyring([KEY_A]).seal("cursor", b"old", ttl_seconds=60)
    rotated = Keyring([KEY_B, KEY_A])
    assert rotated.unseal("cursor", old) == b"old"
    new = rotated.seal("cursor", b"new", ttl_seconds=60)
    assert Keyring([KEY_B]).unseal("cursor", new) == b"new"
    with pytest.raises(TokenError):
        Keyring([KEY_A]).unseal("cursor", new)


def test_random_rings_do_not_open_each_others_tokens() -> None:
    token = Keyring.random().seal("cursor", b"p", ttl_seconds=60)
    with pytest.raises(TokenError):
        Keyring.random().unseal("cursor", token)


@pytest.mark.parametrize(
    ("secrets", "error"), [([], ValueError), (["short"], ValueError), ([123], TypeError)]
)
def test_unfit_secrets_are_refused(secrets: list[str], error: type[Exception]) -> None:
    with pytest.raises(error, match="secret"):
        Keyring(secrets)


def test_lone_secret_is_taken_as_one() -> None:
    token = Keyring([KEY_A]).seal("cursor", b"p", ttl_seconds=60)
    assert Keyring(KEY_A).unseal("cursor", token) == b"p"
