"""Running calls on trio: one call, one scope, exactly one ending.

Layer: beside `genmcp.suite`, above the contracts; knows nothing of HTTP. `Mux`
opens calls, `Call` runs one, and `genmcp.mux.cleanup` has the way they are
cancelled.
"""

from genmcp.mux.call import Call
from genmcp.mux.mux import Mux

__all__ = ["Call", "Mux"]
