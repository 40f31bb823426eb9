"""Access tokens: taken from the header, verified, and refused as OAuth has it.

Layer: transport, shell; asked by `genmcp.transport.endpoint` when a request's head is in
order, before its body is read and before anything is set up for it. What makes a token
good is `genmcp.authorization`'s matter, what refusals say besides is in
`genmcp.transport.challenge`.

A token is looked for in the header alone. One in the URL (`?access_token=`) ends up in
logs and histories; it is not looked at, and such a request has no token.

Spec: basic/authorization/index#access-token-usage, and #error-handling; RFC 6750
"""

from __future__ import annotations

import logging
import re
import secrets
import traceback
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import attrs
import trio

from genmcp.access import Access
from genmcp.authorization import Authorization, InvalidToken, VerifierUnavailable
from genmcp.errors import (
    CallbackReturnError,
    InsufficientScope,
    InternalError,
    InvalidRequest,
    find_sole_leaf,
    show,
)
from genmcp.mux.failure import split_crash
from genmcp.telemetry import RefusalReason
from genmcp.transport import headers as header
from genmcp.transport.challenge import Challenges
from genmcp.transport.inbound import Refusal
from genmcp.transport.resource_metadata import ResourceMetadata
from genmcp.transport.watch import watch_over

if TYPE_CHECKING:
    from genmcp.transport.challenge import Problem
    from genmcp.transport.exchange import Exchange
    from genmcp.transport.headers import RequestHeaders
    from genmcp.transport.public_url import PublicUrl

_log = logging.getLogger("genmcp.transport")

MAX_TOKEN_BYTES: Final = 16_384
"""The longest access token looked at. Real ones are a few thousand bytes."""

_MIN_SECRET_CHARACTERS: Final = 12

_SCHEME: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TOKEN: Final = re.compile(rb"[A-Za-z0-9\-._~+/]+=*")
_FORM: Final = "Authorization: Bearer <token>"
_HOW: Final = f"send an access token as {_FORM}"


class TokenMissing(Exception):
    """No access token came with the request."""


class MalformedCredentials(Exception):
    """What came in its place is none; says why, and repeats nothing of it."""


def read_token(headers: RequestHeaders) -> str:
    """Return the access token of a request.

    Raises:
        TokenMissing: there is no `Authorization`, or one of another scheme.
        MalformedCredentials: there are two, or one that holds no token.
    """
    value = headers.get(header.AUTHORIZATION)
    if value is None:
        raise TokenMissing
    if "Authorization" in headers.repeated:
        raise MalformedCredentials("The header Authorization was sent more than once; send it once")
    scheme, _, credentials = value.partition(b" ")
    if scheme.lower() != b"bearer":
        if _SCHEME.fullmatch(scheme) is None:
            raise MalformedCredentials(f"The header Authorization names no scheme; {_HOW}")
        raise TokenMissing
    token = credentials.strip(b" ")
    if not token:
        raise MalformedCredentials(f"The header Authorization has no token after Bearer; {_HOW}")
    if len(token) > MAX_TOKEN_BYTES:
        raise MalformedCredentials(f"The access token is longer than {MAX_TOKEN_BYTES} bytes")
    if _TOKEN.fullmatch(token) is None:
        raise MalformedCredentials("The access token has characters that no token has")
    return token.decode("ascii")


