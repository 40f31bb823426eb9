"""What the drivers of the Python clients share: a step, and what is said of it.

Imports nothing of genmcp, and of others only what every version of the client brings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio

NOTE: Final = "note://today"
SECONDS: Final = 40
"""How long a step may take. Nothing is measured by it."""

PAUSE_SECONDS: Final = 0.05
"""How long to wait before asking again for what only the server knows."""


def say(**said: Any) -> None:
    """Print a line of JSON."""
    print(json.dumps(said), flush=True)  # noqa: T201 - a program says what it found


async def take(step: str, act: Callable[[], Awaitable[Any]], *, seconds: float = SECONDS) -> bool:
    """Take a step, and say what came of it; return whether it was taken.

    One that takes too long is the last: those behind it would most likely hang as well.
    """
    try:
        with anyio.fail_after(seconds):
            found = await act()
    except TimeoutError:
        say(step=step, failed=f"not over after {seconds} s")
        os._exit(1)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what came of it
        say(step=step, failed=f"{type(error).__name__}: {error}")
        return False
    say(step=step, found=found)
    return True
