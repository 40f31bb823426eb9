"""What all connections of a port share.

Layer: transport, shell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from genmcp.transport.exchange import Exchange
    from genmcp.transport.port_config import PortConfig

    Answer = Callable[[Exchange], Awaitable[None]]


@attrs.frozen(eq=False)
class Service:
    """What the connections of a port need from outside.

    Attributes:
        answer: answers one request; raises nothing but cancellation.
        config: the limits.
        cleanup_seconds: how long a call may clean up once its client has gone.
    """

    answer: Answer
    config: PortConfig
    cleanup_seconds: float
