"""What authors write: tools, and extensions that add some for each request.

Layer: above `genmcp.wire` and the contracts, below `genmcp.suite`, which serves
them.
"""

from genmcp.providers.cache_control import CacheControl
from genmcp.providers.extension import Extension, ToolSource
from genmcp.providers.tool import Reply, Tool

__all__ = ["CacheControl", "Extension", "Reply", "Tool", "ToolSource"]
