"""The settings of an endpoint that takes access tokens, and what makes one good here.

Layer: contract, pure. `genmcp.transport.authorize` asks; what no verifier can forget
(audience, expiry, scopes) is checked here, after it.

Spec: basic/authorization/index
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import attrs

from genmcp.access import Access, read_scopes
from genmcp.authorization.identifiers import canonicalize, check_url
from genmcp.authorization.verifier import InvalidToken, TokenVerifier
from genmcp.errors import InsufficientScope, say_whose, show
from genmcp.value import Value


def _check_verifier(_: Any, field: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, TokenVerifier):
        raise TypeError(
            f"Authorization: verifier must be a TokenVerifier instance, got {show(value)}"
        )


def _check_name(_: Any, field: attrs.Attribute[Any], value: object) -> None:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise TypeError(f"Authorization: resource_name must be a str, got {show(value)}")


def _read_list(setting: str, given: object) -> tuple[Any, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"Authorization: {setting} must be a list of strings, got {show(given)}")
    return tuple(cast("Iterable[Any]", given))


def _read_servers(given: Iterable[str]) -> tuple[str, ...]:
    setting = "Authorization: authorization_servers"
    servers = _read_list("authorization_servers", given)
    if not servers:
        raise ValueError(f"{setting} must name at least one; clients get their tokens there")
    return tuple(check_url(setting, server, query=False) for server in servers)


def _read_audiences(given: Iterable[str]) -> frozenset[str]:
    audiences: tuple[object, ...] = _read_list("extra_audiences", given)
    for audience in audiences:
        if not isinstance(audience, str) or not audience.strip():
            raise TypeError(
                f"Authorization: extra_audiences must hold only names, got {show(audience)}"
            )
        if "*" in audience:
            raise ValueError(
                "Authorization: extra_audiences are compared whole, and there is no wildcard: "
                "tokens for other servers would be taken; name each audience"
            )
    return frozenset(canonicalize(str(audience)) for audience in audiences)


def _read_scopes(setting: str, given: object) -> frozenset[str]:
    try:
        return read_scopes(given)
    except (TypeError, ValueError) as error:
        raise say_whose(f"Authorization: {setting}", error) from None


# Named functions, which is what type checkers understand as converters.


def _read_required(given: Iterable[str]) -> frozenset[str]:
    return _read_scopes("required_scopes", given)


def _read_supported(given: Iterable[str]) -> frozenset[str]:
    return _read_scopes("scopes_supported", given)


def _read_implied(given: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    # The type says so, but settings often come out of a file.
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            'Authorization: implied_scopes must be a mapping such as {"files:write": '
            f'["files:read"]}}, got {show(given)}'
        )
    _read_scopes("implied_scopes", given)
    return _close({one: _read_scopes("implied_scopes", all_) for one, all_ in given.items()})


def _close(implied: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Return for each scope all that follow from it, at any distance."""
    closed: dict[str, frozenset[str]] = {}
    for scope in implied:
        found, waiting = {scope}, [scope]
        while waiting:
            new = implied.get(waiting.pop(), frozenset()) - found
            found |= new
            waiting.extend(new)
        closed[scope] = frozenset(found)
    return closed


@attrs.frozen(eq=False, repr=False)
class Authorization(Value):
    """What an endpoint demands of access tokens, and tells clients about them.

        StreamableHTTP(
            suite,
            public_url="https://mcp.example.com/mcp",
            authorization=Authorization(
                JwtVerifier(issuer="https://auth.example.com"),
                authorization_servers=["https://auth.example.com"],
                required_scopes=["mcp:use"],
            ),
        )

    With it, every request must carry a token, `server/discover` included. What is open
    to everybody is served at another path, by an endpoint without it.

    A token is good when the verifier says so, its audience is the endpoint's public URL
    (or one of `extra_audiences`), it has not expired, and it has the `required_scopes`.
    What single tools, prompts and resources need besides, they say themselves, with
    `required_scopes=`.

    Args:
        verifier: tells what a token allows.
        authorization_servers: the issuers whose tokens are taken, as `https` URLs
            (`http` for loopback), for clients to choose from.
        required_scopes: what every request needs.
        scopes_supported: the scopes to tell clients about in the metadata, where they
            look when they are not told better; best only those that most need. Default:
            `required_scopes`.
        implied_scopes: which scopes a broader one includes:
            `{"files:write": ["files:read"]}`. Followed at any distance.
        extra_audiences: other audiences taken, each whole and by name. For clients and
            issuers that cannot ask for a token for the public URL; every server that
            shares such a name takes the tokens of all of them.
        resource_name: what people are told the server is called.
        resource_documentation: the URL of a page for people who write clients.
        clock: returns the time in seconds since 1970.

    Raises:
        TypeError, ValueError: naming the setting.

    Spec: basic/authorization/index
    """

    verifier: TokenVerifier = attrs.field(validator=_check_verifier)
    authorization_servers: tuple[str, ...] = attrs.field(kw_only=True, converter=_read_servers)
    required_scopes: frozenset[str] = attrs.field(
        kw_only=True, default=frozenset[str](), converter=_read_required
    )
    scopes_supported: frozenset[str] | None = attrs.field(
        kw_only=True,
        default=None,
        converter=attrs.converters.optional(_read_supported),
    )
    implied_scopes: Mapping[str, frozenset[str]] = attrs.field(
        kw_only=True, factory=dict[str, frozenset[str]], converter=_read_implied
    )
    extra_audiences: frozenset[str] = attrs.field(
        kw_only=True, default=frozenset[str](), converter=_read_audiences
    )
    resource_name: str | None = attrs.field(kw_only=True, default=None, validator=_check_name)
    resource_documentation: str | None = attrs.field(kw_only=True, default=None)
    clock: Callable[[], float] = attrs.field(kw_only=True, default=time.time, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.resource_documentation is not None:
            check_url("Authorization: resource_documentation", self.resource_documentation)

    def check(self, access: Access, resource: str) -> Access:
        """Return `access` with the scopes it implies, if it is good for `resource`.

        Raises:
            InvalidToken: it was issued for somebody else, or has expired.
            InsufficientScope: it lacks some of `required_scopes`.
        """
        audiences = {canonicalize(audience) for audience in access.audiences}
        if not audiences & {canonicalize(resource), *self.extra_audiences}:
            raise InvalidToken(
                f"The access token was not issued for this server; ask for one for {resource}"
            )
        left = access.find_seconds_left(self.clock())
        # Put this way, a time that is no number has passed.
        if left is not None and not left > 0:
            raise InvalidToken("The access token has expired")
        scopes = self.expand(access.scopes)
        if not self.required_scopes <= scopes:
            raise InsufficientScope(self.required_scopes)
        return attrs.evolve(access, scopes=scopes)

    def expand(self, scopes: Iterable[str]) -> frozenset[str]:
        """Return `scopes` and all that they imply.

        Spec: basic/authorization/index#step-up-authorization-flow
        """
        found = frozenset(scopes)
        return found.union(*(self.implied_scopes.get(scope, ()) for scope in found))
