"""The protocol's messages taken together: unions, and the table of methods.

Layer: vocabulary. Spec: basic/index#messages
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from genmcp.mcp.v2607.cancellation import CancelledNotification
from genmcp.mcp.v2607.completion import CompleteRequest, CompleteResult
from genmcp.mcp.v2607.discovery import DiscoverRequest, DiscoverResult
from genmcp.mcp.v2607.exchange import (
    EmptyResult,
    Notification,
    Request,
    UnknownNotification,
)
from genmcp.mcp.v2607.jsonrpc import JSONRPCResultResponse
from genmcp.mcp.v2607.logging import LoggingMessageNotification
from genmcp.mcp.v2607.mrtr import InputRequiredResult
from genmcp.mcp.v2607.progress import ProgressNotification
from genmcp.mcp.v2607.prompts import (
    GetPromptRequest,
    GetPromptResult,
    ListPromptsRequest,
    ListPromptsResult,
    PromptListChangedNotification,
)
from genmcp.mcp.v2607.resources import (
    ListResourcesRequest,
    ListResourcesResult,
    ListResourceTemplatesRequest,
    ListResourceTemplatesResult,
    ReadResourceRequest,
    ReadResourceResult,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
)
from genmcp.mcp.v2607.subscriptions import (
    SubscriptionsAcknowledgedNotification,
    SubscriptionsListenRequest,
    SubscriptionsListenResult,
)
from genmcp.mcp.v2607.tools import (
    CallToolRequest,
    CallToolResult,
    ListToolsRequest,
    ListToolsResult,
    ToolListChangedNotification,
)

ClientRequest: TypeAlias = (
    DiscoverRequest
    | ListToolsRequest
    | CallToolRequest[Any]
    | ListResourcesRequest
    | ListResourceTemplatesRequest
    | ReadResourceRequest
    | ListPromptsRequest
    | GetPromptRequest
    | CompleteRequest
    | SubscriptionsListenRequest
)

ClientNotification: TypeAlias = CancelledNotification | UnknownNotification

ClientResult: TypeAlias = EmptyResult

ServerNotification: TypeAlias = (
    CancelledNotification
    | ProgressNotification
    | LoggingMessageNotification
    | ResourceUpdatedNotification
    | ResourceListChangedNotification
    | ToolListChangedNotification
    | PromptListChangedNotification
    | SubscriptionsAcknowledgedNotification
)

ServerResult: TypeAlias = (
    EmptyResult
    | DiscoverResult
    | CompleteResult
    | GetPromptResult
    | ListPromptsResult
    | ListResourceTemplatesResult
    | ListResourcesResult
    | ReadResourceResult
    | SubscriptionsListenResult
    | CallToolResult
    | ListToolsResult
    | InputRequiredResult
)

DiscoverResultResponse: TypeAlias = JSONRPCResultResponse[DiscoverResult]
ListToolsResultResponse: TypeAlias = JSONRPCResultResponse[ListToolsResult]
CallToolResultResponse: TypeAlias = JSONRPCResultResponse[CallToolResult | InputRequiredResult]
ListResourcesResultResponse: TypeAlias = JSONRPCResultResponse[ListResourcesResult]
ListResourceTemplatesResultResponse: TypeAlias = JSONRPCResultResponse[ListResourceTemplatesResult]
ReadResourceResultResponse: TypeAlias = JSONRPCResultResponse[
    ReadResourceResult | InputRequiredResult
]
ListPromptsResultResponse: TypeAlias = JSONRPCResultResponse[ListPromptsResult]
GetPromptResultResponse: TypeAlias = JSONRPCResultResponse[GetPromptResult | InputRequiredResult]
CompleteResultResponse: TypeAlias = JSONRPCResultResponse[CompleteResult]
SubscriptionsListenResultResponse: TypeAlias = JSONRPCResultResponse[SubscriptionsListenResult]

REQUESTS: Final[Mapping[str, type[Request]]] = MappingProxyType(
    {
        request.method: request
        for request in (
            DiscoverRequest,
            ListToolsRequest,
            CallToolRequest,
            ListResourcesRequest,
            ListResourceTemplatesRequest,
            ReadResourceRequest,
            ListPromptsRequest,
            GetPromptRequest,
            CompleteRequest,
            SubscriptionsListenRequest,
        )
    }
)
"""The class of each method a client may request."""

NOTIFICATIONS: Final[Mapping[str, type[Notification]]] = MappingProxyType(
    {
        notification.method: notification
        for notification in (
            CancelledNotification,
            ProgressNotification,
            LoggingMessageNotification,
            ResourceUpdatedNotification,
            ResourceListChangedNotification,
            ToolListChangedNotification,
            PromptListChangedNotification,
            SubscriptionsAcknowledgedNotification,
        )
    }
)
"""The class of each notification, in either direction."""

RESULTS: Final[Mapping[str, type[EmptyResult]]] = MappingProxyType(
    {
        DiscoverRequest.method: DiscoverResult,
        ListToolsRequest.method: ListToolsResult,
        CallToolRequest.method: CallToolResult,
        ListResourcesRequest.method: ListResourcesResult,
        ListResourceTemplatesRequest.method: ListResourceTemplatesResult,
        ReadResourceRequest.method: ReadResourceResult,
        ListPromptsRequest.method: ListPromptsResult,
        GetPromptRequest.method: GetPromptResult,
        CompleteRequest.method: CompleteResult,
        SubscriptionsListenRequest.method: SubscriptionsListenResult,
    }
)
"""The class of each method's complete result."""
