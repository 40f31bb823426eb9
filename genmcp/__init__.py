"""genmcp: Model Context Protocol servers as classes, on trio.

    from genmcp import Suite, Tool

    class Hello(Tool, name="hello"):
        \"\"\"Says hello.\"\"\"

        async def call(self, request, channel):
            return "hello"

    suite = Suite(server_name="greeter", server_version="1.0.0", tools=[Hello])

THE MAP. Folders are layers; each imports only what stands above it here:

    value deferred
                  what classes of values have in common; names imported when asked for
    mcp/v2607/    what is said: the protocol's messages as attrs classes, builders
    setting errors limits telemetry outcome events event_bus tokens access answers
    questions caller channel server
                  what both sides agree on: the contracts
    authorization/
                  whose access tokens are good, and for what
    wire/         JSON to objects and back, JSON Schema, a tool's arguments
    providers/    what you write: Tool, PromptRepo, ResourceRepo, Extension,
                  SubscriptionHandler
    suite/        who answers: the ready-made Server, one module per spec page
    mux/          how it runs: one call, one scope, exactly one ending
    legacy/       clients of 2025: their messages in terms of today's, and the stores of what
                  their sessions must remember
    transport/    how it travels, over HTTP and stdio: pure logic, and the shells that do
                  the I/O
    otel          what is told of calls, to OpenTelemetry (extra `otel`)
    testing/      how you check it: call a tool, fake a channel, be a client
    cli/          the `genmcp` command

The trail of a `tools/call`, each station named in its module's docstring:

    transport.http1      the connection (transport.asgi, where an ASGI server has it)
    transport.endpoint   what is looked at in which order; reads the body
    transport.inbound    bytes and headers to a request, or a refusal
    mux.call             a scope and a channel for it; asks the server, writes one ending
    mux.worker           where it streams: its messages, one after the other
    suite.suite          which page answers
    suite.tools          finds, checks, unseals, calls
    your Tool.call
    transport.reply      events to HTTP parts, written out by the shell

What is re-exported here is the public surface; `genmcp.testing` is the rest of it. A name
is imported when it is first asked for: who defines tools loads no transport. Nothing inside
the package imports this module.
"""

from typing import TYPE_CHECKING

from genmcp.deferred import defer

# Not deferred, as the folder has the same name, which importing it would put here instead.
from genmcp.mcp import v2607 as mcp

if TYPE_CHECKING:
    from genmcp.access import Access
    from genmcp.answers import Accepted, Answers, Cancelled, Declined, FormAnswer
    from genmcp.authorization import (
        Authorization,
        InvalidToken,
        TokenVerifier,
        VerifierUnavailable,
    )
    from genmcp.caller import Caller
    from genmcp.channel import BlockingChannel, Channel
    from genmcp.errors import (
        CallbackReturnError,
        HeaderMismatch,
        InsufficientScope,
        InternalError,
        InvalidParams,
        InvalidRequest,
        LimitExceeded,
        MailboxFull,
        McpError,
        MethodNotFound,
        MissingRequiredClientCapability,
        NotFound,
        Overloaded,
        ParseError,
        TokenError,
        ToolError,
        UnsupportedProtocolVersion,
    )
    from genmcp.event_bus import Change, EventBus
    from genmcp.events import EncodeError
    from genmcp.legacy.memory_replay import MemoryReplayStore
    from genmcp.legacy.memory_store import MemorySessionStore
    from genmcp.legacy.replay import Missed, ReplayStore, StreamLost
    from genmcp.legacy.store import SessionState, SessionStore
    from genmcp.limits import RateLimit
    from genmcp.mcp.unset import UNSET, Unset
    from genmcp.outcome import Error, InputRequired, Stream
    from genmcp.providers import (
        CacheControl,
        EventSubscriptions,
        Extension,
        Listening,
        PromptReply,
        PromptRepo,
        PromptRepoSource,
        ReadReply,
        Reply,
        ResourceRepo,
        ResourceRepoSource,
        SubscriptionCapabilities,
        SubscriptionHandler,
        Tool,
        ToolSource,
    )
    from genmcp.providers.uri_template import UriTemplate
    from genmcp.questions import elicit_form, elicit_url, list_roots, sample
    from genmcp.server import Server
    from genmcp.suite import Suite
    from genmcp.telemetry import (
        CallEnded,
        CallInfo,
        Observer,
        Outcome,
        RefusalReason,
        RequestRefused,
    )
    from genmcp.tokens import Keyring
    from genmcp.transport.asgi import StreamableHTTP
    from genmcp.transport.serve import serve
    from genmcp.transport.stdio.serve import serve_stdio
    from genmcp.wire.arguments import ArgumentsError
    from genmcp.wire.output import OutputMismatch
    from genmcp.wire.schema import SchemaError
