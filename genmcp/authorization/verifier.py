"""Who tells whether an access token is good.

Layer: contract. Applications implement `TokenVerifier`, or use the one in
`genmcp.authorization.jwt`; `genmcp.transport.authorize` asks it.

Spec: basic/authorization/index#token-handling
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genmcp.access import Access


class TokenVerifier(ABC):
    """Tells what an access token allows, if it is good.

    One instance serves all requests of an endpoint, at the same time. It is asked once
    for every HTTP request, since the protocol has no sessions, before the request's body
    is read; so it decides how fast strangers are turned away. What takes long (asking
    the issuer of an opaque token, say) is best kept for a moment, under a hash of the
    token and no longer than the token lives.

    It need not compare audience, expiry and scopes: `Authorization` does, whatever the
    verifier did. But only the verifier can tell a real token from a forged one, and
    whose it is.
    """

    @abstractmethod
    async def verify(self, token: str) -> Access:
        """Return what `token` allows.

        Runs on the event loop and must not block: a signature may be checked here
        (a tenth of a millisecond), a database must be awaited.

        The token is a secret, and good for whoever has it until it expires. It does not
        belong in logs, error messages, or requests to other services: those have not
        been asked whether they take it, and would act in the user's name with it.

        Args:
            token: what the request carries, 1 to 16,384 characters of
                `A-Z a-z 0-9 - . _ ~ + /`, then any number of `=`. Nothing else about it
                is known.

        Raises:
            InvalidToken: it is forged, expired, revoked, or not for here. Wire form:
                401 with `error="invalid_token"`.
            VerifierUnavailable: that cannot be found out right now. Wire form: 503 with
                `Retry-After`.

        Any other exception, and anything but an `Access` returned, is a fault of the
        server: 500 and -32603 with an error id, under which it is logged, the token
        taken out wherever it stands.

        Cancellation: when the client leaves, and after the endpoint's
        `body_timeout_seconds`, which is answered 503. What others wait for too must not
        be cancelled with this call.
        """


class InvalidToken(Exception):
    """The access token is not good here.

    Args:
        reason: a sentence for the client, such as `"The token has expired"`. Never a
            part of the token. What RFC 6750 does not allow in a header is replaced.

    Wire form: -32600, HTTP 401 with
    `WWW-Authenticate: Bearer error="invalid_token", error_description="..."`.

    Spec: basic/authorization/index#error-handling
    """

    def __init__(self, reason: str = "The access token is not valid") -> None:
        super().__init__(reason)
        self.reason = reason


class VerifierUnavailable(Exception):
    """Whether the token is good cannot be found out right now: the issuer is away.

    Args:
        reason: what failed, for the log only, which has it in the warning of each
            request that is refused for it.
        retry_after_seconds: when it makes sense to try again; rounded up.

    Wire form: -32603, HTTP 503 with `Retry-After`. Not 401, which would send the client,
    and perhaps a person, to log in again for nothing.
    """

    def __init__(self, reason: str, *, retry_after_seconds: float = 1.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_seconds = max(1, math.ceil(retry_after_seconds))
