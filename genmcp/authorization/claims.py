"""What a JWT says, once its signature is known to be good: checked, and read.

Layer: contract, pure. Needs the extra `auth`; `genmcp.authorization.jwt` asks.

Spec: basic/authorization/index#token-handling; RFC 7519, section 4; RFC 9068, section 2.2
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from joserfc.errors import ClaimError, ExpiredTokenError, MissingClaimError
from joserfc.jwt import JWTClaimsRegistry

from genmcp.access import Access
from genmcp.authorization.verifier import InvalidToken

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_claims(claims: dict[str, Any], issuer: str, *, now: int, leeway_seconds: int) -> None:
    """Refuse claims that are not of `issuer`, for nobody, or not for now.

    Raises:
        InvalidToken: saying which claim, and nothing of what is in it.
    """
    registry = JWTClaimsRegistry(
        now=now,
        leeway=leeway_seconds,
        iss={"essential": True, "value": issuer},
        exp={"essential": True},
        aud={"essential": True},
    )
    try:
        registry.validate(claims)
    except ExpiredTokenError:
        raise InvalidToken("The access token has expired") from None
    except MissingClaimError as error:
        raise InvalidToken(f"The access token lacks the claims: {error.claim}") from None
    except ClaimError as error:
        raise InvalidToken(_explain(error.claim)) from None


def read_access(claims: dict[str, Any]) -> Access:
    """Return what checked claims allow.

    Raises:
        InvalidToken: they do not say whose the token is, or not in a way that is known.
    """
    client_id = _read_name(claims, "client_id") or _read_name(claims, "azp")
    subject = _read_name(claims, "sub") or client_id
    if subject is None:
        raise InvalidToken("The access token does not say whose it is (sub, client_id)")
    audience: str | list[str] = claims["aud"]
    return Access(
        subject=subject,
        audiences=[audience] if isinstance(audience, str) else audience,
        scopes=_read_scopes(claims),
        client_id=client_id,
        issuer=claims["iss"],
        expires_at=float(claims["exp"]),
        claims=claims,
    )


def _read_name(claims: Mapping[str, Any], name: str) -> str | None:
    value = claims.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise InvalidToken(f"The access token has a wrong {name}")
    return value


def _read_scopes(claims: Mapping[str, Any]) -> list[str]:
    """Return the scopes, from `scope` (RFC 9068), or from `scp`, as some issuers have it."""
    name = "scope" if "scope" in claims else "scp"
    value: object = claims.get(name)
    if value is None:
        return []
    if isinstance(value, str):
        return value.split()
    scopes = cast("list[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(scope, str) for scope in scopes):
        raise InvalidToken(f"The access token has a wrong {name}")
    return cast("list[str]", scopes)


def _explain(claim: str) -> str:
    match claim:
        case "iss":
            return "The access token is of another issuer"
        case "nbf" | "iat":
            return f"The access token is not valid yet ({claim})"
        case _:
            # One of those that are checked: never a name out of the token.
            return f"The access token has a wrong {claim}"
