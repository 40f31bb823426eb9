"""Requests that take several round trips: the server asks, the client retries.

Layer: vocabulary. Spec: basic/patterns/mrtr
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from genmcp.mcp.v2607.elicitation import ElicitRequest, ElicitResult
from genmcp.mcp.v2607.exchange import Result
from genmcp.mcp.v2607.fields import LENIENT, checked
from genmcp.mcp.v2607.roots import ListRootsRequest, ListRootsResult
from genmcp.mcp.v2607.sampling import CreateMessageRequest, CreateMessageResult

InputRequest: TypeAlias = CreateMessageRequest | ListRootsRequest | ElicitRequest
"""One question to the client."""

InputRequests: TypeAlias = Mapping[str, InputRequest]
"""Questions under keys of the server's choice."""

InputResponse: TypeAlias = CreateMessageResult | ListRootsResult | ElicitResult
"""One answer of the client; only the question tells which it is."""

InputResponses: TypeAlias = Mapping[str, Any]
"""Answers as they came, under the keys of the questions."""


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class InputRequiredResult(Result):
    """The request needs more input; the client retries it with the answers.

    Attributes:
        input_requests: the questions.
        request_state: a sealed string the client sends back as it is.

    Raises:
        ValueError: neither of the two is given.
    """

    result_type: str = attrs.field(default="input_required", metadata={LENIENT: True})
    input_requests: Mapping[str, InputRequest] | None = None
    request_state: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.input_requests is None and self.request_state is None:
            raise ValueError(
                "InputRequiredResult needs input_requests, request_state, or both: "
                "with neither the client has nothing to answer"
            )
