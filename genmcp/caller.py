"""Who is calling: the facts of one request that every handler may read.

Layer: contract, below the channel, whose two forms both offer these facts.

Spec: basic/index#meta
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from genmcp.errors import InvalidParams
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.v2607.fields import make_checked
from genmcp.value import Value
from genmcp.wire.codec import DecodeError, decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from genmcp.access import Access


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False)
class Caller(Value):
    """Who is calling, as this one request says; nothing is remembered from earlier.

    Attributes:
        request_id: the JSON-RPC id, with its type: `1` and `"1"` are two ids.
        protocol_version: the version this request is answered in.
        client_capabilities: what the client declared on this request.
        client_info: how the client names itself, if it does. Self-reported: never
            decide anything about security on it.
        progress_token: the token progress is reported under, or `None`. `0` and
            `""` are tokens.
        log_level: the lowest severity the client wants to hear of, or `None` for
            no log notifications at all.
        meta: the request's whole `_meta` in wire form, unknown keys kept
            (`traceparent`, your own keys).
        assigns: what the application attached to the request: user, tenant.
        principal: who was authenticated, as a steady name, or `None`. What is sealed
            for one principal is refused from another.
        access: what the caller's access token allows, where one was verified.
        scopes_apply: whether what the caller may do is told by an access token, so that
            what requires scopes is refused without one. So it is over HTTP, and not where
            OAuth has no place: on other transports, and in tests that do not ask for it.
        client_address: the network address the request came from, if that is known:
            behind a proxy the proxy's, unless `trusted_proxies` has it believed.
        param_headers: the `Mcp-Param-*` headers, decoded, by the lower-case rest of
            their name; `None` for a value that could not be read. No mapping at all
            where the transport has no headers. What a tool's schema asks for has been
            compared with the arguments by the time the tool runs.
    """

    request_id: mcp.RequestId
    protocol_version: str
    client_capabilities: mcp.ClientCapabilities
    client_info: mcp.Implementation | None = None
    progress_token: mcp.ProgressToken | None = None
    log_level: mcp.LoggingLevel | None = None
    meta: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    assigns: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    principal: str | None = None
    access: Access | None = None
    scopes_apply: bool = True
    client_address: str | None = None
    param_headers: Mapping[str, str | None] | None = None


class CallerFacts:
    """The caller's facts, readable on both forms of the channel."""

    caller: Caller

    @property
    def request_id(self) -> mcp.RequestId:
        """See `Caller.request_id`."""
        return self.caller.request_id

    @property
    def client_info(self) -> mcp.Implementation | None:
        """See `Caller.client_info`."""
        return self.caller.client_info

    @property
    def client_capabilities(self) -> mcp.ClientCapabilities:
        """See `Caller.client_capabilities`."""
        return self.caller.client_capabilities

    @property
    def protocol_version(self) -> str:
        """See `Caller.protocol_version`."""
        return self.caller.protocol_version

    @property
    def progress_token(self) -> mcp.ProgressToken | None:
        """See `Caller.progress_token`."""
        return self.caller.progress_token

    @property
    def log_level(self) -> mcp.LoggingLevel | None:
        """See `Caller.log_level`."""
        return self.caller.log_level

    @property
    def meta(self) -> Mapping[str, Any]:
        """See `Caller.meta`."""
        return self.caller.meta

    @property
    def assigns(self) -> Mapping[str, Any]:
        """See `Caller.assigns`."""
        return self.caller.assigns

    @property
    def principal(self) -> str | None:
        """See `Caller.principal`."""
        return self.caller.principal

    @property
    def access(self) -> Access | None:
        """See `Caller.access`."""
        return self.caller.access

    @property
    def client_address(self) -> str | None:
        """See `Caller.client_address`."""
        return self.caller.client_address

    @property
    def param_headers(self) -> Mapping[str, str | None] | None:
        """See `Caller.param_headers`."""
        return self.caller.param_headers


def read_caller(
    request_id: mcp.RequestId,
    request: mcp.Request,
    meta: dict[str, Any],
    param_headers: Mapping[str, str | None] | None = None,
    *,
    access: Access | None = None,
    client_address: str | None = None,
) -> Caller:
    """Return who calls, without what the application knows of it: see `Caller`.

    Raises:
        InvalidParams: a key of `_meta` has a value of the wrong type, such as a log
            level that does not exist. Only a method outside the vocabulary gets this
            far with one.
    """
    typed: mcp.RequestMetaObject
    if isinstance(request, mcp.UnknownRequest):
        try:
            typed = decode(mcp.RequestMetaObject, meta)
        except DecodeError as error:
            raise InvalidParams(f"params._meta: {error}", data={"path": "params._meta"}) from None
    else:
        typed = request.params.meta
    # Everything in it was checked; it is made for every request.
    return make_checked(
        Caller,
        request_id=request_id,
        protocol_version=typed.protocol_version,
        client_capabilities=typed.client_capabilities,
        client_info=typed.client_info,
        progress_token=typed.progress_token,
        log_level=typed.log_level,
        meta=meta,
        assigns={},
        principal=None if access is None else access.subject,
        access=access,
        scopes_apply=True,
        client_address=client_address,
        param_headers=param_headers,
    )
