"""Running something beside a block of a test.

Layer: testing. A nursery around a `yield` would hand every failed assertion of the
test back inside an exception group; here it comes out as it was raised.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable


@asynccontextmanager
async def run_beside(
    async_fn: Callable[[], Awaitable[None]], leave: Callable[[], None]
) -> AsyncGenerator[None]:
    """Run `async_fn` beside the block; `leave` is called when the block is left.

    Returns when `async_fn` has returned.
    """
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(async_fn)
        try:
            yield
        except Exception as error:  # noqa: BLE001 - raised again below, outside the nursery
            failure = error
        finally:
            leave()
    if failure is not None:
        raise failure
