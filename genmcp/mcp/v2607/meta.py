"""The `_meta` objects whose keys the protocol gives a meaning.

Layer: vocabulary. All are open: keys not named here are in `extra`, and are
written back. Spec: basic/index#meta
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import attrs

from genmcp.mcp.v2607.base import (
    Implementation,
    LoggingLevel,
    ProgressToken,
    RequestId,
    meta_problem,
)
from genmcp.mcp.v2607.capabilities import ClientCapabilities
from genmcp.mcp.v2607.checks import Check
from genmcp.mcp.v2607.fields import WIRE_NAME, WireObject, checked

PROTOCOL_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO_KEY: Final = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID_KEY: Final = "io.modelcontextprotocol/subscriptionId"


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class RequestMetaObject(WireObject):
    """Who asks and in which revision, on every request.

    Attributes:
        protocol_version: the revision the request is written in.
        client_capabilities: what the client can do; empty means nothing.
        client_info: how the client names itself.
        log_level: the lowest severity the client wants log notifications of; none
            at all when absent. Deprecated by the protocol.
        progress_token: progress is reported under it, if there is one.
        extra: any other key, such as `traceparent`.
    """

    protocol_version: str = attrs.field(metadata={WIRE_NAME: PROTOCOL_VERSION_KEY})
    client_capabilities: ClientCapabilities = attrs.field(
        metadata={WIRE_NAME: CLIENT_CAPABILITIES_KEY}
    )
    client_info: Implementation | None = attrs.field(
        default=None, metadata={WIRE_NAME: CLIENT_INFO_KEY}
    )
    log_level: LoggingLevel | None = attrs.field(default=None, metadata={WIRE_NAME: LOG_LEVEL_KEY})
    progress_token: ProgressToken | None = None
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


RequestMeta: TypeAlias = RequestMetaObject
"""A shorter name for `RequestMetaObject`."""


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class NotificationMetaObject(WireObject):
    """Which subscription a notification belongs to, on listen streams only."""

    subscription_id: RequestId | None = attrs.field(
        default=None, metadata={WIRE_NAME: SUBSCRIPTION_ID_KEY}
    )
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ResultMetaObject(WireObject):
    """Who answered."""

    server_info: Implementation | None = attrs.field(
        default=None, metadata={WIRE_NAME: SERVER_INFO_KEY}
    )
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any], validator=Check(meta_problem))


ResultMeta: TypeAlias = ResultMetaObject
"""A shorter name for `ResultMetaObject`."""


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class SubscriptionsListenResultMetaObject(ResultMetaObject):
    """Who answered, and which subscription ended."""

    subscription_id: RequestId = attrs.field(metadata={WIRE_NAME: SUBSCRIPTION_ID_KEY})
