"""Errors with the codes of 2025.

Layer: legacy, pure.

Spec: 2025-11-25 server/resources#error-handling, server/tools#error-handling
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from genmcp.errors import MissingRequiredClientCapability, NotFound
from genmcp.legacy.questions import QuestionFailed
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.unset import UNSET
from genmcp.wire.json_text import write_json

if TYPE_CHECKING:
    from genmcp.errors import McpError

RESOURCE_NOT_FOUND: Final = -32002

_MODERN_CODES: Final = frozenset(
    {
        mcp.HEADER_MISMATCH,
        mcp.MISSING_REQUIRED_CLIENT_CAPABILITY,
        mcp.UNSUPPORTED_PROTOCOL_VERSION,
    }
)


def write_legacy_error(request_id: mcp.RequestId, method: str, error: McpError) -> bytes:
    """Write an error in its envelope.

    Raises:
        EncodeError: its data is not JSON.
    """
    body: dict[str, Any] = {"code": find_legacy_code(method, error), "message": error.message}
    if error.data is not UNSET:
        body["data"] = error.data
    return write_json({"jsonrpc": mcp.JSONRPC_VERSION, "id": request_id, "error": body})


def find_legacy_code(method: str, error: McpError) -> int:
    """Return the code an error has in 2025."""
    if method == mcp.ReadResourceRequest.method and isinstance(error, NotFound):
        return RESOURCE_NOT_FOUND
    return mcp.INTERNAL_ERROR if error.code in _MODERN_CODES else error.code


def find_tool_answer(method: str, error: McpError) -> mcp.CallToolResult | None:
    """Return what a model is told instead of an error, where it can make use of it.

    A tool that the client lacks a capability for is one the model may do without.
    """
    if method != mcp.CallToolRequest.method:
        return None
    if not isinstance(error, MissingRequiredClientCapability | QuestionFailed):
        return None
    return mcp.call_tool_result(error=error.message)
