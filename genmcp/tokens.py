"""Sealed tokens: what the server hands to a client and must trust when it returns.

Layer: contract; pure. Cursors and request state leave the server, come back in
another request, maybe to another process, and are attacker-controlled until they
open. A token is authenticated and encrypted, so that a client can neither forge
nor read it; a key is derived for each purpose, so that a cursor never opens as
request state; it is bound to whatever the caller names (method, target,
principal), expires, and carries the id of its key so that keys can be rotated.

    token = base64url( version | key id | nonce | AES-GCM( issued | expires | payload ) )

Every failure is the same `TokenError` with the same words for the client; the
reason is kept aside for the server's log.

Spec: basic/patterns/mrtr#server-requirements, server/utilities/pagination
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import struct
import time
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from genmcp.errors import TokenError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MIN_SECRET_BYTES: Final = 16
"""A shorter secret is refused: it could be guessed offline from one token."""

MAX_TOKEN_CHARACTERS: Final = 262_144
"""A longer token is refused unread."""

_VERSION: Final = 1
_HEAD: Final = struct.Struct(">B4s12s")
_TIMES: Final = struct.Struct(">QQ")
_ALPHABET: Final = re.compile(r"[A-Za-z0-9_-]+\Z")
_CLOCK_SKEW_SECONDS: Final = 60
_INFO: Final = b"genmcp token v1 "


class Keyring:
    """The secrets of one deployment. The first seals, all of them open.

    Give every process that serves the same clients the same secrets. To rotate,
    put the new secret first and keep the old one until its tokens have expired.

    Args:
        secrets_: one or more secrets, each a `str` or `bytes` of at least 16
            bytes, best 32 random ones.
        clock: returns the time in seconds since the epoch.

    Raises:
        ValueError: there is no secret, or one is too short.
        TypeError: a secret is neither `str` nor `bytes`.
    """

    def __init__(
        self, secrets_: Sequence[str | bytes], *, clock: Callable[[], float] = time.time
    ) -> None:
        if isinstance(secrets_, str | bytes):
            secrets_ = [secrets_]
        if not hasattr(secrets_, "__iter__"):
            _read_secret(secrets_)
        if not secrets_:
            raise ValueError("a keyring needs at least one secret")
        masters = [_read_secret(secret) for secret in secrets_]
        self._masters = {_key_id(master): master for master in reversed(masters)}
        self._sealing_id = _key_id(masters[0])
        self._ciphers: dict[tuple[bytes, str], AESGCM] = {}
        self._clock = clock

    @classmethod
    def random(cls) -> Keyring:
        """Return a keyring whose tokens open in this process only."""
        return cls([secrets.token_bytes(32)])

    def seal(
        self, purpose: str, payload: bytes, *, ttl_seconds: float, bound_to: bytes = b""
    ) -> str:
        """Seal `payload` into a token of URL-safe characters.

        Args:
            purpose: what the token is for, such as `"cursor tools/list"`.
            payload: what comes back from `unseal`.
            ttl_seconds: how long the token opens, from now.
            bound_to: what else must be the same when the token comes back.
        """
        now = int(self._clock())
        head = _HEAD.pack(_VERSION, self._sealing_id, secrets.token_bytes(12))
        sealed = self._cipher(self._sealing_id, purpose).encrypt(
            head[-12:], _TIMES.pack(now, now + int(ttl_seconds)) + payload, head + bound_to
        )
        return base64.urlsafe_b64encode(head + sealed).rstrip(b"=").decode("ascii")

    def unseal(self, purpose: str, token: str, *, bound_to: bytes = b"") -> bytes:
        """Open a token and return its payload.

        Raises:
            TokenError: it is malformed, forged, sealed for something else or with
                a key that is not on this ring, or too old.
        """
        head, sealed = _split(token)
        version, key_id, nonce = _HEAD.unpack(head)
        if version != _VERSION:
            raise TokenError("malformed")
        if key_id not in self._masters:
            raise TokenError("unknown key")
        try:
            opened = self._cipher(key_id, purpose).decrypt(nonce, sealed, head + bound_to)
        except InvalidTag:
            raise TokenError("forged or foreign") from None
        issued, expires = _TIMES.unpack_from(opened)
        now = self._clock()
        if now >= expires:
            raise TokenError("expired")
        if issued > now + _CLOCK_SKEW_SECONDS:
            raise TokenError("from the future")
        return opened[_TIMES.size :]

    def _cipher(self, key_id: bytes, purpose: str) -> AESGCM:
        # Deriving costs more than sealing; purposes are a handful of constants.
        cipher = self._ciphers.get((key_id, purpose))
        if cipher is None:
            derive = HKDF(
                algorithm=SHA256(), length=32, salt=None, info=_INFO + purpose.encode("utf-8")
            )
            cipher = AESGCM(derive.derive(self._masters[key_id]))
            self._ciphers[key_id, purpose] = cipher
        return cipher


def _read_secret(secret: object) -> bytes:
    if isinstance(secret, str):
        secret = secret.encode("utf-8")
    if not isinstance(secret, bytes):
        raise TypeError(f"a secret must be str or bytes, got {type(secret).__name__}")
    if len(secret) < MIN_SECRET_BYTES:
        raise ValueError(
            f"a secret needs at least {MIN_SECRET_BYTES} bytes, got {len(secret)}; "
            'make one with: python -c "import secrets; print(secrets.token_urlsafe(32))"'
        )
    return secret


def _key_id(master: bytes) -> bytes:
    return hashlib.sha256(b"genmcp key id" + master).digest()[:4]


def _split(token: object) -> tuple[bytes, bytes]:
    # urlsafe_b64decode skips characters it does not know, so the alphabet is
    # checked first; and it ignores stray low bits in the last character, so only
    # the one canonical spelling of the bytes is taken.
    if not isinstance(token, str) or len(token) > MAX_TOKEN_CHARACTERS:
        raise TokenError("malformed")
    if not _ALPHABET.match(token) or len(token) % 4 == 1:
        raise TokenError("malformed")
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    if base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii") != token:
        raise TokenError("malformed")
    if len(raw) < _HEAD.size + _TIMES.size + 16:
        raise TokenError("malformed")
    return raw[: _HEAD.size], raw[_HEAD.size :]
