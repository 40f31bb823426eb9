"""Scopes: what a provider requires, compared with what the caller's access token allows.

Layer: suite. Asked when the target of a request is found and before anything of the
author's runs for it. Lists show what needs more scopes than the caller has: a client
could not ask for what it does not know of.

Spec: basic/authorization/index#runtime-insufficient-scope-errors
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from genmcp.access import read_scopes
from genmcp.errors import InsufficientScope, InternalError, say_whose

if TYPE_CHECKING:
    from collections.abc import Collection

    from genmcp.caller import Caller


def ask_scopes(owner: str, given: Collection[str]) -> frozenset[str]:
    """Check what a `required_scopes` hook gave.

    Raises:
        TypeError, ValueError: naming the class.
    """
    try:
        return read_scopes(given)
    except (TypeError, ValueError) as error:
        raise say_whose(f"{owner}: required_scopes", error) from error


def has_scopes(required: frozenset[str], caller: Caller) -> bool:
    """Tell whether `caller` may have what requires these scopes."""
    if not required or not caller.scopes_apply:
        return True
    return caller.access is not None and required <= caller.access.scopes


def check_scopes(required: frozenset[str], caller: Caller) -> None:
    """Refuse a request for what requires more than the caller's token allows.

    Raises:
        InsufficientScope: with all of `required`. Wire form: -32600, HTTP 403.
        InternalError: the endpoint takes no tokens, so nobody can ever have them.
            Wire form: -32603, HTTP 500.
    """
    if has_scopes(required, caller):
        return
    if caller.access is None:
        raise InternalError(
            f"This needs the scopes {' '.join(sorted(required))}, and the server takes no "
            "access tokens: its author has to give StreamableHTTP an authorization="
        )
    raise InsufficientScope(required)
