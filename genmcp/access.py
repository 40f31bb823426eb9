"""What an access token allows: who it was issued to, for whom, and how far it goes.

Layer: contract, below the caller. A token verifier (`genmcp.authorization`) makes it of
a token it has found good; handlers find it at `channel.access`. What a scope looks like
is said here too, because providers name some (`required_scopes=`) as well as tokens.

Spec: basic/authorization/index#token-handling
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

import attrs

from genmcp.errors import check_scope, show
from genmcp.value import Value

OFFLINE_ACCESS: Final = "offline_access"
"""The scope that asks for a refresh token. That is between client and issuer: a resource
neither requires it nor tells of it.

Spec: basic/authorization/index#refresh-tokens
"""

CLOCK_SKEW_SECONDS: Final = 60.0
"""How far the clocks of issuer and server may differ when a token expires."""


def read_scopes(given: object) -> frozenset[str]:
    """Check what an author wrote where scopes belong.

    Raises:
        TypeError: it is not a collection of strings.
        ValueError: one of them is no scope, or is `offline_access`.
    """
    # A single string is iterable too, and would be read as a scope for each letter.
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f'must be a list of scopes, such as ["files:read"], got {show(given)}')
    scopes = list(cast("Iterable[object]", given))
    for scope in scopes:
        check_scope(scope)
        if scope == OFFLINE_ACCESS:
            raise ValueError(
                f"{OFFLINE_ACCESS} is for clients to ask their authorization server for; "
                "no request needs it, leave it out"
            )
    return frozenset(cast("list[str]", scopes))


def _freeze(names: Iterable[str]) -> frozenset[str]:
    given: Iterable[object] = [None] if isinstance(names, str) else names
    frozen = frozenset(given)
    if not all(isinstance(name, str) for name in frozen):
        raise TypeError(f"audiences and scopes are collections of strings, got {show(names)}")
    return cast("frozenset[str]", frozen)


def _check_subject(_: Any, field: attrs.Attribute[str], value: object) -> None:
    # A verifier reads it out of a token or a table, where it may be missing or a number;
    # and without one all who lack it would be one caller, and nobody in particular.
    if not isinstance(value, str):
        raise TypeError(f"Access: subject must be a str, got {show(value)}")
    if not value.strip():
        raise ValueError("Access: subject must not be blank")


def _check_time(_: Any, field: attrs.Attribute[float | None], value: object) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise TypeError(f"Access: expires_at must be seconds since 1970, got {show(value)}")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Access(Value):
    """What one verified access token allows. The token itself is not kept.

    Attributes:
        subject: who the token stands for, as a steady name; becomes
            `channel.principal`. Where tokens of several issuers are taken, a verifier
            must make subjects of two issuers differ.
        audiences: for whom it was issued (`aud`), as the issuer wrote them.
        scopes: what it allows, those included that a broader one implies.
        client_id: the client it was issued to, if the issuer says.
        issuer: who issued it.
        expires_at: when it ends, in seconds since 1970, or `None` if it does not say.
        claims: everything it says, for the application. Not for logs.

    Raises:
        TypeError, ValueError: naming the attribute.
    """

    subject: str = attrs.field(validator=_check_subject)
    audiences: frozenset[str] = attrs.field(converter=_freeze)
    scopes: frozenset[str] = attrs.field(default=frozenset[str](), converter=_freeze)
    client_id: str | None = None
    issuer: str | None = None
    expires_at: float | None = attrs.field(default=None, validator=_check_time)
    claims: dict[str, Any] = attrs.field(factory=dict[str, Any], repr=False)

    def find_seconds_left(self, now: float) -> float | None:
        """Return how long it is still good, at `now` in seconds since 1970; `None`: always.

        A minute more than it says, since clocks differ; zero or less when it is over.
        """
        return None if self.expires_at is None else self.expires_at + CLOCK_SKEW_SECONDS - now
