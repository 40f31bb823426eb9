"""Elicitation: asking the client's user, in a form or on a web page.

Layer: vocabulary. The schemas a form is made of are in `form_schema`.
Spec: client/elicitation
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

import attrs

from genmcp.mcp.v2607.fields import WireObject, checked
from genmcp.mcp.v2607.form_schema import FormSchema

ElicitValue: TypeAlias = str | float | bool | Sequence[str]
"""What a user can enter in one field; integers are numbers here."""


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ElicitRequestFormParams(WireObject):
    """A form to fill in.

    Attributes:
        message: why you ask, for the user to read.
        requested_schema: the form's fields, flat.
    """

    mode: ClassVar[Literal["form"]] = "form"
    message: str
    requested_schema: FormSchema


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ElicitRequestURLParams(WireObject):
    """A web page to visit. Accepting it is consent, not completion."""

    mode: ClassVar[Literal["url"]] = "url"
    message: str
    url: str


ElicitRequestParams: TypeAlias = ElicitRequestFormParams | ElicitRequestURLParams
"""What the user is asked."""


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ElicitRequest(WireObject):
    """Asks the client's user. An input request: it has no id."""

    method: ClassVar[Literal["elicitation/create"]] = "elicitation/create"
    params: ElicitRequestFormParams | ElicitRequestURLParams


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ElicitResult(WireObject):
    """What the user did, and entered.

    Attributes:
        content: the form's values by name, when `action` is `accept`.
    """

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, ElicitValue] | None = None
