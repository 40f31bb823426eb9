"""An issuer for tests: keys, and tokens of every kind, signed or not."""

from __future__ import annotations

import base64
import hmac
import json
import time
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from joserfc import jwt
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from genmcp.authorization.jwt import DEFAULT_ALGORITHMS

ISSUER = "https://auth.example.com"
RESOURCE = "https://mcp.example.com/mcp"


def make_key(kind: str, size: Any, kid: str | None) -> Key:
    parameters: Any = {} if kid is None else {"kid": kid}
    match kind:
        case "RSA":
            return RSAKey.generate_key(size, parameters)
        case "EC":
            return ECKey.generate_key(size, parameters)
        case _:
            return OKPKey.generate_key(size, parameters)


RSA = make_key("RSA", 2048, "rsa")
P256 = make_key("EC", "P-256", "p256")
P384 = make_key("EC", "P-384", "p384")
P521 = make_key("EC", "P-521", "p521")
ED = make_key("OKP", "Ed25519", "ed")
KEYS = [RSA, P256, P384, P521, ED]


def publish(*keys: Key, **more: Any) -> dict[str, Any]:
    """Return the document of these keys' public halves."""
    return {"keys": [{**key.as_dict(private=False), **more} for key in keys]}


def make_claims(**claims: Any) -> dict[str, Any]:
    """Return good claims with these changes; `None` leaves one out."""
    now = int(time.time())
    good = {"iss": ISSUER, "sub": "ada", "aud": RESOURCE, "exp": now + 300, "iat": now}
    return {name: value for name, value in {**good, **claims}.items() if value is not None}


def sign(
    claims: dict[str, Any] | None = None,
    key: Key = P256,
    alg: str = "ES256",
    header: dict[str, Any] | None = None,
) -> str:
    """Return a token with these claims, signed with `key`."""
    named = {"alg": alg, "typ": "at+jwt", **({"kid": key.kid} if key.kid else {})}
    full = {name: value for name, value in {**named, **(header or {})}.items() if value is not None}
    algorithms = list(DEFAULT_ALGORITHMS)
    claims = make_claims() if claims is None else claims
    registry = JWSRegistry(algorithms=algorithms, strict_check_header=False)
    return jwt.encode(full, claims, key, registry=registry, default_type=None)


def forge(header: Any, claims: Any, signature: bytes = b"") -> str:
    """Return a token that nobody signed."""
    parts = [json.dumps(part).encode() for part in (header, claims)]
    return ".".join(encode(part) for part in [*parts, signature])


def encode(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def sign_with_secret(secret: bytes, kid: str) -> str:
    """Return a token of HS256, its secret these bytes, such as a public key's."""
    header = {"alg": "HS256", "typ": "at+jwt", "kid": kid}
    unsigned = forge(header, make_claims()).removesuffix(".")
    return f"{unsigned}.{encode(hmac.digest(secret, unsigned.encode(), 'sha256'))}"


def sign_raw(header: dict[str, Any], claims: Any) -> str:
    """Return a token with exactly this header, signed with `ED` whatever it says."""
    unsigned = forge({"alg": "Ed25519", "kid": "ed", **header}, claims).removesuffix(".")
    key = ED.private_key
    assert isinstance(key, Ed25519PrivateKey)
    return f"{unsigned}.{encode(key.sign(unsigned.encode()))}"
