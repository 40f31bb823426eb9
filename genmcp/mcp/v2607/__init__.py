"""Protocol `2026-07-28`, one module for each page of the specification.

Layer: the lowest; imports nothing of genmcp but the `UNSET` marker, and what classes of
values have in common. All names are here, flat: `from genmcp.mcp import v2607 as mcp`,
then `mcp.TextContent(text="42")` or, shorter, a builder: `mcp.call_tool_result(text="42")`.
A page is imported when one of its names is first asked for.

The classes are frozen, their attributes snake_case, their arguments keywords. An
optional member that is absent is `None`, or `UNSET` where the wire may hold null.
Members an open object does not know are in `extra`. What a member may hold is
checked on construction: `TypeError` or `ValueError` names class and argument.
`genmcp.wire.codec` turns all of them into JSON and back.
"""

from typing import TYPE_CHECKING

from genmcp.deferred import defer

# Not deferred, as a page has the same name, which importing it would put here instead.
from genmcp.mcp.v2607.build_discovery import capabilities

if TYPE_CHECKING:
    from genmcp.mcp.unset import UNSET, Unset
    from genmcp.mcp.v2607.base import (
        JSONRPC_VERSION,
        LATEST_PROTOCOL_VERSION,
        PROTOCOL_VERSION,
        Annotations,
        CacheScope,
        Cursor,
        Icon,
        Implementation,
        JSONArray,
        JSONObject,
        JSONValue,
        LoggingLevel,
        MetaObject,
        ProgressToken,
        RequestId,
        ResultType,
        Role,
    )
    from genmcp.mcp.v2607.build_content import (
        Binary,
        ContentKind,
        Media,
        content_block,
        resource_contents,
    )
    from genmcp.mcp.v2607.build_discovery import (
        CapabilityFlags,
        discover_result,
        server_info,
    )
    from genmcp.mcp.v2607.build_prompts import (
        PromptEntries,
        PromptEntry,
        get_prompt_result,
        list_prompts_result,
    )
    from genmcp.mcp.v2607.build_resources import (
        list_resource_templates_result,
        list_resources_result,
        read_resource_result,
    )
    from genmcp.mcp.v2607.build_tools import (
        Describable,
        ToolResultEntries,
        ToolResultEntry,
        call_tool_result,
        list_tools_result,
    )
    from genmcp.mcp.v2607.caching import (
        default_cache_control,
    )
    from genmcp.mcp.v2607.cancellation import (
        CancelledNotification,
        CancelledNotificationParams,
    )
    from genmcp.mcp.v2607.capabilities import (
        ClientCapabilities,
        ElicitationCapability,
        PromptsCapability,
        ResourcesCapability,
        RootsCapability,
        SamplingCapability,
        ServerCapabilities,
        ToolsCapability,
    )
    from genmcp.mcp.v2607.completion import (
        MAX_COMPLETION_VALUES,
        CompleteRequest,
        CompleteRequestParams,
        CompleteResult,
        Completion,
        CompletionArgument,
        CompletionContext,
        PromptReference,
        ResourceTemplateReference,
    )
    from genmcp.mcp.v2607.content import (
        AudioContent,
        BlobResourceContents,
        ContentBlock,
        EmbeddedResource,
        ImageContent,
        Resource,
        ResourceContents,
        ResourceLink,
        SamplingMessageContentBlock,
        TextContent,
        TextResourceContents,
        ToolResultContent,
        ToolUseContent,
    )
    from genmcp.mcp.v2607.discovery import (
        DiscoverRequest,
        DiscoverResult,
    )
    from genmcp.mcp.v2607.elicitation import (
        ElicitRequest,
        ElicitRequestFormParams,
        ElicitRequestParams,
        ElicitRequestURLParams,
        ElicitResult,
        ElicitValue,
    )
    from genmcp.mcp.v2607.error_codes import (
        HEADER_MISMATCH,
        INTERNAL_ERROR,
        INVALID_PARAMS,
        INVALID_REQUEST,
        METHOD_NOT_FOUND,
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        PARSE_ERROR,
        UNSUPPORTED_PROTOCOL_VERSION,
    )
    from genmcp.mcp.v2607.exchange import (
        CacheableResult,
        EmptyResult,
        InputResponseRequestParams,
        Notification,
        NotificationParams,
        PaginatedRequestParams,
        PaginatedResult,
        Request,
        RequestParams,
        ResourceRequestParams,
        Result,
        UnknownNotification,
        UnknownRequest,
    )
    from genmcp.mcp.v2607.form_schema import (
        BooleanSchema,
        EnumOption,
        EnumSchema,
        FormSchema,
        LegacyTitledEnumSchema,
        MultiSelectEnumSchema,
        NumberSchema,
        PrimitiveSchemaDefinition,
        SingleSelectEnumSchema,
        StringSchema,
        TitledEnumItems,
        TitledMultiSelectEnumSchema,
        TitledSingleSelectEnumSchema,
        UntitledEnumItems,
        UntitledMultiSelectEnumSchema,
        UntitledSingleSelectEnumSchema,
    )
    from genmcp.mcp.v2607.jsonrpc import (
        Error,
        JSONRPCErrorResponse,
        JSONRPCMessage,
        JSONRPCNotification,
        JSONRPCRequest,
        JSONRPCResponse,
        JSONRPCResultResponse,
    )
    from genmcp.mcp.v2607.jsonrpc_errors import (
        HeaderMismatchError,
        HeaderMismatchErrorObject,
        InternalError,
        InvalidParamsError,
        InvalidRequestError,
        MethodNotFoundError,
        MissingRequiredClientCapabilityError,
        MissingRequiredClientCapabilityErrorData,
        MissingRequiredClientCapabilityErrorObject,
        ParseError,
        UnsupportedProtocolVersionError,
        UnsupportedProtocolVersionErrorData,
        UnsupportedProtocolVersionErrorObject,
    )
    from genmcp.mcp.v2607.logging import (
        LoggingMessageNotification,
        LoggingMessageNotificationParams,
    )
    from genmcp.mcp.v2607.messages import (
        NOTIFICATIONS,
        REQUESTS,
        RESULTS,
        CallToolResultResponse,
        ClientNotification,
        ClientRequest,
        ClientResult,
        CompleteResultResponse,
        DiscoverResultResponse,
        GetPromptResultResponse,
        ListPromptsResultResponse,
        ListResourcesResultResponse,
        ListResourceTemplatesResultResponse,
        ListToolsResultResponse,
        ReadResourceResultResponse,
        ServerNotification,
        ServerResult,
        SubscriptionsListenResultResponse,
    )
    from genmcp.mcp.v2607.meta import (
        CLIENT_CAPABILITIES_KEY,
        CLIENT_INFO_KEY,
        LOG_LEVEL_KEY,
        PROTOCOL_VERSION_KEY,
        SERVER_INFO_KEY,
        SUBSCRIPTION_ID_KEY,
        NotificationMetaObject,
        RequestMeta,
        RequestMetaObject,
        ResultMeta,
        ResultMetaObject,
        SubscriptionsListenResultMetaObject,
    )
    from genmcp.mcp.v2607.mrtr import (
        InputRequest,
        InputRequests,
        InputRequiredResult,
        InputResponse,
        InputResponses,
    )
    from genmcp.mcp.v2607.progress import (
        ProgressNotification,
        ProgressNotificationParams,
    )
    from genmcp.mcp.v2607.prompts import (
        GetPromptRequest,
        GetPromptRequestParams,
        GetPromptResult,
        ListPromptsRequest,
        ListPromptsResult,
        Prompt,
        PromptArgument,
        PromptListChangedNotification,
        PromptMessage,
    )
    from genmcp.mcp.v2607.resources import (
        ListResourcesRequest,
        ListResourcesResult,
        ListResourceTemplatesRequest,
        ListResourceTemplatesResult,
        ReadResourceRequest,
        ReadResourceRequestParams,
        ReadResourceResult,
        ResourceListChangedNotification,
        ResourceTemplate,
        ResourceUpdatedNotification,
        ResourceUpdatedNotificationParams,
    )
    from genmcp.mcp.v2607.roots import (
        ListRootsRequest,
        ListRootsRequestParams,
        ListRootsResult,
        Root,
    )
    from genmcp.mcp.v2607.sampling import (
        CreateMessageRequest,
        CreateMessageRequestParams,
        CreateMessageResult,
        ModelHint,
        ModelPreferences,
        SamplingMessage,
        ToolChoice,
    )
    from genmcp.mcp.v2607.subscriptions import (
        SubscriptionFilter,
        SubscriptionsAcknowledgedNotification,
        SubscriptionsAcknowledgedNotificationParams,
        SubscriptionsListenRequest,
        SubscriptionsListenRequestParams,
        SubscriptionsListenResult,
    )
    from genmcp.mcp.v2607.tools import (
        CallToolRequest,
        CallToolRequestParams,
        CallToolResult,
        ListToolsRequest,
        ListToolsResult,
        Tool,
        ToolAnnotations,
        ToolListChangedNotification,
    )
