"""What `server/discover` is answered with, where earlier protocol versions are served as well.

Layer: transport, pure. `genmcp.transport.endpoint` has it for HTTP, and
`genmcp.transport.stdio.open_calls` for stdio.

Spec: basic/versioning
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from genmcp.events import Answered, Sink
from genmcp.mcp import v2607 as mcp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from genmcp.events import Event


@attrs.frozen(eq=False)
class DiscoverySink(Sink):
    """Adds the versions that the rim speaks, of which the server does not know.

    Attributes:
        sink: where the events go.
        versions: all that are served.
    """

    sink: Sink
    versions: Sequence[str]

    async def write(self, event: Event) -> None:
        """See `Sink.write`."""
        match event:
            case Answered(result=mcp.DiscoverResult() as result):
                own = result.supported_versions
                added = [version for version in self.versions if version not in own]
                told = attrs.evolve(result, supported_versions=[*own, *added])
                await self.sink.write(Answered(told))
            case _:
                await self.sink.write(event)
