"""Questions to the client, for `InputRequired`.

Layer: contract. Here rather than in the vocabulary because a form may be a typed
class, whose schema `genmcp.wire` derives. `genmcp.answers` reads what comes back.

Spec: client/elicitation, client/sampling, client/roots
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from genmcp.errors import show
from genmcp.mcp import v2607 as mcp
from genmcp.wire.codec import DecodeError, decode, encode
from genmcp.wire.typed import schema_of
from genmcp.wire.typed_fields import is_typed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def elicit_form(message: str, form: type[Any] | mcp.FormSchema) -> mcp.ElicitRequest:
    """Ask the client's user to fill in a form.

    Never for passwords, keys or payment data: the protocol forbids it. Use
    `elicit_url` for those.

    Args:
        message: why you ask, for the user to read.
        form: an attrs class, dataclass or TypedDict whose fields are strings,
            numbers, booleans, enumerations of strings, or lists of such an
            enumeration; or a ready `mcp.FormSchema`.

    Raises:
        TypeError: the class has a field that a form cannot have; names it.
        ValueError: `message` is blank.

    Spec: client/elicitation#form-mode-elicitation-requests
    """
    _check_message(message)
    schema = form if isinstance(form, mcp.FormSchema) else form_schema_of(form)
    params = mcp.ElicitRequestFormParams(message=message, requested_schema=schema)
    return mcp.ElicitRequest(params=params)


def elicit_url(message: str, url: str) -> mcp.ElicitRequest:
    """Ask the client's user to open a web page, for what must not pass the client.

    Args:
        message: why you ask, for the user to read.
        url: an absolute `https` URL; `http` is for development. It must hold no
            secret of the user and nothing that logs its opener in, and the page
            must check that whoever opens it is the user who was asked.

    Raises:
        ValueError: `message` is blank, or `url` is not such a URL, or holds a user
            and a password.

    Spec: client/elicitation#url-mode-elicitation-requests
    """
    _check_message(message)
    scheme, separator, rest = url.partition("://")
    if scheme.lower() not in {"https", "http"} or not separator or not rest.strip("/"):
        raise ValueError(f"url must be an absolute https URL, got {url!r}")
    if "@" in re.split(r"[/?#]", rest, maxsplit=1)[0]:
        # Not repeated: it is a secret, and errors are logged.
        raise ValueError("url must not log in whoever opens it: take out the part before @")
    return mcp.ElicitRequest(params=mcp.ElicitRequestURLParams(message=message, url=url))


def sample(
    messages: str | Sequence[mcp.SamplingMessage],
    *,
    max_tokens: int,
    system_prompt: str | None = None,
    temperature: float | None = None,
    stop_sequences: Sequence[str] | None = None,
    model_preferences: mcp.ModelPreferences | None = None,
    include_context: Literal["none", "thisServer", "allServers"] | None = None,
    tools: Sequence[mcp.Tool] | None = None,
    tool_choice: mcp.ToolChoice | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> mcp.CreateMessageRequest:
    """Ask the client's model. Deprecated by the protocol: call a model yourself.

    Args:
        messages: the conversation, or one text as the user's message.
        max_tokens: the most the model may write.
        system_prompt: what the model is told beforehand.
        temperature: how much chance there is in its choice of words.
        stop_sequences: texts at which it stops.
        model_preferences: which model you would like.
        include_context: what else it is shown; other than `none` needs the
            client's `sampling.context`.
        tools: what it may call; needs the client's `sampling.tools`.
        tool_choice: whether it must; as `tools`.
        metadata: handed to the provider of the model.

    Raises:
        ValueError: `max_tokens` is not positive, there is no message, or a wish of the
            model to call a tool is not answered by the very next message.

    Spec: client/sampling
    """
    if max_tokens < 1:
        raise ValueError(f"max_tokens must be positive, got {max_tokens!r}")
    if isinstance(messages, str):
        content = mcp.TextContent(text=messages)
        messages = [mcp.SamplingMessage(role="user", content=content)]
    if not messages:
        raise ValueError("messages must hold at least one message")
    params = mcp.CreateMessageRequestParams(
        messages=messages,
        max_tokens=max_tokens,
        system_prompt=system_prompt,
        temperature=temperature,
        stop_sequences=stop_sequences,
        model_preferences=model_preferences,
        include_context=include_context,
        tools=tools,
        tool_choice=tool_choice,
        metadata=metadata,
    )
    return mcp.CreateMessageRequest(params=params)


def list_roots() -> mcp.ListRootsRequest:
    """Ask which folders the client works in. Deprecated by the protocol.

    Spec: client/roots
    """
    return mcp.ListRootsRequest()


def form_schema_of(cls: type[Any]) -> mcp.FormSchema:
    """Return the form that asks for the fields of a typed class.

    Raises:
        TypeError: no such class, or a field that a form cannot have; names it.
    """
    if not is_typed(cls):
        raise TypeError(
            "the form must be an attrs class, a dataclass, a TypedDict or an mcp.FormSchema, "
            f"got {show(cls)}"
        )
    schema = schema_of(cls)
    properties: dict[str, Any] = schema.get("properties", {})
    for name, field in properties.items():
        _check_field(cls, name, field)
    form = {"type": "object", "properties": properties}
    if schema.get("required"):
        form["required"] = schema["required"]
    return decode(mcp.FormSchema, form)


def _check_field(cls: type[Any], name: str, field: Any) -> None:
    """Refuse a field of which the form would not say everything."""
    expected = (
        "a form takes strings (email, uri, date or date-time), numbers, booleans, "
        "enumerations of strings, and lists of those"
    )
    try:
        understood = decode(mcp.FormSchema, {"type": "object", "properties": {name: field}})
    except DecodeError as error:
        raise TypeError(f"{cls.__qualname__}.{name}: {expected} ({error})") from None
    lost = set(field) - set(encode(understood)["properties"][name])
    if lost:
        raise TypeError(f"{cls.__qualname__}.{name}: {expected}; not {', '.join(sorted(lost))}")


def _check_message(message: str) -> None:
    # Swapped with what is asked for, say.
    if not isinstance(message, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"message, the first argument, must be a str, got {show(message)}")
    if not message.strip():
        raise ValueError("message must say why you ask")
