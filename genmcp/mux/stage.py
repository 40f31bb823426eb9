"""The stage: the task that calls run in, and the nursery for what they start.

Layer: mux. `genmcp.mux.call` runs a call on one: by itself on a stage of its own, or on
one that whoever carries the calls keeps for many, one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

    import trio

    from genmcp.mux.cleanup import HandlerScope


@attrs.frozen(eq=False)
class Stage:
    """Where calls run.

    Attributes:
        scope: opened in the task that runs the calls; not spent.
        nursery: for what a call starts beside its handler. All of that has ended when
            the call has; the nursery may live on.
        on_block: called when the handler of a call first waits for something.
    """

    scope: HandlerScope
    nursery: trio.Nursery
    on_block: Callable[[], None] | None = None
