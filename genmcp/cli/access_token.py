"""The access token that `genmcp call` and `genmcp tools` send.

Layer: cli. It comes from the environment alone: other users of a machine may read the
command line. It is a secret, so it travels only where nobody can listen.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from genmcp.cli.target import UsageError
from genmcp.transport.origin import read_authority

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from genmcp.testing.memory_http import ASGIApp

    Message = MutableMapping[str, Any]

TOKEN_VARIABLE: Final = "GENMCP_TOKEN"  # noqa: S105 - a name, not a secret

_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_UNAUTHORIZED: Final = 401


def read_token() -> str | None:
    """Return the access token to send, if there is one.

    Raises:
        UsageError: what the variable holds is none. Repeats nothing of it.
    """
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if token and _TOKEN.fullmatch(token) is None:
        raise UsageError(f"{TOKEN_VARIABLE} has characters that no access token has")
    return token or None


def is_private(url: str) -> bool:
    """Tell whether nobody can listen on the way to `url`: by TLS, or because it is short."""
    parts = urlsplit(url)
    authority = read_authority(parts.netloc.rpartition("@")[2].encode())
    return parts.scheme == "https" or (authority is not None and authority.loopback)


class TokenWatch:
    """Hands requests on to `app`, and sees whether it is an access token that is missing.

    Args:
        app: what answers.
        token: what is sent, for what is said of it.
        withheld: whether there is a token that must not be sent to `app`.

    Attributes:
        refused: whether a request was answered 401.
    """

    def __init__(self, app: ASGIApp, *, token: str | None, withheld: bool = False) -> None:
        self.refused = False
        self._app = app
        self._token = token
        self._withheld = withheld

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Answer as `app` does.

        Raises:
            OSError: `app` does, or answers 401 without JSON, as proxies do.
        """

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == _UNAUTHORIZED:
                self.refused = True
                kind = dict(message["headers"]).get(b"content-type", b"")
                if not kind.startswith(b"application/json"):
                    raise OSError("401 Unauthorized")
            await send(message)

        await self._app(scope, receive, watch)

    def describe(self) -> str:
        """Say what to do about a 401; nothing where there was none."""
        if not self.refused:
            return ""
        if self._withheld:
            return f" [{TOKEN_VARIABLE} is sent to https and loopback URLs only]"
        if self._token is None:
            return f" [genmcp sends what the variable {TOKEN_VARIABLE} holds]"
        return f" [what {TOKEN_VARIABLE} holds was sent]"
