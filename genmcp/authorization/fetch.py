"""One small JSON document over HTTPS, and nothing that its server could make worse.

Layer: contract, I/O: trio and httpx2. Needs the extra `auth`.

Where keys come from decides whose tokens are good, so a redirect is not followed: whoever
can place one at the issuer's host would be the issuer. How much is read, and how long it
may take, is bounded, whatever arrives. Proxies and certificates are taken from the usual
environment variables (`HTTPS_PROXY`, `SSL_CERT_FILE`).
"""

from __future__ import annotations

import re
from typing import Any, Final

import attrs
import httpx2
import trio

from genmcp.errors import ParseError
from genmcp.value import Value
from genmcp.wire.json_text import read_json

MAX_BYTES: Final = 256 * 1024

_OK: Final = 200
_NOT_THERE: Final = range(400, 500)
_MAX_AGE: Final = re.compile(r'(?:^|[\s,])max-age="?(\d{1,9})(?!\d)', re.IGNORECASE)
_NOT_KEPT: Final = re.compile(r"(?:^|[\s,])no-(?:store|cache)(?![\w-])", re.IGNORECASE)
_HEADERS: Final = {
    "accept": "application/json",
    # Compressed, a small body could be a huge one.
    "accept-encoding": "identity",
}


class FetchError(Exception):
    """The document could not be had; says why, for the log.

    Attributes:
        not_there: whether the server says that it has no such document.
    """

    def __init__(self, reason: str, *, not_there: bool = False) -> None:
        super().__init__(reason)
        self.not_there = not_there


@attrs.frozen(eq=False, repr=False)
class Fetched(Value):
    """A document, and how long it may be kept.

    Attributes:
        document: plain JSON.
        max_age_seconds: what `Cache-Control` says, if it says anything.
    """

    document: Any
    max_age_seconds: int | None


async def fetch_json(url: str, *, timeout_seconds: float) -> Fetched:
    """Get a JSON document.

    Raises:
        FetchError: it is not there, too large, no JSON, or not here in time.

    Cancellation: the connection is closed.
    """
    try:
        # Of the whole: what is sent byte by byte keeps no single read waiting.
        with trio.fail_after(timeout_seconds):
            return await _fetch(url)
    except trio.TooSlowError:
        raise FetchError(f"{url}: not here within {timeout_seconds:g} s") from None
    except httpx2.HTTPError as error:
        raise FetchError(f"{url}: {type(error).__name__}: {error}") from error
    except ParseError as error:
        raise FetchError(f"{url}: {error}") from None


async def _fetch(url: str) -> Fetched:
    async with (
        httpx2.AsyncClient(follow_redirects=False, timeout=None) as client,
        client.stream("GET", url, headers=_HEADERS) as response,
    ):
        status = response.status_code
        if status != _OK:
            reason = "a redirect, which is not followed" if response.is_redirect else "not 200"
            raise FetchError(f"{url}: {status}, {reason}", not_there=status in _NOT_THERE)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise FetchError(f"{url}: it is compressed, which was not asked for")
        body = bytearray()
        # Not left half-way: nobody would finish the generators it is made of.
        with trio.CancelScope() as enough:
            async for piece in response.aiter_raw():
                body += piece
                if len(body) > MAX_BYTES:
                    enough.cancel()
        if len(body) > MAX_BYTES:
            raise FetchError(f"{url}: it is larger than {MAX_BYTES} bytes")
        return Fetched(
            read_json(bytes(body)), _read_max_age(response.headers.get("cache-control", ""))
        )


def _read_max_age(cache_control: str) -> int | None:
    if _NOT_KEPT.search(cache_control):
        return 0
    found = _MAX_AGE.search(cache_control)
    return None if found is None else int(found[1])