else:
    __getattr__, __dir__ = defer(
        __name__,
        {
            "genmcp.mcp.unset": "UNSET Unset",
            "genmcp.mcp.v2607.base": (
                "JSONRPC_VERSION LATEST_PROTOCOL_VERSION PROTOCOL_VERSION Annotations CacheScope "
                "Cursor Icon Implementation JSONArray JSONObject JSONValue LoggingLevel "
                "MetaObject ProgressToken RequestId ResultType Role"
            ),
            "genmcp.mcp.v2607.build_content": (
                "Binary ContentKind Media content_block resource_contents"
            ),
            "genmcp.mcp.v2607.build_discovery": ("CapabilityFlags discover_result server_info"),
            "genmcp.mcp.v2607.build_prompts": (
                "PromptEntries PromptEntry get_prompt_result list_prompts_result"
            ),
            "genmcp.mcp.v2607.build_resources": (
                "list_resource_templates_result list_resources_result read_resource_result"
            ),
            "genmcp.mcp.v2607.build_tools": (
                "Describable ToolResultEntries ToolResultEntry call_tool_result list_tools_result"
            ),
            "genmcp.mcp.v2607.caching": "default_cache_control",
            "genmcp.mcp.v2607.cancellation": "CancelledNotification CancelledNotificationParams",
            "genmcp.mcp.v2607.capabilities": (
                "ClientCapabilities ElicitationCapability PromptsCapability ResourcesCapability "
                "RootsCapability SamplingCapability ServerCapabilities ToolsCapability"
            ),
            "genmcp.mcp.v2607.completion": (
                "MAX_COMPLETION_VALUES CompleteRequest CompleteRequestParams CompleteResult "
                "Completion CompletionArgument CompletionContext PromptReference "
                "ResourceTemplateReference"
            ),
            "genmcp.mcp.v2607.content": (
                "AudioContent BlobResourceContents ContentBlock EmbeddedResource ImageContent "
                "Resource ResourceContents ResourceLink SamplingMessageContentBlock TextContent "
                "TextResourceContents ToolResultContent ToolUseContent"
            ),
            "genmcp.mcp.v2607.discovery": "DiscoverRequest DiscoverResult",
            "genmcp.mcp.v2607.elicitation": (
                "ElicitRequest ElicitRequestFormParams ElicitRequestParams ElicitRequestURLParams "
                "ElicitResult ElicitValue"
            ),
            "genmcp.mcp.v2607.error_codes": (
                "HEADER_MISMATCH INTERNAL_ERROR INVALID_PARAMS INVALID_REQUEST METHOD_NOT_FOUND "
                "MISSING_REQUIRED_CLIENT_CAPABILITY PARSE_ERROR UNSUPPORTED_PROTOCOL_VERSION"
            ),
            "genmcp.mcp.v2607.exchange": (
                "CacheableResult EmptyResult InputResponseRequestParams Notification "
                "NotificationParams PaginatedRequestParams PaginatedResult Request RequestParams "
                "ResourceRequestParams Result UnknownNotification UnknownRequest"
            ),
            "genmcp.mcp.v2607.form_schema": (
                "BooleanSchema EnumOption EnumSchema FormSchema LegacyTitledEnumSchema "
                "MultiSelectEnumSchema NumberSchema PrimitiveSchemaDefinition "
                "SingleSelectEnumSchema StringSchema TitledEnumItems TitledMultiSelectEnumSchema "
                "TitledSingleSelectEnumSchema UntitledEnumItems UntitledMultiSelectEnumSchema "
                "UntitledSingleSelectEnumSchema"
            ),
            "genmcp.mcp.v2607.jsonrpc": (
                "Error JSONRPCErrorResponse JSONRPCMessage JSONRPCNotification JSONRPCRequest "
                "JSONRPCResponse JSONRPCResultResponse"
            ),
            "genmcp.mcp.v2607.jsonrpc_errors": (
                "HeaderMismatchError HeaderMismatchErrorObject InternalError InvalidParamsError "
                "InvalidRequestError MethodNotFoundError MissingRequiredClientCapabilityError "
                "MissingRequiredClientCapabilityErrorData "
                "MissingRequiredClientCapabilityErrorObject ParseError "
                "UnsupportedProtocolVersionError UnsupportedProtocolVersionErrorData "
                "UnsupportedProtocolVersionErrorObject"
            ),
            "genmcp.mcp.v2607.logging": (
                "LoggingMessageNotification LoggingMessageNotificationParams"
            ),
            "genmcp.mcp.v2607.messages": (
                "NOTIFICATIONS REQUESTS RESULTS CallToolResultResponse ClientNotification "
                "ClientRequest ClientResult CompleteResultResponse DiscoverResultResponse "
                "GetPromptResultResponse ListPromptsResultResponse ListResourcesResultResponse "
                "ListResourceTemplatesResultResponse ListToolsResultResponse "
                "ReadResourceResultResponse ServerNotification ServerResult "
                "SubscriptionsListenResultResponse"
            ),
            "genmcp.mcp.v2607.meta": (
                "CLIENT_CAPABILITIES_KEY CLIENT_INFO_KEY LOG_LEVEL_KEY PROTOCOL_VERSION_KEY "
                "SERVER_INFO_KEY SUBSCRIPTION_ID_KEY NotificationMetaObject RequestMeta "
                "RequestMetaObject ResultMeta ResultMetaObject "
                "SubscriptionsListenResultMetaObject"
            ),
            "genmcp.mcp.v2607.mrtr": (
                "InputRequest InputRequests InputRequiredResult InputResponse InputResponses"
            ),
            "genmcp.mcp.v2607.progress": "ProgressNotification ProgressNotificationParams",
            "genmcp.mcp.v2607.prompts": (
                "GetPromptRequest GetPromptRequestParams GetPromptResult ListPromptsRequest "
                "ListPromptsResult Prompt PromptArgument PromptListChangedNotification "
                "PromptMessage"
            ),
            "genmcp.mcp.v2607.resources": (
                "ListResourcesRequest ListResourcesResult ListResourceTemplatesRequest "
                "ListResourceTemplatesResult ReadResourceRequest ReadResourceRequestParams "
                "ReadResourceResult ResourceListChangedNotification ResourceTemplate "
                "ResourceUpdatedNotification ResourceUpdatedNotificationParams"
            ),
            "genmcp.mcp.v2607.roots": (
                "ListRootsRequest ListRootsRequestParams ListRootsResult Root"
            ),
            "genmcp.mcp.v2607.sampling": (
                "CreateMessageRequest CreateMessageRequestParams CreateMessageResult ModelHint "
                "ModelPreferences SamplingMessage ToolChoice"
            ),
            "genmcp.mcp.v2607.subscriptions": (
                "SubscriptionFilter SubscriptionsAcknowledgedNotification "
                "SubscriptionsAcknowledgedNotificationParams SubscriptionsListenRequest "
                "SubscriptionsListenRequestParams SubscriptionsListenResult"
            ),
            "genmcp.mcp.v2607.tools": (
                "CallToolRequest CallToolRequestParams CallToolResult ListToolsRequest "
                "ListToolsResult Tool ToolAnnotations ToolListChangedNotification"
            ),
        },
    )

