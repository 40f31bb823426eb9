"""What an access token allows: who it was issued to, for whom, and how far it goes.

Layer: contract, below the caller. A token verifier makes it of a token it has found
good; handlers find it at `channel.access`.

Spec: basic/authorization/index#token-handling
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable


def _freeze(names: Iterable[str]) -> frozenset[str]:
    if isinstance(names, str):
        raise TypeError(f"audiences and scopes are collections of strings, got {names!r}")
    return frozenset(names)


@attrs.frozen(kw_only=True)
class Access:
    """What one verified access token allows. The token itself is not kept.

    Attributes:
        subject: who the token stands for, as a steady name; becomes
            `channel.principal`.
        audiences: for whom it was issued (`aud`), as the issuer wrote them.
        scopes: what it allows, those included that a broader one implies.
        client_id: the client it was issued to, if the issuer says.
        issuer: who issued it.
        expires_at: when it ends, in seconds since 1970, or `None` if it does not say.
        claims: everything it says, for the application. Not for logs.
    """

    subject: str
    audiences: frozenset[str] = attrs.field(converter=_freeze)
    scopes: frozenset[str] = attrs.field(default=frozenset[str](), converter=_freeze)
    client_id: str | None = None
    issuer: str | None = None
    expires_at: float | None = None
    claims: dict[str, Any] = attrs.field(factory=dict[str, Any], repr=False)
