"""What a hook may answer besides a result.

Layer: contract. Authors import these from `genmcp`; the suite and the mux match
on them. A ready result is a class of `genmcp.mcp.v2607`; the three here are the
other endings: stay open, ask the client, fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic

import attrs
from typing_extensions import TypeVar

from genmcp.errors import InternalError, McpError, show
from genmcp.value import Value

if TYPE_CHECKING:
    from genmcp.mcp import v2607 as mcp

S = TypeVar("S", default=Any)


@attrs.frozen(eq=False, repr=False)
class Stream(Value, Generic[S]):
    """Keep the call open; posted messages go to `handle_message` with `state`.

    Returned from `handle_message`, it keeps the call open with the new state.
    """

    state: S


@attrs.frozen(eq=False, repr=False)
class InputRequired(Value):
    """Ask the client for input; it retries the call with the answers.

    Attributes:
        requests: what to ask, under keys of your choice. May be empty when
            `client_state` is given: the client then simply tries again.
        client_state: any JSON value. It is sealed into `requestState`, bound to
            this call, and comes back as `channel.answers.client_state` (for a tool
            also as `request.params.request_state`).

    Raises:
        ValueError: neither requests nor a state is given.
        TypeError: `requests` is not a mapping, or holds something that is no question.

    Wire form: a result with `resultType: "input_required"`. Asking for what the
    client did not declare is answered -32021 instead.

    Spec: basic/patterns/mrtr
    """

    requests: Mapping[str, mcp.InputRequest] = attrs.field(factory=dict[str, "mcp.InputRequest"])
    client_state: Any = None

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.requests, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                "InputRequired takes questions under keys of your choice, such as "
                f'{{"sure": elicit_form(...)}}, got {show(self.requests)}'
            )
        for key, question in self.requests.items():
            if not hasattr(question, "method"):
                raise TypeError(
                    f"InputRequired: {key!r} must be a question, such as elicit_form(...), "
                    f"got {show(question)}"
                )
        if not self.requests and self.client_state is None:
            raise ValueError(
                "InputRequired needs requests, a client_state, or both: "
                "with neither the client would have nothing to answer"
            )


@attrs.frozen(eq=False, repr=False)
class Error(Value):
    """Answer with a JSON-RPC error.

    `reason` is an `McpError`, or a sentence, which becomes -32603 with that
    sentence as its message. Nothing is masked: the author chose the words.

    Raises:
        TypeError: `reason` is neither.
    """

    reason: McpError | str

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.reason, McpError | str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Error takes an McpError or a str, got {self.reason!r}")

    @property
    def error(self) -> McpError:
        """The error that goes out."""
        return self.reason if isinstance(self.reason, McpError) else InternalError(self.reason)