else:
    __getattr__, __dir__ = defer(
        __name__,
        {
            "genmcp.access": "Access",
            "genmcp.answers": "Accepted Answers Cancelled Declined FormAnswer",
            "genmcp.authorization": "Authorization InvalidToken TokenVerifier VerifierUnavailable",
            "genmcp.caller": "Caller",
            "genmcp.channel": "BlockingChannel Channel",
            "genmcp.errors": (
                "CallbackReturnError HeaderMismatch InsufficientScope InternalError InvalidParams "
                "InvalidRequest LimitExceeded MailboxFull McpError MethodNotFound "
                "MissingRequiredClientCapability NotFound Overloaded ParseError TokenError "
                "ToolError UnsupportedProtocolVersion"
            ),
            "genmcp.event_bus": "Change EventBus",
            "genmcp.events": "EncodeError",
            "genmcp.legacy.memory_replay": "MemoryReplayStore",
            "genmcp.legacy.memory_store": "MemorySessionStore",
            "genmcp.legacy.replay": "Missed ReplayStore StreamLost",
            "genmcp.legacy.store": "SessionState SessionStore",
            "genmcp.limits": "RateLimit",
            "genmcp.mcp.unset": "UNSET Unset",
            "genmcp.outcome": "Error InputRequired Stream",
            "genmcp.providers": (
                "CacheControl EventSubscriptions Extension Listening PromptReply PromptRepo "
                "PromptRepoSource ReadReply Reply ResourceRepo ResourceRepoSource "
                "SubscriptionCapabilities SubscriptionHandler Tool ToolSource"
            ),
            "genmcp.providers.uri_template": "UriTemplate",
            "genmcp.questions": "elicit_form elicit_url list_roots sample",
            "genmcp.server": "Server",
            "genmcp.suite": "Suite",
            "genmcp.telemetry": "CallEnded CallInfo Observer Outcome RefusalReason RequestRefused",
            "genmcp.tokens": "Keyring",
            "genmcp.transport.asgi": "StreamableHTTP",
            "genmcp.transport.serve": "serve",
            "genmcp.transport.stdio.serve": "serve_stdio",
            "genmcp.wire.arguments": "ArgumentsError",
            "genmcp.wire.output": "OutputMismatch",
            "genmcp.wire.schema": "SchemaError",
        },
    )

__all__ = [
    "UNSET",
    "Accepted",
    "Access",
    "Answers",
    "ArgumentsError",
    "Authorization",
    "BlockingChannel",
    "CacheControl",
    "CallEnded",
    "CallInfo",
    "CallbackReturnError",
    "Caller",
    "Cancelled",
    "Change",
    "Channel",
    "Declined",
    "EncodeError",
    "Error",
    "EventBus",
    "EventSubscriptions",
    "Extension",
    "FormAnswer",
    "HeaderMismatch",
    "InputRequired",
    "InsufficientScope",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "InvalidToken",
    "Keyring",
    "LimitExceeded",
    "Listening",
    "MailboxFull",
    "McpError",
    "MemoryReplayStore",
    "MemorySessionStore",
    "MethodNotFound",
    "Missed",
    "MissingRequiredClientCapability",
    "NotFound",
    "Observer",
    "Outcome",
    "OutputMismatch",
    "Overloaded",
    "ParseError",
    "PromptReply",
    "PromptRepo",
    "PromptRepoSource",
    "RateLimit",
    "ReadReply",
    "RefusalReason",
    "ReplayStore",
    "Reply",
    "RequestRefused",
    "ResourceRepo",
    "ResourceRepoSource",
    "SchemaError",
    "Server",
    "SessionState",
    "SessionStore",
    "Stream",
    "StreamLost",
    "StreamableHTTP",
    "SubscriptionCapabilities",
    "SubscriptionHandler",
    "Suite",
    "TokenError",
    "TokenVerifier",
    "Tool",
    "ToolError",
    "ToolSource",
    "Unset",
    "UnsupportedProtocolVersion",
    "UriTemplate",
    "VerifierUnavailable",
    "elicit_form",
    "elicit_url",
    "list_roots",
    "mcp",
    "sample",
    "serve",
    "serve_stdio",
]
