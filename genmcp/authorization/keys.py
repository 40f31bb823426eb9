"""An issuer's keys: a JSON Web Key Set, read with suspicion.

Layer: contract, pure. Needs the extra `auth`. `genmcp.authorization.jwks` fetches the
document; `genmcp.authorization.jwt` asks for the key that a token says it was signed with.

The algorithm of a signature is chosen by whoever wrote the token. So which keys an
algorithm may be used with is told here: a public key is never taken for the secret of an
HMAC, nor a curve for another.

Spec: basic/authorization/index#token-handling; RFC 7517, RFC 7518
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import attrs
from joserfc.jwk import RSAKey, import_key

from genmcp.value import Value

if TYPE_CHECKING:
    from joserfc.jwk import Key

_log = logging.getLogger("genmcp.authorization")

MAX_KEYS: Final = 100
"""How many keys of a document are looked at."""

_MAX_REASONS: Final = 3

MIN_RSA_BITS: Final = 2048
MAX_RSA_BITS: Final = 16_384

_ED25519: Final = "OKP", frozenset({"Ed25519"})
_RSA: Final = "RSA", frozenset[str]()

FITTING: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "RS256": _RSA,
    "RS384": _RSA,
    "RS512": _RSA,
    "PS256": _RSA,
    "PS384": _RSA,
    "PS512": _RSA,
    "ES256": ("EC", frozenset({"P-256"})),
    "ES384": ("EC", frozenset({"P-384"})),
    "ES512": ("EC", frozenset({"P-521"})),
    "Ed25519": _ED25519,
    # What issuers still call it; RFC 9864 has deprecated the name, not the signature.
    "EdDSA": _ED25519,
}
"""The algorithms there are, and the type and the curves of the keys for each."""


@attrs.frozen(eq=False, repr=False)
class SigningKey(Value):
    """A public key that signatures may be checked with.

    Attributes:
        key: the key.
        kid: its name, if it has one.
        algorithms: those it may be used with.
    """

    key: Key
    kid: str | None
    algorithms: frozenset[str]


@attrs.frozen(eq=False, repr=False)
class IssuerKeys(Value):
    """The keys of one issuer that are fit for signatures."""

    keys: Sequence[SigningKey]

    def find(self, kid: str | None, algorithm: str) -> Key | None:
        """Return the key for a token's `kid` and `alg`, or `None`.

        A token that names no key is taken where there is exactly one it can mean; trying
        several would let each token cost as much as there are keys.
        """
        fitting = [
            one.key
            for one in self.keys
            if algorithm in one.algorithms and (kid is None or one.kid == kid)
        ]
        return None if kid is None and len(fitting) > 1 else next(iter(fitting), None)


def read_keys(document: object) -> IssuerKeys:
    """Read a JSON Web Key Set.

    A key that is not understood, not for signatures, or must not be trusted is left out,
    and the log says why: a new kind of key must not take the others with it.

    Raises:
        ValueError: it is no such document, or has no key to check signatures with.
    """
    listed: object = cast("Mapping[str, Any]", document).get("keys") if _is_map(document) else None
    if not isinstance(listed, list):
        raise ValueError('it is no JSON Web Key Set: an object with a list "keys"')  # noqa: TRY004
    entries = cast("list[object]", listed)
    if len(entries) > MAX_KEYS:
        raise ValueError(f"it has {len(entries)} keys; at most {MAX_KEYS} are read")
    keys: list[SigningKey] = []
    left_out: list[str] = []
    for index, entry in enumerate(entries):
        try:
            keys.append(_read_key(entry))
        except Exception as error:  # noqa: BLE001 - whatever a parser makes of what is sent
            why = _describe(error)
            _log.warning("key %d of the issuer is left out: %s", index, why)
            left_out.append(f"key {index}: {why}")
    if not keys:
        reasons = "".join(f"; {reason}" for reason in left_out[:_MAX_REASONS])
        raise ValueError(f"none of its keys can be used to check signatures{reasons}")
    return IssuerKeys(keys)


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping)


def _read_key(entry: object) -> SigningKey:
    if not isinstance(entry, dict):
        raise TypeError("it is no object")
    parameters = cast("dict[str, Any]", entry)
    if parameters.get("kty") == "oct":
        raise ValueError("it is a secret, where a public key belongs: whoever has it can sign")
    if parameters.get("use", "sig") != "sig" or "verify" not in parameters.get(
        "key_ops", ["verify"]
    ):
        raise ValueError("it is not for signatures")
    kid = parameters.get("kid")
    if kid is not None and not isinstance(kid, str):
        raise TypeError("its kid is no string")
    algorithms = _find_algorithms(parameters)
    if not algorithms:
        raise ValueError("there is no algorithm here for its type, curve or alg")
    _check_modulus(parameters)
    key = import_key(parameters)
    if key.is_private:
        raise ValueError("it is a private key, where a public one belongs: whoever has it can sign")
    return SigningKey(key, kid, algorithms)


def _find_algorithms(parameters: Mapping[str, Any]) -> frozenset[str]:
    kind, curve, only = (parameters.get(name) for name in ("kty", "crv", "alg"))
    fitting = frozenset(
        name for name, (kty, curves) in FITTING.items() if kty == kind and _has(curves, curve)
    )
    if only is None:
        return fitting
    # Two names of one algorithm: a token may have the one, and the key the other.
    names = {"Ed25519", "EdDSA"} if only in ("Ed25519", "EdDSA") else {only}
    return fitting & names


def _has(curves: frozenset[str], curve: object) -> bool:
    return not curves or (isinstance(curve, str) and curve in curves)


def _check_modulus(parameters: Mapping[str, Any]) -> None:
    """Refuse RSA keys that are too short to be safe, or so long that checking takes long."""
    if parameters.get("kty") != RSAKey.key_type:
        return
    modulus = parameters.get("n")
    bits = len(modulus) * 6 if isinstance(modulus, str) else 0
    if not MIN_RSA_BITS <= bits <= MAX_RSA_BITS + 6:
        raise ValueError(
            f"it has about {bits} bits; RSA keys have {MIN_RSA_BITS} to {MAX_RSA_BITS}"
        )


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
