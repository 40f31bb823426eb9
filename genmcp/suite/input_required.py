"""Input required: asking the client, and knowing one's own state again.

Layer: suite. A provider that returns `InputRequired` is asked again later, in
another request, perhaps in another process. What it wants to remember travels
with the client as `requestState`, sealed, and is bound to the method, the target
and the arguments of the call it belongs to. The request's id, its `_meta` and the
answers are not bound: they differ in the retry.

Spec: basic/patterns/mrtr
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import attrs
import orjson

from genmcp.errors import InvalidParams, MissingRequiredClientCapability
from genmcp.mcp import v2607 as mcp
from genmcp.tokens import TokenError
from genmcp.wire.json_text import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from genmcp.channel import Channel
    from genmcp.outcome import InputRequired

_log = logging.getLogger("genmcp.suite")

_PURPOSE: Final = "request state"
TTL_SECONDS: Final = 20 * 60
"""How long a client may take to answer."""

_Q = TypeVar("_Q", bound="mcp.CallToolRequest[Any]")


@attrs.frozen
class RequestState:
    """What one call's state is bound to."""

    method: str
    target: str
    arguments: Mapping[str, Any] | None

    def open(self, request: _Q, channel: Channel) -> _Q:
        """Return the retry with its state as the author gave it; `None` if it has none.

        Raises:
            InvalidParams: the state is not one this call was given.
        """
        token = request.params.request_state
        if token is None:
            return request
        try:
            sealed = channel.keyring.unseal(_PURPOSE, token, bound_to=self._bound_to())
        except TokenError as error:
            _log.warning("%s %r: requestState refused: %s", self.method, self.target, error.cause)
            raise InvalidParams("requestState is not valid for this call") from None
        state = orjson.loads(sealed)
        return attrs.evolve(request, params=attrs.evolve(request.params, request_state=state))

    def seal(self, asked: InputRequired, channel: Channel) -> mcp.InputRequiredResult:
        """Return the result that asks, its state sealed.

        Raises:
            MissingRequiredClientCapability: it asks for what the client did not
                declare on this request.
            EncodeError: the state is not JSON.
        """
        missing = _find_missing(asked.requests, channel.client_capabilities)
        if missing:
            raise MissingRequiredClientCapability(missing)
        token = None
        if asked.client_state is not None:
            token = channel.keyring.seal(
                _PURPOSE,
                write_json(asked.client_state),
                ttl_seconds=TTL_SECONDS,
                bound_to=self._bound_to(),
            )
        return mcp.InputRequiredResult(
            input_requests=dict(asked.requests) or None, request_state=token
        )

    def _bound_to(self) -> bytes:
        # Clients may write the same arguments differently the second time.
        return orjson.dumps(
            [self.method, self.target, _canonical(self.arguments or {})],
            option=orjson.OPT_SORT_KEYS,
        )


def _canonical(value: Any) -> Any:
    """Write numbers that are equal alike: `1.0` is `1`."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    match value:
        case dict():
            members = cast("dict[str, Any]", value)
            return {key: _canonical(item) for key, item in members.items()}
        case list():
            items = cast("list[Any]", value)
            return [_canonical(item) for item in items]
        case _:
            return value


def _find_missing(
    requests: Mapping[str, mcp.InputRequest], declared: mcp.ClientCapabilities
) -> dict[str, Any]:
    """Return what the requests need and the client lacks, as a capabilities object."""
    missing: dict[str, Any] = {}
    for request in requests.values():
        for capability, part in _needs(request):
            settings = getattr(declared, capability)
            if settings is None:
                missing.setdefault(capability, {})
            if part is not None and not _has_part(capability, part, settings):
                missing.setdefault(capability, {})[part] = {}
    return missing


def _needs(request: mcp.InputRequest) -> list[tuple[str, str | None]]:
    match request:
        case mcp.ListRootsRequest():
            return [("roots", None)]
        case mcp.CreateMessageRequest(params=params):
            needs: list[tuple[str, str | None]] = [("sampling", None)]
            if params.tools is not None or params.tool_choice is not None:
                needs.append(("sampling", "tools"))
            if params.include_context not in (None, "none"):
                needs.append(("sampling", "context"))
            return needs
        case mcp.ElicitRequest(params=mcp.ElicitRequestURLParams()):
            return [("elicitation", "url")]
        case mcp.ElicitRequest():
            return [("elicitation", "form")]


def _has_part(capability: str, part: str, settings: Any) -> bool:
    if settings is None:
        # An absent capability names all that is missing of it, except that form
        # is what elicitation means when it names nothing.
        return capability == "elicitation" and part == "form"
    if capability == "elicitation" and part == "form":
        return settings.form is not None or settings.url is None
    return getattr(settings, part) is not None
