"""Documents of keys: what is read, what is left out, and what is refused whole."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from joserfc.jwk import OctKey

from genmcp.authorization.discovery import list_metadata_urls
from genmcp.authorization.jwt import JwtVerifier
from genmcp.authorization.keys import MAX_KEYS, read_keys
from tests.authorization.tokens import ED, P256, RSA, make_key, publish

GOOD = P256.as_dict(private=False)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (None, "no JSON Web Key Set"),
        ([], "no JSON Web Key Set"),
        ("keys", "no JSON Web Key Set"),
        ({"keys": {}}, "no JSON Web Key Set"),
        ({"keys": []}, "none of its keys"),
        ({"keys": [None, 7, "x", [], {}]}, "none of its keys"),
        ({"keys": [GOOD] * (MAX_KEYS + 1)}, "at most 100"),
    ],
)
def test_what_is_no_set_of_keys_is_refused(document: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_keys(document)


def test_why_no_key_is_left_is_in_the_error() -> None:
    private = P256.as_dict(private=True)
    enc = {**GOOD, "use": "enc"}
    with pytest.raises(ValueError, match=r"check signatures; key 0: .* private key") as refused:
        read_keys({"keys": [private, enc, enc, enc]})
    assert str(refused.value).count("not for signatures") == 2
    assert str(private["d"]) not in str(refused.value)
    assert "published" not in str(refused.value)
    with pytest.raises(ValueError, match=r"JwtVerifier: keys: .* private key"):
        JwtVerifier(issuer="https://auth.example.com", keys={"keys": [private]})


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (OctKey.generate_key(256).as_dict(private=True), "a secret"),
        (P256.as_dict(private=True), "a private key"),
        (RSA.as_dict(private=True), "a private key"),
        ({**GOOD, "use": "enc"}, "not for signatures"),
        ({**GOOD, "use": 7}, "not for signatures"),
        ({**GOOD, "key_ops": ["sign"]}, "not for signatures"),
        ({**GOOD, "kid": 7}, "kid is no string"),
        ({**GOOD, "alg": "RS256"}, "no algorithm here"),
        ({**GOOD, "alg": ["ES256"]}, ""),
        ({**GOOD, "crv": "secp256k1"}, "no algorithm here"),
        ({**GOOD, "crv": ["P-256"]}, "no algorithm here"),
        ({**GOOD, "x": "AAAA"}, ""),
        ({**GOOD, "x": 7}, ""),
        ({"kty": "EC", "crv": "P-256"}, ""),
        ({"kty": "AKP", "alg": "ML-DSA-44", "pub": "x"}, "no algorithm here"),
        ({"kty": ["RSA"]}, "no algorithm here"),
        ({"kty": "RSA", "n": "AQAB", "e": "AQAB"}, "bits"),
        ({"kty": "RSA", "n": "A" * 5000, "e": "AQAB"}, "bits"),
        ({"kty": "RSA", "n": 7, "e": "AQAB"}, "bits"),
        ({"kty": "OKP", "crv": "X25519", "x": "A" * 43}, "no algorithm here"),
    ],
)
def test_a_bad_key_is_left_out_and_said(
    entry: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        keys = read_keys({"keys": [entry, publish(ED)["keys"][0]]})
    assert [one.kid for one in keys.keys] == ["ed"]
    assert "key 0 of the issuer is left out" in caplog.text
    assert why in caplog.text
    assert str(entry.get("d", "no d")) not in caplog.text


def test_a_key_for_everything_is_found_for_what_it_fits() -> None:
    keys = read_keys(publish(RSA, P256, ED))
    for algorithm, kid in (("RS256", "rsa"), ("PS512", "rsa"), ("ES256", "p256"), ("EdDSA", "ed")):
        found = keys.find(kid, algorithm)
        assert found is not None
        assert found.kid == kid
        assert keys.find(None, algorithm) is found
        assert keys.find("other", algorithm) is None
    assert keys.find("p256", "ES384") is None
    assert keys.find("rsa", "HS256") is None


@pytest.mark.parametrize("name", ["EdDSA", "Ed25519"])
def test_the_two_names_of_one_algorithm_are_one(name: str) -> None:
    keys = read_keys(publish(ED, alg=name))
    assert keys.find("ed", "EdDSA") is not None
    assert keys.find("ed", "Ed25519") is not None


def test_two_keys_of_one_name_are_told_apart_by_their_kind() -> None:
    rsa, ec = make_key("RSA", 2048, "same"), make_key("EC", "P-256", "same")
    keys = read_keys(publish(rsa, ec))
    assert keys.find("same", "RS256").key_type == "RSA"
    assert keys.find("same", "ES256").key_type == "EC"


@pytest.mark.parametrize(
    ("issuer", "urls"),
    [
        (
            "https://a.example",
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration",
            ],
        ),
        (
            "https://a.example/",
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration",
            ],
        ),
        (
            "https://a.example/tenant/1",
            [
                "https://a.example/.well-known/oauth-authorization-server/tenant/1",
                "https://a.example/.well-known/openid-configuration/tenant/1",
                "https://a.example/tenant/1/.well-known/openid-configuration",
            ],
        ),
    ],
)
def test_metadata_is_looked_for_where_it_may_be(issuer: str, urls: list[str]) -> None:
    assert list_metadata_urls(issuer) == urls
