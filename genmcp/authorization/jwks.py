"""The keys of an issuer, fetched when they are needed and kept for a while.

Layer: contract, I/O: trio. Needs the extra `auth`. Below `genmcp.authorization.jwt`.

Anybody can send tokens, and each can name a key that does not exist. So what strangers
send must not decide how often the issuer is asked, or wait for:

* one fetch at a time; whoever needs keys meanwhile waits for that one;
* it belongs to none of those who wait, so that a client that leaves takes nothing from
  the others. It runs in a system task, and ends within its timeout;
* however many keys are unknown, there are `min_refresh_seconds` between two fetches;
* when one fails, the keys that are there stay in use for a while: an issuer that is away
  for a minute does not log everybody out. Nor does one that hangs hold everybody up: after
  the first that failed, whose key is there does not wait for the next.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

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


@attrs.define(eq=False)
class _Run:
    """What is known in one run of trio: its clock and its tasks are no other run's."""

    next_fetch: float
    found_url: str | None = None
    kept: _Kept | None = None
    fetching: trio.Event | None = None
    failed: bool = False

    def has_keys(self, stale_seconds: float = 0.0) -> bool:
        """Tell whether there are keys that were fresh this long ago."""
        kept = self.kept
        return kept is not None and trio.current_time() < kept.fresh_until + stale_seconds


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
        # By its token, as a verifier may serve one run after the other, or two at once.
        self._runs = WeakKeyDictionary[trio.lowlevel.TrioToken, _Run]()

    async def find(self, kid: str | None, algorithm: str) -> Key:
        """Return the key for a token's `kid` and `alg`.

        Raises:
            InvalidToken: the issuer has no such key.
            VerifierUnavailable: its keys cannot be had.

        Cancellation: a fetch goes on, for those who wait for it too.
        """
        run = self._find_run()
        if not run.has_keys():
            self._start_fetch(run)
            # What failed the last time may fail again, and take its time for it.
            if run.failed and run.has_keys(MAX_STALE_SECONDS):
                key = self._find_kept(run, kid, algorithm)
                if key is not None:
                    return key
            await self._refresh(run)
        key = self._find_kept(run, kid, algorithm)
        if key is None and await self._refresh(run):
            # It may have been signed with a key that is newer than ours.
            key = self._find_kept(run, kid, algorithm)
        if key is None and run.failed:
            raise self._unavailable(run)
        if key is None:
            raise InvalidToken("The access token is signed with a key that its issuer has not got")
        return key

    def _find_run(self) -> _Run:
        token = trio.lowlevel.current_trio_token()
        run = self._runs.get(token)
        if run is None:
            run = self._runs[token] = _Run(next_fetch=trio.current_time())
        return run

    def _find_kept(self, run: _Run, kid: str | None, algorithm: str) -> Key | None:
        if run.kept is None or not run.has_keys(MAX_STALE_SECONDS):
            raise self._unavailable(run)
        return run.kept.keys.find(kid, algorithm)

    def _unavailable(self, run: _Run) -> VerifierUnavailable:
        return VerifierUnavailable(
            f"the keys of {self._issuer} cannot be fetched",
            retry_after_seconds=run.next_fetch - trio.current_time(),
        )

    async def _refresh(self, run: _Run) -> bool:
        """Wait for a fetch, if there may be one; return whether there was."""
        fetching = self._start_fetch(run)
        if fetching is None:
            return False
        await fetching.wait()
        return True

    def _start_fetch(self, run: _Run) -> trio.Event | None:
        """Return what tells the end of the fetch under way; start one if it may be."""
        if run.fetching is None and trio.current_time() >= run.next_fetch:
            # Counted from its start, or whoever leaves early could start the next.
            run.next_fetch = trio.current_time() + self._min_refresh_seconds
            run.fetching = trio.Event()
            trio.lowlevel.spawn_system_task(self._run_fetch, run, run.fetching)
        return run.fetching

    async def _run_fetch(self, run: _Run, done: trio.Event) -> None:
        try:
            run.kept = await self._fetch(run)
            run.failed = False
        except BaseException as error:
            # Native code has panics that are no Exception, and what a system task raises
            # ends the program. It is cancelled only when that ends anyway.
            if trio.current_effective_deadline() == -math.inf:
                raise
            run.failed = True
            run.found_url = None
            expected = isinstance(error, FetchError | ValueError)
            _log.warning(
                "the keys of %s cannot be fetched: %s",
                self._issuer,
                error,
                exc_info=None if expected else error,
            )
        finally:
            run.fetching = None
            done.set()

    async def _fetch(self, run: _Run) -> _Kept:
        try:
            # Of the whole: looking for the keys is several requests, each with this time.
            with trio.fail_after(self._timeout_seconds):
                return await self._fetch_keys(run)
        except trio.TooSlowError:
            raise FetchError(f"not here within {self._timeout_seconds:g} s") from None

    async def _fetch_keys(self, run: _Run) -> _Kept:
        url = self._given_url or run.found_url
        if url is None:
            url = await find_jwks_url(self._issuer, timeout_seconds=self._timeout_seconds)
            run.found_url = url
        fetched = await fetch_json(url, timeout_seconds=self._timeout_seconds)
        try:
            keys = read_keys(fetched.document)
        except ValueError as error:
            raise FetchError(f"{url}: {error}") from None
        told = fetched.max_age_seconds
        ttl = DEFAULT_TTL_SECONDS if told is None else float(told)
        ttl = min(max(ttl, MIN_TTL_SECONDS), MAX_TTL_SECONDS)
        return _Kept(keys, trio.current_time() + ttl)
