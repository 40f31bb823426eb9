"""JWTs: which are taken, and every way not to be."""

from __future__ import annotations

import json
import time
import warnings
from typing import Any

import pytest
from joserfc.jwk import Key

from genmcp import InvalidToken
from genmcp.authorization.jwt import JwtVerifier
from tests.authorization.tokens import (
    ED,
    ISSUER,
    KEYS,
    P256,
    P384,
    P521,
    RESOURCE,
    RSA,
    encode,
    forge,
    make_claims,
    make_key,
    publish,
    sign,
    sign_raw,
    sign_with_secret,
)


def make(**settings: Any) -> JwtVerifier:
    if "keys" not in settings and "jwks_url" not in settings:
        settings["keys"] = publish(*KEYS)
    return JwtVerifier(**{"issuer": ISSUER, **settings})


async def refused(token: str, verifier: JwtVerifier | None = None) -> str:
    with pytest.raises(InvalidToken) as error:
        await (make() if verifier is None else verifier).verify(token)
    for part in token.split("."):
        assert len(part) < 9 or part not in error.value.reason
    return error.value.reason


# -- taken ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "alg"),
    [
        (RSA, "RS256"),
        (RSA, "RS512"),
        (RSA, "PS256"),
        (P256, "ES256"),
        (P384, "ES384"),
        (P521, "ES512"),
        (ED, "EdDSA"),
        (ED, "Ed25519"),
    ],
)
async def test_every_algorithm_that_is_taken_works(key: Key, alg: str) -> None:
    with warnings.catch_warnings():
        # Signing warns of the name EdDSA; verifying must not.
        warnings.simplefilter("ignore")
        token = sign(key=key, alg=alg)
    access = await make().verify(token)
    assert access.subject == "ada"
    assert access.audiences == {RESOURCE}
    assert access.issuer == ISSUER


async def test_what_a_token_says_is_handed_on() -> None:
    claims = make_claims(
        aud=["https://other.example.com", RESOURCE],
        scope="files:read  files:write",
        client_id="editor",
        tenant={"id": 7},
    )
    access = await make().verify(sign(claims))
    assert access.audiences == {"https://other.example.com", RESOURCE}
    assert access.scopes == {"files:read", "files:write"}
    assert access.client_id == "editor"
    assert access.expires_at == claims["exp"]
    assert access.claims["tenant"] == {"id": 7}
    assert "tenant" not in repr(access)


@pytest.mark.parametrize(
    ("claims", "scopes"),
    [
        ({"scope": "a b"}, {"a", "b"}),
        ({"scope": ""}, set()),
        ({}, set()),
        ({"scp": ["a", "b"]}, {"a", "b"}),
        ({"scp": "a b"}, {"a", "b"}),
        ({"scope": ["a"]}, {"a"}),
        ({"scope": "a", "scp": ["b"]}, {"a"}),
    ],
)
async def test_scopes_are_read_from_where_issuers_put_them(claims: Any, scopes: Any) -> None:
    assert (await make().verify(sign(make_claims(**claims)))).scopes == scopes


@pytest.mark.parametrize(
    ("claims", "subject", "client_id"),
    [
        ({}, "ada", None),
        ({"azp": "web"}, "ada", "web"),
        ({"client_id": "a", "azp": "b"}, "ada", "a"),
        ({"sub": None, "client_id": "robot"}, "robot", "robot"),
    ],
)
async def test_the_subject_is_the_user_or_else_the_client(
    claims: Any, subject: str, client_id: str | None
) -> None:
    access = await make().verify(sign(make_claims(**claims)))
    assert (access.subject, access.client_id) == (subject, client_id)


@pytest.mark.parametrize("kind", ["at+jwt", "AT+JWT", "application/at+jwt", "JWT", "jwt", None])
async def test_types_of_access_tokens_are_taken(kind: str | None) -> None:
    assert await make().verify(sign(header={"typ": kind}))


async def test_headers_that_are_not_known_are_ignored() -> None:
    token = sign(header={"x5t": "abc", "jku": "https://evil.example/jwks", "more": [1]})
    assert await make().verify(token)


