"""Access tokens that are JWTs, signed by their issuer.

Layer: contract, I/O. Needs the extra `auth`: `pip install genmcp[auth]`. Most
authorization servers issue such tokens; for opaque ones write a `TokenVerifier` that asks
the issuer, or a database.

The token chooses the algorithm and the key, and both are its author's word. So algorithms
are a closed list of those whose keys can be public, and keys come from the issuer's
document alone, never from the token (`jwk`, `jku`, `x5u`).

Spec: basic/authorization/index#token-handling; RFC 7519, RFC 8725, RFC 9068
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final, cast

try:
    import httpx2  # noqa: F401  # pyright: ignore[reportUnusedImport] - for jwks, below
    from joserfc import jws
    from joserfc.errors import JoseError
except ImportError as error:
    raise ImportError(
        "genmcp.authorization.jwt needs packages that are not installed: pip install genmcp[auth]"
    ) from error

from genmcp.authorization.claims import check_claims, read_access
from genmcp.authorization.identifiers import check_url
from genmcp.authorization.jwks import JwkSet
from genmcp.authorization.keys import FITTING, IssuerKeys, read_keys
from genmcp.authorization.verifier import InvalidToken, TokenVerifier
from genmcp.errors import ParseError, show
from genmcp.wire.json_text import read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from joserfc.jwa import JWSAlgModel
    from joserfc.jwk import Key
    from joserfc.jws import CompactSignature

    from genmcp.access import Access

DEFAULT_ALGORITHMS: Final = tuple(FITTING)
MAX_LEEWAY_SECONDS: Final = 60

_ACCESS_TOKEN_TYPES: Final = frozenset({"at+jwt", "application/at+jwt"})
_TYPES: Final = _ACCESS_TOKEN_TYPES | {"jwt", "application/jwt"}
_MAX_KID_CHARACTERS: Final = 1000
_MALFORMED: Final = "The access token is not a well-formed JWT"


class JwtVerifier(TokenVerifier):
    """Takes JWTs that one issuer has signed.

        JwtVerifier(issuer="https://auth.example.com")

    The signature must be by a key of the issuer, `iss` must be the issuer, `exp` and `aud`
    must be there, and `exp`, `nbf` and `iat` must allow now. Which audience is the right
    one, `Authorization` checks. The subject is `sub`, or else the client the token was
    issued to; scopes are read from `scope` or `scp`.

    Keys are fetched when they are first needed, kept as long as their server says (one
    minute to one hour), and fetched anew, at most once in `min_refresh_seconds`, when a
    token names one that is not there.

    Args:
        issuer: the issuer's URL, exactly as its tokens have it in `iss`.
        jwks_url: where its keys are, an `https` URL. Default: what the issuer's own
            metadata says.
        keys: its keys themselves, a JSON Web Key Set as a mapping, instead.
        algorithms: which ones are taken, of RS, PS and ES with 256, 384 and 512, and
            Ed25519, also under its older name EdDSA. Default: all of them. There is no
            `none`, and no HS: who can check such a signature can make one.
        leeway_seconds: how far the issuer's clock may differ, at most 60.
        require_access_token_type: whether tokens must say that they are access tokens
            (`typ: at+jwt`, RFC 9068). Without it, `JWT` and nothing are taken too.
        min_refresh_seconds: how long between two fetches of keys, at least.
        timeout_seconds: how long one may take, at most.
        clock: returns the time in seconds since 1970.

    Raises:
        TypeError, ValueError: naming the argument.
        ImportError: from the module: the extra `auth` is not installed.

    Spec: basic/authorization/index#token-handling
    """

    def __init__(
        self,
        *,
        issuer: str,
        jwks_url: str | None = None,
        keys: Mapping[str, Any] | None = None,
        algorithms: Iterable[str] = DEFAULT_ALGORITHMS,
        leeway_seconds: int = 30,
        require_access_token_type: bool = False,
        min_refresh_seconds: float = 10.0,
        timeout_seconds: float = 5.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_url("JwtVerifier: issuer", issuer, query=False)
        if jwks_url is not None and keys is not None:
            raise ValueError("JwtVerifier: jwks_url and keys are two sources; give one")
        if jwks_url is not None:
            check_url("JwtVerifier: jwks_url", jwks_url)
        for name, value in (
            ("min_refresh_seconds", min_refresh_seconds),
            ("timeout_seconds", timeout_seconds),
        ):
            if not 0 < value < math.inf:
                raise ValueError(f"JwtVerifier: {name} must be positive, got {value!r}")
        self._algorithms = _read_algorithms(algorithms)
        self._registry = _Registry(algorithms=self._algorithms, strict_check_header=False)
        self._issuer = issuer
        self._leeway_seconds = _read_leeway(leeway_seconds)
        self._types = _ACCESS_TOKEN_TYPES if require_access_token_type else _TYPES
        self._type_needed = require_access_token_type
        self._clock = clock
        self._keys = None if keys is None else _read_given(keys)
        self._jwks = JwkSet(
            issuer,
            jwks_url,
            min_refresh_seconds=min_refresh_seconds,
            timeout_seconds=timeout_seconds,
        )

    async def verify(self, token: str) -> Access:
        """See `TokenVerifier.verify`."""
        signed = self._read(token)
        key = await self._find_key(signed)
        self._check_signature(signed, key)
        claims = _read_claims(signed)
        check_claims(
            claims, self._issuer, now=int(self._clock()), leeway_seconds=self._leeway_seconds
        )
        return read_access(claims)

    # -- the signature -----------------------------------------------------------

    def _read(self, token: str) -> CompactSignature:
        """Take a token apart; nothing in it is known to be true."""
        try:
            signed = jws.extract_compact(token.encode("ascii"), registry=self._registry)
            header = cast("object", signed.headers())
        except (JoseError, ValueError, TypeError, RecursionError):
            raise InvalidToken(_MALFORMED) from None
        if not isinstance(header, dict):
            raise InvalidToken(_MALFORMED)
        self._check_header(cast("dict[str, Any]", header))
        return signed

    def _check_header(self, header: Mapping[str, Any]) -> None:
        algorithm, kid, kind = (header.get(name) for name in ("alg", "kid", "typ"))
        if not isinstance(algorithm, str) or algorithm not in self._algorithms:
            raise InvalidToken("The access token is signed with an algorithm not taken here")
        # Extensions that must be understood: there is none that is.
        if "crit" in header or "b64" in header:
            raise InvalidToken("The access token needs an extension that is not known here")
        if kid is not None and (not isinstance(kid, str) or len(kid) > _MAX_KID_CHARACTERS):
            raise InvalidToken(_MALFORMED)
        if kind is None:
            if self._type_needed:
                raise InvalidToken("The token does not say that it is an access token (at+jwt)")
        elif not isinstance(kind, str) or kind.lower() not in self._types:
            raise InvalidToken("The token is of a type that is not taken here")

    async def _find_key(self, signed: CompactSignature) -> Key:
        header = signed.headers()
        kid, algorithm = header.get("kid"), header["alg"]
        if self._keys is None:
            return await self._jwks.find(kid, algorithm)
        key = self._keys.find(kid, algorithm)
        if key is None:
            raise InvalidToken("The access token is signed with a key that is not known here")
        return key

    def _check_signature(self, signed: CompactSignature, key: Key) -> None:
        try:
            genuine = jws.validate_compact(signed, key, registry=self._registry)
        except (JoseError, ValueError, TypeError):
            genuine = False
        if not genuine:
            raise InvalidToken("The signature of the access token is wrong")


class _Registry(jws.JWSRegistry):
    """The algorithms of one verifier, and room for what issuers put into headers."""

    max_header_length = 4096

    def get_alg(self, name: str) -> JWSAlgModel:
        # Not the base's: it warns of the name EdDSA, once for every token.
        return self.algorithms[name]


def _read_algorithms(given: Iterable[str]) -> frozenset[str]:
    if isinstance(given, str):
        raise TypeError(f"JwtVerifier: algorithms must be a list, got {given!r}")
    algorithms = frozenset(given)
    unknown = sorted(str(name) for name in algorithms - FITTING.keys())
    if unknown or not algorithms:
        raise ValueError(
            f"JwtVerifier: algorithms must be some of {', '.join(FITTING)}; "
            f"got {', '.join(unknown) or 'none at all'}. Signatures that need a shared "
            "secret, or none, prove nothing here"
        )
    return algorithms


def _read_leeway(given: object) -> int:
    if type(given) is not int or not 0 <= given <= MAX_LEEWAY_SECONDS:
        raise ValueError(
            f"JwtVerifier: leeway_seconds must be a whole number from 0 to "
            f"{MAX_LEEWAY_SECONDS}, got {show(given)}"
        )
    return given


def _read_given(keys: Mapping[str, Any]) -> IssuerKeys:
    try:
        return read_keys(keys)
    except ValueError as error:
        raise ValueError(f"JwtVerifier: keys: {error}") from None


def _read_claims(signed: CompactSignature) -> dict[str, Any]:
    try:
        claims: object = read_json(signed.payload)
    except ParseError:
        raise InvalidToken(_MALFORMED) from None
    if not isinstance(claims, dict):
        raise InvalidToken(_MALFORMED)
    return cast("dict[str, Any]", claims)
