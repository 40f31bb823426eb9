"""What the client answered: read by the kind that was asked, never guessed.

Layer: contract. A provider asks with `InputRequired`; the client retries the call,
and the provider finds the answers in `channel.answers`. Those of earlier rounds are
there too, so a provider can be written straight down:

    sure = channel.answers.form("sure", Sure)
    if sure is None:
        return InputRequired({"sure": elicit_form("Delete it?", Sure)})
    match sure:
        case Accepted(content): ...
        case Declined() | Cancelled(): ...

An answer comes without a mark of its kind, so the provider, which knows what it
asked, names the kind. What does not fit is the client's fault: -32602.

Spec: basic/patterns/mrtr, client/elicitation#response-actions
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast, overload

import attrs

from genmcp.errors import InvalidParams
from genmcp.mcp import v2607 as mcp
from genmcp.value import Value
from genmcp.wire.arguments import ArgumentReader, ArgumentsError
from genmcp.wire.codec import DecodeError, decode, encode

T = TypeVar("T")
# As strings, so that these pages are not loaded for those who ask nothing.
_K = TypeVar("_K", "mcp.ElicitResult", "mcp.CreateMessageResult", "mcp.ListRootsResult")


@attrs.frozen(eq=False, repr=False)
class Accepted(Value, Generic[T]):
    """The user said yes. For a form, `content` is what was entered."""

    content: T


@attrs.frozen(eq=False, repr=False)
class Declined(Value):
    """The user said no."""


@attrs.frozen(eq=False, repr=False)
class Cancelled(Value):
    """The user neither said yes nor no, such as by closing the window."""


FormAnswer: TypeAlias = Accepted[T] | Declined | Cancelled
"""What a user did with a form or a page."""


class Answers(Mapping[str, Any]):
    """The client's answers by key, in wire form; read them with the methods.

    Every method returns `None` while the key is not answered.

    """

    __slots__ = ("_client_state", "_given")

    def __init__(self, given: Mapping[str, Any] | None = None, client_state: Any = None) -> None:
        self._given = dict(given or {})
        self._client_state = client_state

    @property
    def client_state(self) -> Any:
        """What the provider gave `InputRequired`, or `None`."""
        return self._client_state

    def __getitem__(self, key: str) -> Any:
        return self._given[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __repr__(self) -> str:
        return f"Answers({self._given!r}, client_state={self.client_state!r})"

    @overload
    def form(self, key: str, form: type[T]) -> FormAnswer[T] | None: ...
    @overload
    def form(self, key: str, form: mcp.FormSchema) -> FormAnswer[dict[str, Any]] | None: ...

    def form(self, key: str, form: type[T] | mcp.FormSchema) -> FormAnswer[Any] | None:
        """Return the answer to `elicit_form` under `key`.

        Args:
            key: the key it was asked under.
            form: the class, or the schema, that was asked with. An accepted
                form's content is checked against it, and is an instance of the
                class, or a dict.

        Raises:
            InvalidParams: the client's answer does not fit the form.

        Spec: client/elicitation#form-mode-security
        """
        result = self._decode(key, mcp.ElicitResult)
        if result is None:
            return None
        if result.action != "accept":
            return _read_refusal(result)
        # Not repaired: a form is filled in by a person, through a client that
        # knows the types of its fields, and not by a model.
        reader = ArgumentReader.compile(_form_source(form), repair=False)
        try:
            return Accepted(reader.read(result.content))
        except ArgumentsError as error:
            raise InvalidParams(f"inputResponses.{key}.content: {error}") from None

    def url(self, key: str) -> FormAnswer[None] | None:
        """Return the answer to `elicit_url` under `key`.

        Accepted means that the user agreed to open the page, not that whatever is
        done there is done: look for that yourself, and ask again if it is not.

        Raises:
            InvalidParams: the client's answer has the wrong shape.
        """
        result = self._decode(key, mcp.ElicitResult)
        if result is None:
            return None
        return Accepted(None) if result.action == "accept" else _read_refusal(result)

    def sampling(self, key: str) -> mcp.CreateMessageResult | None:
        """Return the answer to `sample` under `key`. Raises as `url`."""
        return self._decode(key, mcp.CreateMessageResult)

    def roots(self, key: str) -> list[mcp.Root] | None:
        """Return the answer to `list_roots` under `key`. Raises as `url`."""
        result = self._decode(key, mcp.ListRootsResult)
        return None if result is None else list(result.roots)

    def _decode(self, key: str, kind: type[_K]) -> _K | None:
        if key not in self._given:
            return None
        try:
            return decode(kind, self._given[key])
        except DecodeError as error:
            raise InvalidParams(str(error.under("inputResponses", key))) from None


NO_ANSWERS: Final = Answers()
"""What a client has answered that was not asked anything. Shared: it cannot change."""


def _read_refusal(result: mcp.ElicitResult) -> Declined | Cancelled:
    return Declined() if result.action == "decline" else Cancelled()


def _form_source(form: type[Any] | mcp.FormSchema) -> Any:
    if isinstance(form, mcp.FormSchema):
        return encode(form)
    return cast("Any", form)