async def test_a_token_that_names_no_key_is_taken_where_one_fits() -> None:
    nameless = sign(key=P384, alg="ES384", header={"kid": None})
    assert await make().verify(nameless)
    two = make(keys=publish(P384, make_key("EC", "P-384", "other")))
    assert "key" in await refused(nameless, two)


async def test_clocks_may_differ_a_little() -> None:
    now = int(time.time())
    verifier = make(leeway_seconds=30)
    assert await verifier.verify(sign(make_claims(exp=now - 20)))
    assert await verifier.verify(sign(make_claims(nbf=now + 20, iat=now + 20)))
    assert "expired" in await refused(sign(make_claims(exp=now - 40)), verifier)
    assert "not valid yet" in await refused(sign(make_claims(nbf=now + 40)), verifier)


# -- refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"iss": None}, "lacks the claims: iss"),
        ({"exp": None}, "lacks the claims: exp"),
        ({"aud": None}, "lacks the claims: aud"),
        ({"iss": "https://auth.example.com/"}, "of another issuer"),
        ({"iss": "https://evil.example"}, "of another issuer"),
        ({"iss": [ISSUER]}, "of another issuer"),
        ({"exp": 1}, "has expired"),
        ({"exp": "9999999999"}, "wrong exp"),
        ({"exp": True}, "wrong exp"),
        ({"nbf": 9_999_999_999}, "not valid yet (nbf)"),
        ({"iat": 9_999_999_999}, "not valid yet (iat)"),
        ({"aud": ""}, "wrong aud"),
        ({"aud": []}, "wrong aud"),
        ({"aud": [7]}, "wrong aud"),
        ({"aud": {"a": 1}}, "wrong aud"),
        ({"sub": 7}, "wrong sub"),
        ({"sub": ""}, "wrong sub"),
        ({"sub": None}, "does not say whose it is"),
        ({"client_id": 7}, "wrong client_id"),
        ({"scope": 7}, "wrong scope"),
        ({"scp": [7]}, "wrong scp"),
        ({"scp": {"a": 1}}, "wrong scp"),
    ],
)
async def test_claims_that_are_not_right(claims: Any, words: str) -> None:
    reason = await refused(sign(make_claims(**claims)))
    assert words in reason


async def test_no_signature_is_no_signature() -> None:
    for alg in ("none", "None", "NONE", "nOnE"):
        assert "algorithm" in await refused(forge({"alg": alg}, make_claims()))
    stripped = sign().rpartition(".")[0] + "."
    assert "signature" in await refused(stripped)


@pytest.mark.parametrize("form", ["PEM", "DER", "JSON"])
async def test_a_public_key_is_no_shared_secret(form: Any) -> None:
    public = json.dumps(RSA.as_dict(private=False)).encode()
    if form != "JSON":
        public = RSA.as_bytes(form, private=False)
    assert "algorithm" in await refused(sign_with_secret(public, "rsa"))


async def test_an_algorithm_that_was_not_chosen_is_refused() -> None:
    verifier = make(algorithms=["ES256"])
    assert await verifier.verify(sign())
    assert "algorithm" in await refused(sign(key=RSA, alg="RS256"), verifier)


async def test_a_key_is_for_its_own_algorithm_only() -> None:
    # The token says ES256, and names a key of another curve, or another kind.
    for kid in ("p384", "rsa", "ed"):
        assert "key" in await refused(sign(header={"kid": kid}))
    bound = make(keys=publish(RSA, alg="RS256"))
    assert await bound.verify(sign(key=RSA, alg="RS256"))
    assert "key" in await refused(sign(key=RSA, alg="RS512"), bound)


async def test_a_token_signed_by_somebody_else_is_refused() -> None:
    stranger = make_key("EC", "P-256", "p256")
    assert "signature" in await refused(sign(key=stranger))
    # Who brings the key along is still a stranger.
    public = stranger.as_dict(private=False)
    assert "signature" in await refused(sign(key=stranger, header={"jwk": public}))
    assert "key" in await refused(sign(key=stranger, header={"jwk": public, "kid": "new"}))


async def test_changed_claims_are_refused() -> None:
    header, _, signature = sign(make_claims(scope="read")).split(".")
    changed = encode(json.dumps(make_claims(scope="admin")).encode())
    assert "signature" in await refused(f"{header}.{changed}.{signature}")


