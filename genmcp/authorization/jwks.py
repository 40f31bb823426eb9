"""The keys of an issuer, fetched when they are needed and kept for a while.

Layer: contract, I/O: trio. Needs the extra `auth`. Below `genmcp.authorization.jwt`.

Anybody can send tokens, and each can name a key that does not exist. So what strangers
send must not decide how often the issuer is asked, or wait for:

* one fetch at a time; whoever needs keys meanwhile waits for that one;
* it belongs to none of those who wait, so that a client that leaves takes nothing from
  the others. It runs in a system task, and ends within its timeout;
* however many keys are unknown, there are `min_refresh_seconds` between two fetches;
* when one fails, the keys that are there stay in use for a while: an issuer that is away
  for a minute does not log everybody out.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import attrs
import trio

from genmcp.authorization.discovery import find_jwks_url
from genmcp.authorization.fetch import FetchError, fetch_json
from genmcp.authorization.keys import IssuerKeys, read_keys
from genmcp.authorization.verifier import InvalidToken, VerifierUnavailable

if TYPE_CHECKING:
    from joserfc.jwk import Key

_log = logging.getLogger("genmcp.authorization")

DEFAULT_TTL_SECONDS: Final = 600.0
MIN_TTL_SECONDS: Final = 60.0
MAX_TTL_SECONDS: Final = 3600.0
"""How long keys are fresh: what their server says (`Cache-Control: max-age`), within these
bounds. A key that the issuer withdraws may be taken for as long."""

MAX_STALE_SECONDS: Final = 3600.0
"""How long they stay in use after that, while they cannot be fetched."""


@attrs.define
class _Kept:
    keys: IssuerKeys
    fresh_until: float


class JwkSet:
    """An issuer's keys, at a URL or found by its metadata.

    Args:
        issuer: the issuer.
        url: where its keys are; `None` to ask its metadata.
        min_refresh_seconds: how long between two fetches, at least.
        timeout_seconds: how long one may take, at most.
    """

    def __init__(
        self, issuer: str, url: str | None, *, min_refresh_seconds: float, timeout_seconds: float
    ) -> None:
        self._issuer = issuer
        self._given_url = url
        self._min_refresh_seconds = min_refresh_seconds
        self._timeout_seconds = timeout_seconds
        self._run: trio.lowlevel.TrioToken | None = None
        self._forget()

    def _forget(self) -> None:
        self._found_url: str | None = None
        self._kept: _Kept | None = None
        self._fetching: trio.Event | None = None
        self._failed = False
        self._next_fetch = 0.0

    async def find(self, kid: str | None, algorithm: str) -> Key:
        """Return the key for a token's `kid` and `alg`.

        Raises:
            InvalidToken: the issuer has no such key.
            VerifierUnavailable: its keys cannot be had.

        Cancellation: a fetch goes on, for those who wait for it too.
        """
        self._check_run()
        if self._kept is None or trio.current_time() >= self._kept.fresh_until:
            await self._refresh()
        key = self._find_kept(kid, algorithm)
        if key is None and await self._refresh():
            # It may have been signed with a key that is newer than ours.
            key = self._find_kept(kid, algorithm)
        if key is None and self._failed:
            raise self._unavailable()
        if key is None:
            raise InvalidToken("The access token is signed with a key that its issuer has not got")
        return key

    def _check_run(self) -> None:
        """Forget what an earlier run of trio had: its clock and its tasks are no more."""
        run = trio.lowlevel.current_trio_token()
        if self._run is not run:
            self._forget()
            self._run, self._next_fetch = run, trio.current_time()

    def _find_kept(self, kid: str | None, algorithm: str) -> Key | None:
        kept = self._kept
        if kept is None or trio.current_time() >= kept.fresh_until + MAX_STALE_SECONDS:
            raise self._unavailable()
        return kept.keys.find(kid, algorithm)

    def _unavailable(self) -> VerifierUnavailable:
        return VerifierUnavailable(
            f"the keys of {self._issuer} cannot be fetched",
            retry_after_seconds=self._next_fetch - trio.current_time(),
        )

    async def _refresh(self) -> bool:
        """Wait for a fetch, and start one if it may be; return whether there was one."""
        fetching = self._fetching
        if fetching is None:
            if trio.current_time() < self._next_fetch:
                return False
            # Counted from its start, or whoever leaves early could start the next.
            self._next_fetch = trio.current_time() + self._min_refresh_seconds
            fetching = self._fetching = trio.Event()
            trio.lowlevel.spawn_system_task(self._run_fetch, fetching)
        await fetching.wait()
        return True

    async def _run_fetch(self, done: trio.Event) -> None:
        try:
            self._kept = await self._fetch()
            self._failed = False
        except Exception as error:  # noqa: BLE001 - what a system task raises ends the program
            self._failed = True
            self._found_url = None
            expected = isinstance(error, FetchError | ValueError)
            _log.warning(
                "the keys of %s cannot be fetched: %s",
                self._issuer,
                error,
                exc_info=None if expected else error,
            )
        finally:
            self._fetching = None
            done.set()

    async def _fetch(self) -> _Kept:
        url = self._given_url or self._found_url
        if url is None:
            url = await find_jwks_url(self._issuer, timeout_seconds=self._timeout_seconds)
            self._found_url = url
        fetched = await fetch_json(url, timeout_seconds=self._timeout_seconds)
        try:
            keys = read_keys(fetched.document)
        except ValueError as error:
            raise FetchError(f"{url}: {error}") from None
        told = fetched.max_age_seconds
        ttl = DEFAULT_TTL_SECONDS if told is None else float(told)
        ttl = min(max(ttl, MIN_TTL_SECONDS), MAX_TTL_SECONDS)
        return _Kept(keys, trio.current_time() + ttl)
