"""The ready-made server: what authors' providers are served by.

Layer: above `genmcp.providers`, beside `genmcp.mux`; the two do not know each
other. One module per page of the specification; `suite` brings them together.
"""

from genmcp.suite.suite import Suite

__all__ = ["Suite"]
