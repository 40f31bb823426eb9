"""What a running call says to the transport that carries it, and through what.

Layer: contract, between the mux and the transports. A call writes events into
its `Sink`; the shell that owns the connection renders them (`genmcp.transport.
reply` for HTTP). The order is always: any number of `Opened`, `Notified` and
`KeptAlive`, then exactly one `Answered` or `Failed`, or nothing more at all when
the client has gone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import attrs

from genmcp.value import Value

if TYPE_CHECKING:
    from genmcp.errors import McpError
    from genmcp.mcp import v2607 as mcp


@attrs.frozen(eq=False, repr=False)
class Opened(Value):
    """Turn the answer into a stream now, though there is nothing to say yet."""


@attrs.frozen(eq=False, repr=False)
class Notified(Value):
    """A notification that belongs to this call."""

    notification: mcp.ServerNotification


@attrs.frozen(eq=False, repr=False)
class KeptAlive(Value):
    """Nothing was said for a while; show the client, and any proxy, that we live."""


@attrs.frozen(eq=False, repr=False)
class Answered(Value):
    """The call's result. Nothing follows."""

    result: mcp.Result


@attrs.frozen(eq=False, repr=False)
class Failed(Value):
    """The call's error. Nothing follows."""

    error: McpError


Ending = Answered | Failed
Event = Opened | Notified | KeptAlive | Answered | Failed


class ClientGone(Exception):
    """The client can no longer be written to; the call is over."""


class EncodeError(ValueError):
    """A value of the application cannot be written as JSON.

    The message names the place, such as `structuredContent.total`, and what is
    wrong there. A fault of the server: masked for the client.
    """


class Sink(ABC):
    """Where a call's events go. One per call, used by one task at a time."""

    @abstractmethod
    async def write(self, event: Event) -> None:
        """Write one event, waiting until the client's side has room for it.

        A write that is cancelled half-way leaves the connection unusable, and
        every later write raises `ClientGone`.

        Raises:
            ClientGone: the connection is closed or broken.
            EncodeError: the event cannot be written as JSON; nothing was written,
                and the sink can go on with another event.
        """