@pytest.mark.parametrize(
    "header",
    [
        {"crit": ["exp"], "exp": 1},
        {"crit": ["x"], "x": 1},
        {"crit": []},
        {"crit": "x"},
        {"b64": False, "crit": ["b64"]},
        {"b64": True},
    ],
)
async def test_what_must_be_understood_and_is_not_is_refused(header: Any) -> None:
    assert await make().verify(sign_raw({}, make_claims()))
    assert "extension" in await refused(sign_raw(header, make_claims()))


@pytest.mark.parametrize("kind", ["id+jwt", "logout+jwt", "dpop+jwt", "", 7])
async def test_other_kinds_of_tokens_are_refused(kind: Any) -> None:
    assert "type" in await refused(sign_raw({"typ": kind}, make_claims()))


async def test_access_tokens_may_have_to_say_that_they_are() -> None:
    strict = make(require_access_token_type=True)
    assert await strict.verify(sign())
    assert "at+jwt" in await refused(sign(header={"typ": None}), strict)
    assert "type" in await refused(sign(header={"typ": "JWT"}), strict)


@pytest.mark.parametrize(
    "token",
    [
        "x",
        ".",
        "..",
        "...",
        "a.b.c",
        "a.b.c.d.e",
        forge([], {}),
        forge("alg", {}),
        forge(["alg"], {}),
        forge({}, {}),
        forge({"alg": 7}, {}),
        forge({"alg": ["ES256"]}, {}),
        forge({"alg": {"a": 1}}, {}),
        forge({"alg": "ES256", "kid": 7}, {}),
        forge({"alg": "ES256", "kid": ["p256"]}, {}),
        forge({"alg": "ES256", "kid": "x" * 2000}, {}),
        forge({"alg": "ES256", "kid": "p256"}, {}, b"x" * 64),
        forge({"alg": "ES256", "kid": "p256"}, {}, b"x"),
        forge({"alg": "RS256", "kid": "rsa"}, {}, b"x"),
        forge({"alg": "Ed25519", "kid": "ed"}, {}, b"x"),
        encode(b"[" * 3000) + "." + encode(b"{}") + ".",
        encode(b'{"alg":"ES256","x":' + b"[" * 2900) + "..",
        encode(b"\xff\xfe") + "..",
        "~~~." + encode(b"{}") + ".",
        "x" * 16_000,
        "." * 16_000,
    ],
)
async def test_what_is_no_jwt_is_refused_and_nothing_else_happens(token: str) -> None:
    assert await refused(token)


@pytest.mark.parametrize("payload", [b"", b"[]", b'"x"', b"{", b"[" * 200, b'{"a":1,"a":2}'])
async def test_a_signed_payload_that_is_no_object_is_refused(payload: bytes) -> None:
    from joserfc import jws  # noqa: PLC0415 - what the verifier uses is not for other tests

    token = jws.serialize_compact({"alg": "ES256", "kid": "p256"}, payload, P256)
    assert "well-formed" in await refused(token)


# -- settings ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"issuer": "auth.example.com"}, "issuer must be a URL"),
        ({"issuer": "http://auth.example.com"}, "issuer must begin with https"),
        ({"jwks_url": "http://auth.example.com/jwks"}, "jwks_url must begin with https"),
        ({"jwks_url": "https://auth.example.com/jwks", "keys": {"keys": []}}, "two sources"),
        ({"keys": {"keys": []}}, "keys: none of its keys"),
        ({"keys": {}}, "keys: it is no JSON Web Key Set"),
        ({"algorithms": []}, "got none at all"),
        ({"algorithms": ["HS256"]}, "got HS256"),
        ({"algorithms": ["ES256", "none"]}, "got none"),
        ({"algorithms": ["ES256K"]}, "got ES256K"),
        ({"algorithms": "ES256"}, "must be a list"),
        ({"leeway_seconds": 61}, "from 0 to 60"),
        ({"leeway_seconds": -1}, "from 0 to 60"),
        ({"leeway_seconds": 1.5}, "from 0 to 60"),
        ({"min_refresh_seconds": 0}, "min_refresh_seconds must be positive"),
        ({"timeout_seconds": float("inf")}, "timeout_seconds must be positive"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words) as error:
        make(**settings)
    assert str(error.value).startswith("JwtVerifier: ")
