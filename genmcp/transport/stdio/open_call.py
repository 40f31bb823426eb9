"""One request of a stdio client while it is open, of whichever era: the contract.

Layer: transport, contract. `genmcp.transport.stdio.open_calls` runs what implements it:
`line_call` for requests of today, `legacy_call` for those of 2025.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genmcp.mcp import v2607 as mcp


class OpenCall(ABC):
    """A request from when it is taken to when nothing of it runs any more.

    Attributes:
        request_id: under which id its answer goes out.
    """

    request_id: mcp.RequestId

    @property
    @abstractmethod
    def owed(self) -> bool:
        """Whether the client waits for an answer to it."""

    @abstractmethod
    async def run(self) -> None:
        """Answer it; return when nothing of it runs any more.

        Raises:
            ClientGone: nobody reads any more.

        Cancellation: not by cancelling the task, but by `cancel`.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Stop it: the client does not want it any more. No answer is written to it."""

    def abandon(self) -> None:
        """Stop it: the client is leaving. Nothing at all is written for it."""
        self.cancel()

    def stop(self) -> None:
        """The server shuts down: wait for nothing that the client might say. Does not wait."""
        return