class Gate:
    """Lets requests with a good access token through.

    Args:
        authorization: what makes one good.
        public_url: the endpoint's, which tokens must be issued for.
        timeout_seconds: how long it may take to find out.

    Attributes:
        metadata: the document that tells clients where to get one.
        challenges: render what refusals say of that.
    """

    def __init__(
        self, authorization: Authorization, public_url: PublicUrl, timeout_seconds: float
    ) -> None:
        self.metadata = ResourceMetadata(authorization, public_url)
        self.challenges = Challenges(self.metadata.url, authorization.required_scopes)
        self._authorization = authorization
        self._resource = public_url.url
        self._timeout_seconds = timeout_seconds

    async def admit(self, exchange: Exchange) -> Access | Refusal:
        """Return what the request's token allows, or a refusal.

        Raises:
            ClientGone: the client left first.

        Cancellation: the verifier is cancelled.
        """
        try:
            token = read_token(exchange.headers)
        except TokenMissing:
            return self._refuse(
                401, None, f"This endpoint needs an access token: send it as {_FORM}"
            )
        except MalformedCredentials as error:
            return self._refuse(400, "invalid_request", str(error))
        try:
            work = self._verify(token)
            return await watch_over(work, exchange, self._timeout_seconds)
        except InvalidToken as error:
            return self._refuse(401, "invalid_token", _hide(error.reason, token))
        except InsufficientScope as error:
            complete, headers = self.challenges.challenge(error)
            return Refusal(403, complete, headers=headers)
        except VerifierUnavailable as error:
            return _refuse_for_now(error.retry_after_seconds, _hide(error.reason, token))
        except InternalError as error:
            return Refusal(500, error)
        except trio.TooSlowError:
            return _refuse_for_now(1, f"it took over {self._timeout_seconds:g} s")

    def complete(self, refusal: Refusal) -> Refusal:
        """Add the challenge to what the application refused for want of a scope."""
        if not isinstance(refusal.error, InsufficientScope):
            return refusal
        error, headers = self.challenges.challenge(refusal.error)
        return attrs.evolve(refusal, error=error, headers=(*refusal.headers, *headers))

    async def _verify(self, token: str) -> Access:
        try:
            access = await self._ask(token)
        except BaseException as error:
            leaf = find_sole_leaf(error)
            if isinstance(leaf, InvalidToken | VerifierUnavailable):
                raise leaf from None
            crash, rest = split_crash(error)
            if crash is None:
                raise
            masked = _mask(crash, token)
            # What fails while it is given up is for the log alone.
            raise (rest or masked) from None
        return self._authorization.check(access, self._resource)

    async def _ask(self, token: str) -> Access:
        verifier = self._authorization.verifier
        access = await verifier.verify(token)
        # The author may return what the types forbid, such as None for a bad token.
        if not isinstance(access, Access):  # pyright: ignore[reportUnnecessaryIsInstance]
            # Its type alone: its repr may hold the token.
            raise CallbackReturnError(verifier, "verify", type(access), "an Access")
        return access

    def _refuse(self, status: int, error: Problem | None, message: str) -> Refusal:
        url = self.metadata.url
        required = sorted(self._authorization.required_scopes)
        data = {"resourceMetadata": url, **({"requiredScopes": required} if required else {})}
        return Refusal(
            status,
            InvalidRequest(f"{message} ({url} says where tokens come from)", data=data),
            headers=self.challenges.render(error, None if error is None else message),
        )


def make_gate(
    authorization: Authorization | None,
    public_url: PublicUrl | None,
    *,
    has_principal: bool,
    timeout_seconds: float,
) -> Gate | None:
    """Return the gate of an endpoint with these settings, `None` for one without tokens.

    Raises:
        ValueError: a setting is missing, or is one too many.
        TypeError: `authorization` is none.
    """
    if authorization is None:
        return None
    # The type says so, but a verifier alone is an easy slip.
    if not isinstance(authorization, Authorization):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"authorization must be an Authorization, got {show(authorization)}")
    if public_url is None:
        raise ValueError(
            "authorization needs public_url, the URL that clients connect to and that "
            'their access tokens are issued for: public_url="https://mcp.example.com/mcp"'
        )
    if has_principal:
        raise ValueError(
            "principal and authorization both say who is calling; leave principal out, "
            "and let the verifier give the subject it would"
        )
    return Gate(authorization, public_url, timeout_seconds)


def _refuse_for_now(retry_after_seconds: int, reason: str) -> Refusal:
    error = InternalError(
        "It cannot be found out right now whether the access token is valid; try again",
        data={"retryAfterSeconds": retry_after_seconds},
    )
    # The client is told nothing of what stands behind this server.
    error.log_message = f"an access token cannot be verified: {reason}"
    return Refusal(
        503,
        error,
        headers=((b"retry-after", b"%d" % retry_after_seconds),),
        reason=RefusalReason.IDENTITY,
    )


def _mask(error: BaseException, token: str) -> InternalError:
    """Return what the client may see of a verifier's fault; log the rest, but the token."""
    error_id = secrets.token_hex(8)
    told = _hide("".join(traceback.format_exception(error)), token)
    _log.error("verifying an access token failed, error id %s\n%s", error_id, told)
    return InternalError("Internal server error", data={"errorId": error_id})


def _hide(text: object, token: str) -> str:
    """Return what a verifier says without the token, also as it stands in a URL."""
    told = str(text)
    if len(token) < _MIN_SECRET_CHARACTERS:
        # No secret, and perhaps a word that is said anyway: the token "expired" of a test,
        # or the "e" of whoever wants the log unreadable.
        return told
    for spelling in (token, quote(token, safe="")):
        told = told.replace(spelling, "[the access token]")
    return told
