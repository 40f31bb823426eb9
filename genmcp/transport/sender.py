"""Who sent this: the verdict on `Host` and `Origin`, and what a refused one is told.

Layer: transport, pure; between `genmcp.transport.endpoint` and the rules
(`genmcp.transport.origin`). Asked nearly first of all, whatever the path and the HTTP
method; the same verdict says who may read the answer (`genmcp.transport.cors`).

Spec: basic/transports/streamable-http#security--endpoint
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from genmcp.errors import InvalidRequest
from genmcp.setting import describe_setting, name_flag, name_variable
from genmcp.telemetry import RefusalReason
from genmcp.transport import headers as header
from genmcp.transport.cors import ANY_ORIGIN, render_cors
from genmcp.transport.headers import shorten, show
from genmcp.transport.inbound import Refusal
from genmcp.transport.origin import ANY, HostRules, OriginRules, list_entries
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from genmcp.transport.headers import RequestHeaders
    from genmcp.transport.public_url import PublicUrl
    from genmcp.transport.reply import HeaderPairs

_MAX_KNOWN: Final = 256
_REASONS: Final = {"Host": RefusalReason.HOST, "Origin": RefusalReason.ORIGIN}


@attrs.frozen(eq=False, repr=False)
class Verdict(Value):
    """What is said of a request because of who sent it.

    Attributes:
        refusal: the answer, if it is not taken.
        headers: what every response to it says, a refusal for another reason included.
    """

    refusal: Refusal | None
    headers: HeaderPairs


class SenderRules:
    """Who may call: loopback, the public URL, and what the two settings add.

    Args:
        allowed_hosts: see `genmcp.transport.origin.HostRules`.
        allowed_origins: see `genmcp.transport.origin.OriginRules`.
        public_url: its host is allowed as `Host`, on any port, since proxies differ in
            which one they pass on; and its origin as `Origin`.

    Raises:
        ValueError: an entry is not a host, or not an origin.
        TypeError: a single string was given instead of a list.

    Attributes:
        allowed_hosts: the entries as they were given.
        allowed_origins: the entries as they were given.
        public_url: as it was given.
    """

    def __init__(
        self,
        *,
        allowed_hosts: Iterable[str] = (),
        allowed_origins: Iterable[str] = (),
        public_url: PublicUrl | None = None,
    ) -> None:
        self.allowed_hosts = list_entries("allowed_hosts", allowed_hosts)
        self.allowed_origins = list_entries("allowed_origins", allowed_origins)
        self.public_url = public_url
        own = [] if public_url is None else [public_url]
        self._hosts = HostRules([*self.allowed_hosts, *(url.host for url in own)])
        self._origins = OriginRules([*self.allowed_origins, *(url.origin for url in own)])
        self._any_origin = ANY in self.allowed_origins
        self._known: dict[tuple[str, bytes | None, bytes | None], Verdict] = {}

    def judge(self, verb: str, headers: RequestHeaders) -> Verdict:
        """Return the verdict on a request.

        One without `Origin` does not come from a page of another site. One without
        `Host` passes: HTTP/1.1 parsers refuse it, and every browser, which is whom the
        check is about, sends one.
        """
        if headers.repeated:
            return self._judge(verb, headers)
        # A server hears from the same few origins, by the same few names.
        values = headers.values
        sender = (verb, values.get(header.ORIGIN), values.get(header.HOST))
        verdict = self._known.get(sender)
        if verdict is None:
            verdict = self._judge(verb, headers)
            if verdict.refusal is None:
                if len(self._known) >= _MAX_KNOWN:
                    self._known.clear()
                self._known[sender] = verdict
        return verdict

    def _judge(self, verb: str, headers: RequestHeaders) -> Verdict:
        refusal = self._check_origin(headers)
        if refusal is not None:
            return Verdict(refusal, render_cors(verb, None))
        # With everyone allowed nothing that strangers chose is repeated, and no cache
        # keeps an answer that only some may read.
        allowed = ANY_ORIGIN if self._any_origin else headers.get(header.ORIGIN)
        return Verdict(self.check_host(headers), render_cors(verb, allowed))

    def _check_origin(self, headers: RequestHeaders) -> Refusal | None:
        origin = headers.get(header.ORIGIN)
        if origin is None:
            return None
        if "Origin" in headers.repeated:
            message = "The header Origin was sent more than once"
            return Refusal(403, InvalidRequest(message), reason=RefusalReason.ORIGIN)
        if self._origins.allows(origin):
            return None
        if origin.lower() == b"null":
            return _refuse_null(origin)
        return _refuse("Origin", origin, "allowed_origins")

    def check_host(self, headers: RequestHeaders) -> Refusal | None:
        """Return the refusal of a `Host` that is not answered, if it is none that is.

        For what pages of any origin may read; `judge` asks it for everything else.
        """
        host = headers.get(header.HOST)
        if host is None:
            return None
        if "Host" in headers.repeated:
            message = "The header Host was sent more than once"
            return Refusal(400, InvalidRequest(message), reason=RefusalReason.HOST)
        if self._hosts.allows(host):
            return None
        return _refuse("Host", host, "allowed_hosts")


def _refuse_null(value: bytes) -> Refusal:
    flag, variable = name_flag("allowed_origins"), name_variable("allowed_origins")
    return Refusal(
        403,
        InvalidRequest(
            f"Origin {show(value)} is not allowed here. It is what every sandboxed page and "
            "local file sends, so it cannot be allowed by itself; only '*' in "
            f"allowed_origins ({flag}, {variable}) does, and allows all others as well",
            data=describe_setting("allowed_origins", header="Origin", refused=shorten(value)),
        ),
        reason=RefusalReason.ORIGIN,
    )


def _refuse(name: str, value: bytes, setting: str) -> Refusal:
    return Refusal(
        403,
        InvalidRequest(
            f"{name} {show(value)} is not allowed here; to allow it, set public_url if it is "
            f"this server's own, or else add it to {setting} "
            f"({name_flag(setting)}, {name_variable(setting)})",
            data=describe_setting(setting, header=name, refused=shorten(value)),
        ),
        reason=_REASONS[name],
    )
