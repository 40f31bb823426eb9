"""What each side can do.

Layer: vocabulary. The presence of a capability object means support, empty or
not. Spec: basic/index#capabilities
"""

from collections.abc import Mapping
from typing import Any

import attrs

from genmcp.mcp.v2607.base import JSONObject, meta_problem
from genmcp.mcp.v2607.checks import Check, show
from genmcp.mcp.v2607.fields import WireObject, checked


def extensions_problem(extensions: Mapping[str, JSONObject]) -> str | None:
    """Say which identifier of an extension breaks the grammar, or has no prefix.

    Spec: basic/versioning#extension-negotiation
    """
    for identifier in extensions:
        if "/" not in identifier or meta_problem({identifier: None}) is not None:
            return f"must have identifiers like 'com.example/name', got {show(identifier)}"
    return None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class RootsCapability(WireObject):
    """The client can list its roots. Deprecated by the protocol."""

    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class SamplingCapability(WireObject):
    """The client can ask its model. Deprecated by the protocol.

    Attributes:
        context: `includeContext` values other than `none` are supported.
        tools: the model may be given tools.
    """

    context: JSONObject | None = None
    tools: JSONObject | None = None
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ElicitationCapability(WireObject):
    """The client can ask its user. Empty means forms only.

    Attributes:
        form: questions answered in a form.
        url: questions answered on a web page.
    """

    form: JSONObject | None = None
    url: JSONObject | None = None
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ClientCapabilities(WireObject):
    """What the client declares on a request. Open.

    Spec: basic/index#meta
    """

    experimental: Mapping[str, JSONObject] | None = None
    roots: RootsCapability | None = None
    sampling: SamplingCapability | None = None
    elicitation: ElicitationCapability | None = None
    extensions: Mapping[str, JSONObject] | None = None
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class PromptsCapability(WireObject):
    """The server has prompts."""

    list_changed: bool | None = None
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ResourcesCapability(WireObject):
    """The server has resources."""

    subscribe: bool | None = None
    list_changed: bool | None = None
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ToolsCapability(WireObject):
    """The server has tools."""

    list_changed: bool | None = None
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ServerCapabilities(WireObject):
    """What the server offers. Open; built with `capabilities()`.

    Attributes:
        extensions: the settings of each extension the server speaks, by its identifier.

    Raises:
        ValueError: an identifier without a prefix, or not like a key of `_meta`.

    Spec: server/discover#capabilities
    """

    experimental: Mapping[str, JSONObject] | None = None
    logging: JSONObject | None = None
    completions: JSONObject | None = None
    prompts: PromptsCapability | None = None
    resources: ResourcesCapability | None = None
    tools: ToolsCapability | None = None
    extensions: Mapping[str, JSONObject] | None = attrs.field(
        default=None, validator=Check(extensions_problem)
    )
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
