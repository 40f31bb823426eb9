"""What must not happen while a request is served.

Layer: transport, pure. Here are genmcp's own faults, and those of what an application hands
to a transport; what a handler raises belongs to its call (`genmcp.mux.failure`).
"""

from __future__ import annotations

import logging
import secrets
from typing import Final

from genmcp.errors import InternalError

_log: Final = logging.getLogger("genmcp.transport")


def mask_fault(error: BaseException) -> InternalError:
    """Log a fault, and return what the client may see of it: the id it is logged under.

    Wire form: -32603, `data: {"errorId": id}`; HTTP 500.
    """
    error_id = secrets.token_hex(8)
    _log.error(
        "serving a request failed, error id %s",
        error_id,
        exc_info=error,
        extra={"genmcp_error_id": error_id},
    )
    return InternalError("Internal server error", data={"errorId": error_id})
