"""The protected resource metadata: where clients learn whose tokens are taken here.

Layer: transport, pure. A small JSON document, the same for everybody, at two paths of the
public host: the well-known one with the endpoint's own path after it, which refusals name,
and without it, where older clients look. `genmcp.transport.endpoint` asks it first of all.

Spec: basic/authorization/authorization-server-discovery; RFC 9728, sections 2 and 3
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from genmcp.errors import InvalidRequest
from genmcp.transport.headers import show
from genmcp.transport.inbound import Refusal
from genmcp.transport.reply import OK, Whole, render_json

if TYPE_CHECKING:
    from genmcp.authorization import Authorization
    from genmcp.transport.public_url import PublicUrl
    from genmcp.transport.reply import HeaderPairs

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"

_VERBS: Final = b"GET, HEAD, OPTIONS"

# A page of any site may read it: it is public, and says nothing about who asks. The
# asterisk for headers lets clients send MCP-Protocol-Version along, as they do.
_READABLE: Final[HeaderPairs] = ((b"access-control-allow-origin", b"*"),)
_PREFLIGHT: Final[HeaderPairs] = (
    *_READABLE,
    (b"access-control-allow-methods", b"GET, HEAD"),
    (b"access-control-allow-headers", b"*"),
    (b"access-control-max-age", b"86400"),
)
_CACHED: Final[HeaderPairs] = ((b"cache-control", b"public, max-age=3600"),)


class ResourceMetadata:
    """The document of one endpoint, and where it is.

    Attributes:
        url: the URL that refusals name.
    """

    def __init__(self, authorization: Authorization, public_url: PublicUrl) -> None:
        self.url = f"{public_url.origin}{WELL_KNOWN}{public_url.path}"
        self._paths = frozenset({WELL_KNOWN, WELL_KNOWN + public_url.path})
        body = orjson.dumps(_describe(authorization, public_url))
        self._whole = render_json(OK, body, (*_CACHED, *_READABLE))

    def is_at(self, path: str, mounted_at: str) -> bool:
        """Tell whether a request with these ASGI `path` and `root_path` is for it.

        The well-known path stands at the root of the host, outside of wherever the
        application is mounted. Some servers take the mount's path off, some put it in
        front of a path that never had it, and a mount may be the well-known path itself.
        """
        candidates = {path, mounted_at + path}
        if mounted_at and path.startswith(mounted_at + "/"):
            candidates.add(path[len(mounted_at) :])
        return any(one.removesuffix("/") in self._paths for one in candidates)

    def answer(self, verb: str) -> Whole | Refusal:
        """Return the response to a request for it."""
        match verb:
            case "GET" | "HEAD":
                return self._whole
            case "OPTIONS":
                return Whole(204, _PREFLIGHT, b"")
            case _:
                return Refusal(
                    405,
                    InvalidRequest(f"{show(verb)} is not served here; read this by GET"),
                    headers=((b"allow", _VERBS), *_READABLE),
                )


def _describe(authorization: Authorization, public_url: PublicUrl) -> dict[str, Any]:
    scopes = authorization.scopes_supported
    scopes = authorization.required_scopes if scopes is None else scopes
    optional = {
        "scopes_supported": sorted(scopes),
        "resource_name": authorization.resource_name,
        "resource_documentation": authorization.resource_documentation,
    }
    return {
        "resource": public_url.url,
        "authorization_servers": list(authorization.authorization_servers),
        "bearer_methods_supported": ["header"],
        **{name: value for name, value in optional.items() if value},
    }
