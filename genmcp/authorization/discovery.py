"""Where an issuer has its keys, by its own metadata.

Layer: contract, I/O. Needs the extra `auth`.

Spec: basic/authorization/authorization-server-discovery; RFC 8414, OpenID Connect Discovery
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from genmcp.authorization.fetch import FetchError, fetch_json
from genmcp.authorization.identifiers import check_url


def list_metadata_urls(issuer: str) -> list[str]:
    """Return where the metadata of `issuer` may be, in the order to look.

    Spec: basic/authorization/authorization-server-discovery
    """
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.removesuffix("/")
    inserted = [
        f"{origin}/.well-known/{name}{path}"
        for name in ("oauth-authorization-server", "openid-configuration")
    ]
    appended = f"{origin}{path}/.well-known/openid-configuration"
    return inserted if appended in inserted else [*inserted, appended]


async def find_jwks_url(issuer: str, *, timeout_seconds: float) -> str:
    """Return the `jwks_uri` of `issuer`.

    Raises:
        FetchError: it has no metadata, or what is there is of another issuer or names no
            such URL.

    Cancellation: as `fetch_json`.
    """
    failure: FetchError | None = None
    for url in list_metadata_urls(issuer):
        try:
            fetched = await fetch_json(url, timeout_seconds=timeout_seconds)
        except FetchError as error:
            if not error.not_there:
                raise
            failure = error
            continue
        return _read_jwks_url(url, issuer, fetched.document)
    assert failure is not None, "there is always somewhere to look"
    raise failure


def _read_jwks_url(url: str, issuer: str, document: object) -> str:
    metadata = cast("Mapping[str, Any]", document if isinstance(document, Mapping) else {})
    # Or any host's metadata could send us for keys to where it likes.
    if metadata.get("issuer") != issuer:
        raise FetchError(f"{url}: it is not the metadata of {issuer}")
    try:
        return check_url("jwks_uri", metadata.get("jwks_uri"))
    except (TypeError, ValueError) as error:
        raise FetchError(f"{url}: {error}") from None
