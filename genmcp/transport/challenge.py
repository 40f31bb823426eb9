"""The challenge: what a refusal tells a client about getting a better token.

Layer: transport, pure. Renders `WWW-Authenticate`, for `genmcp.transport.authorize` and
for calls that end for want of a scope (`genmcp.transport.reply`).

What is written there never comes from the request: a value with a quote in it would
become parameters of its own, and clients follow what they read here to where users log in.

Spec: basic/authorization/index#error-handling; RFC 6750, section 3; RFC 9728, section 5.1
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

import attrs

from genmcp.errors import InsufficientScope
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from genmcp.transport.reply import HeaderPairs

Problem = Literal["invalid_request", "invalid_token", "insufficient_scope"]
"""The errors of RFC 6750."""

# RFC 6750: what an error_description may hold; a quote and a backslash are not in it.
_NOT_DESCRIPTION: Final = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")
_MAX_DESCRIPTION: Final = 300


@attrs.frozen(eq=False, repr=False)
class Challenges(Value):
    """Renders the challenges of one endpoint.

    Attributes:
        metadata_url: where the endpoint's metadata is; a URL of plain characters.
        required_scopes: what every request of the endpoint needs.
    """

    metadata_url: str
    required_scopes: frozenset[str]

    def render(
        self,
        error: Problem | None = None,
        description: str | None = None,
        scopes: Iterable[str] | None = None,
    ) -> HeaderPairs:
        """Return the header.

        Args:
            error: what is wrong with the token; `None` where none was sent.
            description: a sentence about it.
            scopes: what a token needs; default, what every request does.
        """
        wanted = sorted(self.required_scopes if scopes is None else scopes)
        parameters = [
            ("error", error),
            ("resource_metadata", self.metadata_url),
            ("scope", " ".join(wanted)),
            # Last, because it is prose: some clients look for `name=` anywhere.
            ("error_description", None if description is None else clean(description)),
        ]
        text = ", ".join(f'{name}="{value}"' for name, value in parameters if value)
        return ((b"www-authenticate", f"Bearer {text}".encode("ascii")),)

    def challenge(self, error: InsufficientScope) -> tuple[InsufficientScope, HeaderPairs]:
        """Complete an error that names only what a provider needs, and render it.

        With everything the operation needs in one challenge, one new token is enough.

        Spec: basic/authorization/index#runtime-insufficient-scope-errors
        """
        complete = InsufficientScope({*error.required, *self.required_scopes})
        return complete, self.render("insufficient_scope", complete.message, complete.required)


def clean(description: str) -> str:
    """Return `description` with what may not stand in the header replaced."""
    return _NOT_DESCRIPTION.sub("?", description[:_MAX_DESCRIPTION])
