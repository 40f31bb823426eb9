"""Access tokens for tests: what one allows, and a verifier that knows a few.

Layer: testing.

    call_tool(Delete(), {"id": 7}, fake_caller(access=fake_access("files:write")))

    async with Client(suite, access=fake_access("files:read", subject="ada")) as client:
        ...

    verifier = FakeVerifier({"good": fake_access(), "old": fake_access(expires_at=0)})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from genmcp.access import Access
from genmcp.authorization import InvalidToken, TokenVerifier

if TYPE_CHECKING:
    from collections.abc import Mapping

RESOURCE: Final = "https://mcp.example.com/mcp"
"""The `public_url` that `fake_access` is for, unless it is told another one."""


def fake_access(
    *scopes: str,
    subject: str = "tester",
    audience: str = RESOURCE,
    client_id: str | None = None,
    issuer: str | None = None,
    expires_at: float | None = None,
    claims: dict[str, Any] | None = None,
) -> Access:
    """Return what an access token with these scopes allows; see `Access` for the rest."""
    return Access(
        subject=subject,
        audiences=[audience],
        scopes=scopes,
        client_id=client_id,
        issuer=issuer,
        expires_at=expires_at,
        claims={} if claims is None else claims,
    )


class FakeVerifier(TokenVerifier):
    """Knows a few access tokens, and refuses all others as a real one would.

    Args:
        tokens: what each token allows; or the exception that verifying it raises, such
            as `VerifierUnavailable`.

    Attributes:
        asked: the tokens it was asked about, in order.
    """

    def __init__(self, tokens: Mapping[str, Access | Exception]) -> None:
        self._tokens = dict(tokens)
        self.asked: list[str] = []

    async def verify(self, token: str) -> Access:
        """See `TokenVerifier.verify`."""
        self.asked.append(token)
        known = self._tokens.get(token)
        if known is None:
            raise InvalidToken
        if isinstance(known, Exception):
            raise known
        return known
