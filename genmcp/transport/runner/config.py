"""What the port is told, in Hypercorn's own words.

Layer: transport, shell. All of `genmcp.transport.runner` goes by it.
"""

from __future__ import annotations

import logging
import math
import sys
from typing import TYPE_CHECKING, Final

from hypercorn.config import Config

if TYPE_CHECKING:
    from genmcp.transport.port_config import PortConfig

logger: Final = logging.getLogger("genmcp.transport")


class RunnerConfig(Config):
    """Hypercorn's configuration, and what it has no word for.

    Attributes:
        max_headers: see `PortConfig`.
    """

    max_headers: int


def make_hypercorn_config(config: PortConfig) -> RunnerConfig:
    """Return the Hypercorn configuration its protocol classes work by."""
    theirs = RunnerConfig()
    theirs.max_headers = config.max_headers
    # Given a logger, Hypercorn uses it as it is; given a name, it would add handlers.
    theirs.errorlog = logger
    theirs.include_server_header = False
    theirs.h11_max_incomplete_size = config.max_header_bytes
    theirs.h2_max_header_list_size = config.max_header_bytes
    # Past this number Hypercorn closes HTTP/1.1 connections and, on HTTP/2, lets open
    # streams fall silent without an end.
    theirs.keep_alive_max_requests = sys.maxsize
    # Quiet event streams are not idle; the connection keeps its own deadlines.
    theirs.read_timeout = None
    theirs.shutdown_timeout = math.inf  # the runner has its own
    return theirs
