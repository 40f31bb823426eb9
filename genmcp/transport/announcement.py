"""What a server that starts says about itself: where it is, and whom it answers.

Layer: transport, shell; called by `genmcp.transport.serving` once the port is open. Most of
it is derived, so it says from what: whoever is refused later finds the reason here.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from genmcp.limits import PER_CALLER
from genmcp.setting import name_flag
from genmcp.transport.origin import read_authority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import trio

    from genmcp.transport.asgi import StreamableHTTP
    from genmcp.transport.proxies import TrustedProxies

_log: Final = logging.getLogger("genmcp.transport")

_WILDCARDS: Final = {"", "0.0.0.0", "::"}  # noqa: S104 - to tell them, not to bind them


class Announcer:
    """Makes of the URLs of a port those of the endpoint, and says them.

    Stands in for the `trio.TaskStatus` of whoever waits for the port to be open.

    Args:
        app: what is served.
        host: what is bound; `None` for a Unix socket.
        task_status: told the URLs of the endpoint.
        say: says a line, with its level.
    """

    def __init__(
        self,
        app: StreamableHTTP,
        host: str | None,
        task_status: trio.TaskStatus[list[str]],
        *,
        say: Callable[[int, str], None] = _log.log,
    ) -> None:
        self._app = app
        self._host = host
        self._task_status = task_status
        self._say = say

    def started(self, value: list[str] | None = None) -> None:
        """Announce the server at the URLs of its port."""
        urls = [url + (self._app.path or "/") for url in value or ()]
        where = ", ".join(urls)
        self._say(logging.INFO, f"Serving MCP at {where}{_describe_public(self._app)}")
        self._say(logging.INFO, describe_senders(self._app, self._host))
        if self._app.proxies is not None:
            self._say(logging.INFO, describe_proxies(self._app.proxies))
        if limits := describe_limits(self._app):
            self._say(logging.INFO, limits)
        if warning := find_warning(self._app, self._host):
            self._say(logging.WARNING, warning)
        self._task_status.started(urls)


def find_host_name(host: str) -> str | None:
    """Return the host to bind as a `Host` header has it; `None` for a wildcard."""
    name = f"[{host}]" if ":" in host else host
    if read_authority(name.encode("utf-8")) is None:
        return None  # such as an IPv6 address with a zone
    return None if host in _WILDCARDS else name


def _describe_public(app: StreamableHTTP) -> str:
    public = app.public_url
    if public is None:
        return ""
    shown = f", for clients that connect to {public.url} (public_url)"
    if public.path == app.path:
        return shown
    return f"{shown}; what stands in between changes the path to {app.path or '/'} (path)"


def describe_senders(app: StreamableHTTP, host: str | None) -> str:
    """Say which `Host` and which `Origin` are answered, and because of what."""
    bound, public = None if host is None else find_host_name(host), app.public_url
    hosts = [
        f"{name} ({'bound' if name == bound else 'allowed_hosts'})"
        for name in app.senders.allowed_hosts
        if not (name == bound and _is_loopback(name))
    ]
    origins = [f"{origin} (allowed_origins)" for origin in app.senders.allowed_origins]
    if public is not None:
        hosts.insert(0, f"{public.host} (public_url)")
        origins.insert(0, f"{public.origin} (public_url)")
    return f"Answering as Host to {_list(hosts)}; as Origin to {_list(origins)}"


def describe_proxies(proxies: TrustedProxies) -> str:
    """Say whose word is taken for where requests come from."""
    names = ", ".join(proxies.entries)
    return f"Believing {names} (trusted_proxies) where calls come from, by {proxies.headers}"


def describe_limits(app: StreamableHTTP) -> str | None:
    """Say which limits each caller has, who one caller is, and why; `None` without any."""
    on = [
        f"{name} {value}"
        for name in PER_CALLER
        if (value := getattr(app.mux.limits, name)) is not None
    ]
    if not on:
        return None
    address = "network address"
    if app.proxies is None:
        address += ", which behind a proxy is the proxy's"
    who = app.named_by or address
    reasons = [] if app.public_url is None else ["public_url"]
    reasons += [] if app.named_by is None else [app.named_by]
    because = f"on because of {' and '.join(reasons)}" if reasons else "given"
    return f"Limits of each caller, told by {who}: {', '.join(on)} ({because})"


def _list(names: Iterable[str]) -> str:
    return ", ".join(["loopback", *names])


def find_warning(app: StreamableHTTP, host: str | None) -> str | None:
    """Return what to say where clients can reach a server that will refuse them all."""
    if host is None:
        return None  # whoever may connect to it is on this machine
    bound = find_host_name(host)
    others = {*app.senders.allowed_hosts} - {bound}
    if others or app.public_url is not None:
        return None
    if bound is not None and _is_loopback(bound):
        return None
    answered = f"loopback and {bound}" if bound in app.senders.allowed_hosts else "loopback"
    return (
        f"Other machines may reach this server at {host}, but it answers as Host only to "
        f"{answered}: set public_url ({name_flag('public_url')}) to the URL that clients "
        f"connect to, or list hosts in allowed_hosts ({name_flag('allowed_hosts')})"
    )


def _is_loopback(name: str) -> bool:
    authority = read_authority(name.encode("utf-8"))
    return authority is not None and authority.loopback
