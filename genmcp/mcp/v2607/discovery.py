"""Discovery: what a server is and what it offers.

Layer: vocabulary. The builders are in `build_discovery`. Spec: server/discover
"""

from collections.abc import Sequence
from typing import ClassVar

import attrs

from genmcp.mcp.v2607.capabilities import ServerCapabilities
from genmcp.mcp.v2607.exchange import CacheableResult, Request, RequestParams
from genmcp.mcp.v2607.fields import checked


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class DiscoverRequest(Request):
    """Asks what the server is and what it offers."""

    method: ClassVar[str] = "server/discover"
    params: RequestParams


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class DiscoverResult(CacheableResult):
    """What the server offers; who it is stands in `meta.server_info`.

    Attributes:
        supported_versions: the protocol revisions this endpoint serves.
        instructions: how to use the server, for the model to read.
    """

    supported_versions: Sequence[str]
    capabilities: ServerCapabilities
    instructions: str | None = None
