"""Tools of the fixture that only answer: content of every kind, progress, logs, errors."""

from __future__ import annotations

import io
import json
import wave
from typing import Annotated, Any, Final

import attrs
import trio

from genmcp import Channel, InputRequired, Tool, ToolError, elicit_form, mcp

PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAE"
    "hQGAhKmMIQAAAABJRU5ErkJggg=="
)
"""One red pixel."""

PAUSE_SECONDS: Final = 0.05
"""Long enough for a client to see that what is sent does not come all at once."""


def make_wav() -> bytes:
    """Return a hundredth of a second of silence."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(160))
    return file.getvalue()


class SimpleText(Tool, name="test_simple_text"):
    """Answers with a text. Stands first: the suite calls the first tool without arguments."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> str:
        return "This is a simple text response for testing."


class ImageContent(Tool, name="test_image_content"):
    """Answers with an image."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> mcp.CallToolResult:
        return mcp.call_tool_result(image=("image/png", PNG))


class AudioContent(Tool, name="test_audio_content"):
    """Answers with a sound."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> mcp.CallToolResult:
        return mcp.call_tool_result(audio=("audio/wav", make_wav()))


class EmbeddedResource(Tool, name="test_embedded_resource"):
    """Answers with a resource."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> mcp.CallToolResult:
        return mcp.call_tool_result(
            resource={
                "uri": "test://embedded-resource",
                "mime_type": "text/plain",
                "text": "This is an embedded resource content.",
            }
        )


class MultipleContentTypes(Tool, name="test_multiple_content_types"):
    """Answers with a text, an image and a resource."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> mcp.CallToolResult:
        return mcp.call_tool_result(
            text="Multiple content types test:",
            image=("image/png", PNG),
            resource={
                "uri": "test://mixed-content-resource",
                "mime_type": "application/json",
                "text": json.dumps({"test": "data", "value": 123}),
            },
        )


class ErrorHandling(Tool, name="test_error_handling"):
    """Always fails."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> str:
        raise ToolError("This tool intentionally returns an error for testing")


class WithProgress(Tool, name="test_tool_with_progress"):
    """Reports progress three times."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> str:
        await channel.send_progress(0, total=100)
        await trio.sleep(PAUSE_SECONDS)
        await channel.send_progress(50, total=100)
        await trio.sleep(PAUSE_SECONDS)
        await channel.send_progress(100, total=100)
        return "Progress was reported three times."


class WithLogging(Tool, name="test_tool_with_logging"):
    """Logs three times."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> str:
        await channel.send_log("info", "Tool execution started")
        await trio.sleep(PAUSE_SECONDS)
        await channel.send_log("info", "Tool processing data")
        await trio.sleep(PAUSE_SECONDS)
        await channel.send_log("info", "Tool execution completed")
        return "Three messages were logged."


class Reconnection(Tool, name="test_reconnection"):
    """Outlives its stream, which the server closes: see `legacy_stream_seconds`."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> str:
        await channel.start_stream()
        await trio.sleep(1)
        return "The client came back."


class LoggingTool(Tool, name="test_logging_tool"):
    """Logs once, which only a client that asked for logs may hear."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> str:
        await channel.send_log("info", "Not for those who did not ask")
        return "One message was logged."


class StreamingElicitation(Tool, name="test_streaming_elicitation"):
    """Asks on an open stream. The question is the answer, not a request beside it."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> InputRequired | str:
        await channel.start_stream()
        if channel.answers.form("ready", Ready) is None:
            return InputRequired({"ready": elicit_form("Are you ready?", Ready)})
        return "The client was asked, and answered."


@attrs.frozen
class Ready:
    ready: bool


class MissingCapability(Tool, name="test_missing_capability", requires={"sampling": {}}):
    """Is only for clients that lend their model."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> str:
        return "This client declares sampling."


@attrs.frozen
class Where:
    region: Annotated[
        str | None, "which region, repeated in Mcp-Param-Region", {"x-mcp-header": "Region"}
    ] = None


class XMcpHeader(Tool[Where], name="test_x_mcp_header"):
    """Takes an argument that clients repeat in a header."""

    async def call(self, request: mcp.CallToolRequest[Where], channel: Channel) -> str:
        return f"The region is {request.params.arguments.region!r}."


CONTACT: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""A schema that is lost if anything in it is resolved, flattened or left out."""


class JsonSchema202012(Tool, name="json_schema_2020_12_tool", input_schema=CONTACT):
    """Takes what only JSON Schema 2020-12 can describe."""

    async def call(self, request: mcp.CallToolRequest, channel: Channel) -> str:
        return json.dumps(request.params.arguments)


CONTENT_TOOLS: Final = (
    SimpleText,
    ImageContent,
    AudioContent,
    EmbeddedResource,
    MultipleContentTypes,
    ErrorHandling,
    WithProgress,
    WithLogging,
    Reconnection,
    LoggingTool,
    StreamingElicitation,
    MissingCapability,
    XMcpHeader,
    JsonSchema202012,
)
