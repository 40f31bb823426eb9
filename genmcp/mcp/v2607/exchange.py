"""What requests, notifications and results have in common.

Layer: vocabulary. The JSON-RPC envelope around them is in `jsonrpc`; a request
here does not know its id. Spec: basic/index#messages
"""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

import attrs

from genmcp.mcp.v2607.base import CacheScope, Cursor
from genmcp.mcp.v2607.caching import NO_TTL
from genmcp.mcp.v2607.checks import Check
from genmcp.mcp.v2607.fields import LENIENT, WIRE_TYPE, WireObject, checked, required
from genmcp.mcp.v2607.meta import (
    NotificationMetaObject,
    RequestMetaObject,
    ResultMetaObject,
)


def _ttl_problem(ttl_ms: int) -> str | None:
    return None if ttl_ms >= 0 else f"must be 0 or more milliseconds, got {ttl_ms!r}"


# -- requests --------------------------------------------------------------------


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class RequestParams(WireObject):
    """The parameters every request has."""

    meta: RequestMetaObject


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class PaginatedRequestParams(RequestParams):
    """The parameters of a request for one page of a listing."""

    cursor: Cursor | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class InputResponseRequestParams(RequestParams):
    """The parameters of a request that may come back with answers.

    Attributes:
        input_responses: the answers under the keys of `inputRequests`, as they
            came. Read one with `genmcp.wire.codec.decode` as the result type of
            what was asked there: the wire does not say its type.
        request_state: a string the server gave earlier. The suite replaces it by
            the state it unsealed from it.

    Spec: basic/patterns/mrtr
    """

    input_responses: Mapping[str, Any] | None = None
    request_state: Any = attrs.field(default=None, metadata={WIRE_TYPE: str | None})


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ResourceRequestParams(RequestParams):
    """The parameters of a request about one resource."""

    uri: str


class Request(WireObject):
    """A request of a client, without its id. One subclass for each method.

    Attributes:
        method: the method's name on the wire.
        params: its parameters; each subclass says of which class.
    """

    __slots__ = ()

    method: ClassVar[str]
    params: Any


@attrs.frozen(eq=False, repr=False, slots=False, field_transformer=checked)
class UnknownRequest(Request):
    """A request with a method this vocabulary does not have.

    Attributes:
        params: the parameters as they came, `_meta` included.
    """

    # Everywhere else the class is the method; here only the instance knows it.
    method: str  # type: ignore[misc]  # pyright: ignore[reportIncompatibleVariableOverride]
    params: dict[str, Any] = attrs.field(factory=dict[str, Any])


# -- notifications ---------------------------------------------------------------


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class NotificationParams(WireObject):
    """The parameters any notification may have."""

    meta: NotificationMetaObject | None = None


class Notification(WireObject):
    """A message nobody answers. One subclass for each method."""

    __slots__ = ()

    method: ClassVar[str]
    params: Any


@attrs.frozen(eq=False, repr=False, slots=False, field_transformer=checked)
class UnknownNotification(Notification):
    """A notification with a method this vocabulary does not have."""

    # As in UnknownRequest.
    method: str  # type: ignore[misc]  # pyright: ignore[reportIncompatibleVariableOverride]
    params: dict[str, Any] = attrs.field(factory=dict[str, Any])


# -- results ---------------------------------------------------------------------


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class Result(WireObject):
    """The answer to a request. Open: members not named are in `extra`.

    Attributes:
        meta: holds the server's identity, and any key of your own.
        result_type: `complete`, `input_required`, or a value of an extension.
        extra: members of extensions, in wire form.

    Spec: basic/index#result-responses
    """

    meta: ResultMetaObject | None = None
    result_type: str = attrs.field(default="complete", metadata={LENIENT: True})
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


EmptyResult: TypeAlias = Result
"""A result that says only that it is done."""


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CacheableResult(Result):
    """A result the client may keep for a while.

    Attributes:
        ttl_ms: for how many milliseconds; 0 means not at all.
        cache_scope: `public` may be handed to other users, `private` not.

    Raises:
        ValueError: `ttl_ms` is negative, or `cache_scope` another word.

    Spec: server/utilities/caching#cacheable-results
    """

    ttl_ms: int = attrs.field(default=NO_TTL, validator=Check(_ttl_problem), metadata=required())
    cache_scope: CacheScope = attrs.field(default="private", metadata=required())


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class PaginatedResult(CacheableResult):
    """One page of a listing. Every listing of the protocol may be cached as well.

    Attributes:
        next_cursor: where the next page starts; None on the last one.

    Spec: server/utilities/pagination
    """

    next_cursor: Cursor | None = None
