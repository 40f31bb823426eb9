"""Who is calling: what the application says of a request before its call is opened.

Layer: transport, shell; asked by `genmcp.transport.endpoint` when the request has been
read.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import attrs
import trio

from genmcp.errors import InternalError, McpError, find_sole_leaf, show
from genmcp.telemetry import RefusalReason
from genmcp.transport.exchange import Scope
from genmcp.transport.inbound import Refusal
from genmcp.transport.reply import OK, find_delay, find_status
from genmcp.transport.watch import watch_over
from genmcp.value import Value

if TYPE_CHECKING:
    from genmcp.caller import Caller
    from genmcp.transport.exchange import Exchange

Assigns: TypeAlias = (
    Mapping[str, Any] | Callable[[Scope], Mapping[str, Any] | Awaitable[Mapping[str, Any]]]
)
"""What the application attaches to each request, or who tells it from the ASGI scope."""

Principal: TypeAlias = Callable[[Scope], str | Awaitable[str | None] | None]
"""Tells from the ASGI scope who was authenticated, as a steady name, if anybody was."""


@attrs.frozen(eq=False, repr=False)
class Identity(Value):
    """Fills in what the application knows of a caller: `assigns` and `principal`.

    Args:
        assigns: see `StreamableHTTP`.
        principal: see `StreamableHTTP`.
        timeout_seconds: how long both together may take.

    Raises:
        TypeError: one of the first two is something else.
    """

    assigns: Assigns | None
    principal: Principal | None
    timeout_seconds: float

    def __attrs_post_init__(self) -> None:
        if not (self.principal is None or callable(self.principal)):
            raise TypeError(
                "principal must be a function that gets the ASGI scope and returns who is "
                f"calling, got {show(self.principal)}"
            )
        if not (self.assigns is None or callable(self.assigns)):
            _check_assigns(self.assigns)

    @property
    def asks(self) -> bool:
        """Whether the application says anything."""
        return self.assigns is not None or self.principal is not None

    async def complete(self, caller: Caller, exchange: Exchange) -> Caller | Refusal:
        """Return the caller with what the application says of it, or a refusal.

        Raises:
            ClientGone: the client left first.
            TypeError: the application's function gave something else.

        Cancellation: the application's function is cancelled.
        """
        if not self.asks:
            return caller
        try:
            asking = self._ask(exchange.scope, caller)
            return await watch_over(asking, exchange, self.timeout_seconds)
        except (McpError, BaseExceptionGroup) as error:
            leaf = find_sole_leaf(error)
            if not isinstance(leaf, McpError):
                raise
            status = find_status(leaf)
            return Refusal(
                403 if status == OK else status, leaf, caller.request_id, find_delay(leaf)
            )
        except trio.TooSlowError:
            slow = InternalError("It could not be found out in time who is calling")
            return Refusal(503, slow, caller.request_id, reason=RefusalReason.IDENTITY)

    async def _ask(self, scope: Scope, caller: Caller) -> Caller:
        return attrs.evolve(
            caller,
            assigns=await self._read_assigns(scope),
            principal=await self._read_principal(scope, caller),
        )

    async def _read_assigns(self, scope: Scope) -> Mapping[str, Any]:
        assigns: Any = {} if self.assigns is None else self.assigns
        if callable(assigns):
            assigns = assigns(scope)
            if inspect.isawaitable(assigns):
                assigns = await assigns
        _check_assigns(assigns)
        return cast("Mapping[str, Any]", assigns)

    async def _read_principal(self, scope: Scope, caller: Caller) -> str | None:
        if self.principal is None:
            return caller.principal
        principal: Any = self.principal(scope)
        if inspect.isawaitable(principal):
            principal = await principal
        if principal is not None and not isinstance(principal, str):
            raise TypeError(f"principal must give a str or None, got {principal!r}")
        return principal


def _check_assigns(assigns: object) -> None:
    if not isinstance(assigns, Mapping):
        raise TypeError(f"assigns must give a mapping, got {show(assigns)}")
