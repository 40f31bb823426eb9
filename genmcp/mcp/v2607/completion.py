"""Completion: suggestions for an argument while the user types it.

Layer: vocabulary. Spec: server/utilities/completion
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Literal

import attrs

from genmcp.mcp.v2607.exchange import Request, RequestParams, Result
from genmcp.mcp.v2607.fields import WireObject, checked, required

MAX_COMPLETION_VALUES: Final = 100
"""How many suggestions one answer may hold."""


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class PromptReference(WireObject):
    """The argument belongs to a prompt."""

    type: ClassVar[Literal["ref/prompt"]] = "ref/prompt"
    name: str
    title: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ResourceTemplateReference(WireObject):
    """The argument is a variable of a resource template.

    Attributes:
        uri: a URI or a URI template.
    """

    type: ClassVar[Literal["ref/resource"]] = "ref/resource"
    uri: str


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CompletionArgument(WireObject):
    """What the user has typed so far."""

    name: str
    value: str


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CompletionContext(WireObject):
    """What is known already.

    Attributes:
        arguments: the values of other arguments by name.
    """

    arguments: Mapping[str, str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CompleteRequestParams(RequestParams):
    """Which argument to complete."""

    ref: PromptReference | ResourceTemplateReference
    argument: CompletionArgument
    context: CompletionContext | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CompleteRequest(Request):
    """Asks for suggestions."""

    method: ClassVar[str] = "completion/complete"
    params: CompleteRequestParams


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class Completion(WireObject):
    """Suggestions, best first.

    Attributes:
        values: at most 100.
        total: how many there are in all, if known.
        has_more: there are more than these.

    Raises:
        ValueError: more than 100 values.
    """

    values: Sequence[str] = attrs.field(factory=list[str], metadata=required())
    total: int | None = None
    has_more: bool | None = None

    def __attrs_post_init__(self) -> None:
        if len(self.values) > MAX_COMPLETION_VALUES:
            raise ValueError(
                f"Completion.values must hold at most {MAX_COMPLETION_VALUES} values, "
                f"got {len(self.values)}; cut the list and set has_more=True"
            )


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CompleteResult(Result):
    """The suggestions."""

    completion: Completion