__all__ = [
    "CLIENT_CAPABILITIES_KEY",
    "CLIENT_INFO_KEY",
    "HEADER_MISMATCH",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "JSONRPC_VERSION",
    "LATEST_PROTOCOL_VERSION",
    "LOG_LEVEL_KEY",
    "MAX_COMPLETION_VALUES",
    "METHOD_NOT_FOUND",
    "MISSING_REQUIRED_CLIENT_CAPABILITY",
    "NOTIFICATIONS",
    "PARSE_ERROR",
    "PROTOCOL_VERSION",
    "PROTOCOL_VERSION_KEY",
    "REQUESTS",
    "RESULTS",
    "SERVER_INFO_KEY",
    "SUBSCRIPTION_ID_KEY",
    "UNSET",
    "UNSUPPORTED_PROTOCOL_VERSION",
    "Annotations",
    "AudioContent",
    "Binary",
    "BlobResourceContents",
    "BooleanSchema",
    "CacheScope",
    "CacheableResult",
    "CallToolRequest",
    "CallToolRequestParams",
    "CallToolResult",
    "CallToolResultResponse",
    "CancelledNotification",
    "CancelledNotificationParams",
    "CapabilityFlags",
    "ClientCapabilities",
    "ClientNotification",
    "ClientRequest",
    "ClientResult",
    "CompleteRequest",
    "CompleteRequestParams",
    "CompleteResult",
    "CompleteResultResponse",
    "Completion",
    "CompletionArgument",
    "CompletionContext",
    "ContentBlock",
    "ContentKind",
    "CreateMessageRequest",
    "CreateMessageRequestParams",
    "CreateMessageResult",
    "Cursor",
    "Describable",
    "DiscoverRequest",
    "DiscoverResult",
    "DiscoverResultResponse",
    "ElicitRequest",
    "ElicitRequestFormParams",
    "ElicitRequestParams",
    "ElicitRequestURLParams",
    "ElicitResult",
    "ElicitValue",
    "ElicitationCapability",
    "EmbeddedResource",
    "EmptyResult",
    "EnumOption",
    "EnumSchema",
    "Error",
    "FormSchema",
    "GetPromptRequest",
    "GetPromptRequestParams",
    "GetPromptResult",
    "GetPromptResultResponse",
    "HeaderMismatchError",
    "HeaderMismatchErrorObject",
    "Icon",
    "ImageContent",
    "Implementation",
    "InputRequest",
    "InputRequests",
    "InputRequiredResult",
    "InputResponse",
    "InputResponseRequestParams",
    "InputResponses",
    "InternalError",
    "InvalidParamsError",
    "InvalidRequestError",
    "JSONArray",
    "JSONObject",
    "JSONRPCErrorResponse",
    "JSONRPCMessage",
    "JSONRPCNotification",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "JSONRPCResultResponse",
    "JSONValue",
    "LegacyTitledEnumSchema",
    "ListPromptsRequest",
    "ListPromptsResult",
    "ListPromptsResultResponse",
    "ListResourceTemplatesRequest",
    "ListResourceTemplatesResult",
    "ListResourceTemplatesResultResponse",
    "ListResourcesRequest",
    "ListResourcesResult",
    "ListResourcesResultResponse",
    "ListRootsRequest",
    "ListRootsRequestParams",
    "ListRootsResult",
    "ListToolsRequest",
    "ListToolsResult",
    "ListToolsResultResponse",
    "LoggingLevel",
    "LoggingMessageNotification",
    "LoggingMessageNotificationParams",
    "Media",
    "MetaObject",
    "MethodNotFoundError",
    "MissingRequiredClientCapabilityError",
    "MissingRequiredClientCapabilityErrorData",
    "MissingRequiredClientCapabilityErrorObject",
    "ModelHint",
    "ModelPreferences",
    "MultiSelectEnumSchema",
    "Notification",
    "NotificationMetaObject",
    "NotificationParams",
    "NumberSchema",
    "PaginatedRequestParams",
    "PaginatedResult",
    "ParseError",
    "PrimitiveSchemaDefinition",
    "ProgressNotification",
    "ProgressNotificationParams",
    "ProgressToken",
    "Prompt",
    "PromptArgument",
    "PromptEntries",
    "PromptEntry",
    "PromptListChangedNotification",
    "PromptMessage",
    "PromptReference",
    "PromptsCapability",
    "ReadResourceRequest",
    "ReadResourceRequestParams",
    "ReadResourceResult",
    "ReadResourceResultResponse",
    "Request",
    "RequestId",
    "RequestMeta",
    "RequestMetaObject",
    "RequestParams",
    "Resource",
    "ResourceContents",
    "ResourceLink",
    "ResourceListChangedNotification",
    "ResourceRequestParams",
    "ResourceTemplate",
    "ResourceTemplateReference",
    "ResourceUpdatedNotification",
    "ResourceUpdatedNotificationParams",
    "ResourcesCapability",
    "Result",
    "ResultMeta",
    "ResultMetaObject",
    "ResultType",
    "Role",
    "Root",
    "RootsCapability",
    "SamplingCapability",
    "SamplingMessage",
    "SamplingMessageContentBlock",
    "ServerCapabilities",
    "ServerNotification",
    "ServerResult",
    "SingleSelectEnumSchema",
    "StringSchema",
    "SubscriptionFilter",
    "SubscriptionsAcknowledgedNotification",
    "SubscriptionsAcknowledgedNotificationParams",
    "SubscriptionsListenRequest",
    "SubscriptionsListenRequestParams",
    "SubscriptionsListenResult",
    "SubscriptionsListenResultMetaObject",
    "SubscriptionsListenResultResponse",
    "TextContent",
    "TextResourceContents",
    "TitledEnumItems",
    "TitledMultiSelectEnumSchema",
    "TitledSingleSelectEnumSchema",
    "Tool",
    "ToolAnnotations",
    "ToolChoice",
    "ToolListChangedNotification",
    "ToolResultContent",
    "ToolResultEntries",
    "ToolResultEntry",
    "ToolUseContent",
    "ToolsCapability",
    "UnknownNotification",
    "UnknownRequest",
    "Unset",
    "UnsupportedProtocolVersionError",
    "UnsupportedProtocolVersionErrorData",
    "UnsupportedProtocolVersionErrorObject",
    "UntitledEnumItems",
    "UntitledMultiSelectEnumSchema",
    "UntitledSingleSelectEnumSchema",
    "call_tool_result",
    "capabilities",
    "content_block",
    "default_cache_control",
    "discover_result",
    "get_prompt_result",
    "list_prompts_result",
    "list_resource_templates_result",
    "list_resources_result",
    "list_tools_result",
    "read_resource_result",
    "resource_contents",
    "server_info",
]
