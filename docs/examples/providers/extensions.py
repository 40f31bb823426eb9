"""A library whose members and staff see more than its guests: an MCP server in one file.

    export LIBRARY_USERS='{"secret-1": {"name": "ada", "role": "member"}}'
    genmcp serve docs/examples/providers/extensions.py:app

Everybody can read the catalogue. Members, told by the token in the `Authorization` header,
can borrow books and read what they have borrowed; staff can remind borrowers. The tokens
stand for whatever authenticates the requests of your application.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import attrs

from genmcp import (
    Extension,
    McpError,
    NotFound,
    PromptRepo,
    ResourceRepo,
    StreamableHTTP,
    Suite,
    Tool,
    ToolError,
    mcp,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from genmcp import Channel

NOT_AUTHENTICATED = 1401


class Library:
    """Books and loans. Belongs to the event loop: all that uses it is `async`."""

    def __init__(self) -> None:
        self.books = {"emma": "Emma", "ulysses": "Ulysses", "walden": "Walden"}
        self.borrowers: dict[str, str] = {}


# -- for everybody -------------------------------------------------------------------


@attrs.frozen
class Catalogue(
    ResourceRepo,
    prefix="book:///",
    template="book:///{id}",
    name="Book",
    cache_control=("public", 60_000),
):
    """A book of the library."""

    library: Library

    async def list_resources(self, cursor: Any, channel: Channel) -> Sequence[mcp.Resource]:
        """Return all books."""
        books = self.library.books.items()
        return [mcp.Resource(uri=f"book:///{id_}", name=title) for id_, title in books]

    async def read(self, target: Mapping[str, str], channel: Channel) -> str:
        """Return a book's title."""
        if target["id"] not in self.library.books:
            raise NotFound
        return self.library.books[target["id"]]


# -- for members ---------------------------------------------------------------------


@attrs.frozen
class Which:
    """Which book."""

    id: Annotated[str, "its id in the catalogue"]


@attrs.frozen
class Borrow(Tool[Which], name="borrow"):
    """Borrow a book."""

    library: Library

    async def call(self, request: mcp.CallToolRequest[Which], channel: Channel) -> str:
        """Lend it to who is calling; only members have this tool."""
        book = request.params.arguments.id
        if book not in self.library.books:
            raise ToolError(f"There is no book {book!r}.")
        borrower = self.library.borrowers.setdefault(book, channel.assigns["name"])
        if borrower != channel.assigns["name"]:
            raise ToolError("Somebody else has it.")
        return f"{self.library.books[book]} is yours for two weeks."


@attrs.frozen
class OwnLoans(ResourceRepo, prefix="loan:///"):
    """What one member has borrowed."""

    library: Library
    member: str

    async def list_resources(self, cursor: Any, channel: Channel) -> Sequence[mcp.Resource]:
        """Return the loans of this member."""
        loans = [book for book, name in self.library.borrowers.items() if name == self.member]
        return [mcp.Resource(uri=f"loan:///{id_}", name=id_) for id_ in loans]

    async def read(self, target: str, channel: Channel) -> str:
        """Return what was borrowed, to the one who borrowed it."""
        book = target.removeprefix("loan:///")
        if self.library.borrowers.get(book) != self.member:
            raise NotFound
        return f"{self.library.books[book]}, for two weeks"


class ForMembers(Extension):
    """What members and staff see besides: the same tool for each, loans of their own."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.borrow = Borrow(library)

    def tools(self, channel: Channel) -> Sequence[Borrow]:
        """Return the tool, or none to a guest."""
        return [self.borrow] if "name" in channel.assigns else []

    def resources(self, channel: Channel) -> Sequence[OwnLoans]:
        """Return a repository made for this caller. It costs nothing to make one."""
        name = channel.assigns.get("name")
        return [OwnLoans(self.library, name)] if name else []


# -- for staff -----------------------------------------------------------------------


@attrs.frozen
class Reminders(PromptRepo, prefix="remind-"):
    """A prompt for each borrower, who is reminded by it."""

    library: Library

    async def list_prompts(self, cursor: Any, channel: Channel) -> Sequence[mcp.Prompt]:
        """Return one for each who has borrowed something."""
        names = sorted(set(self.library.borrowers.values()))
        return [mcp.Prompt(name=f"remind-{name}", description=f"Reminds {name}.") for name in names]

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> str:
        """Fill in what the borrower has."""
        borrower = name.removeprefix("remind-")
        books = self.library.books
        titles = [books[id_] for id_, one in self.library.borrowers.items() if one == borrower]
        return f"Write a kind letter to {borrower}, who still has {', '.join(titles)}."


class ForStaff(Extension):
    """What only staff sees. The hooks may be `async`, to ask a database, say."""

    def __init__(self, library: Library) -> None:
        self.reminders = Reminders(library)

    async def prompts(self, channel: Channel) -> Sequence[Reminders]:
        """Return the reminders, to staff alone."""
        return [self.reminders] if channel.assigns.get("role") == "staff" else []


# -- the server ----------------------------------------------------------------------

Users = dict[str, dict[str, str]]
"""Who a token stands for: a name and a role."""


def make_app(
    library: Library, users: Users, secret_key: str | bytes | None = None
) -> StreamableHTTP:
    """Return the endpoint of `library`, for these users and for guests."""

    def find_user(scope: Mapping[str, Any]) -> dict[str, str]:
        authorization = dict(scope["headers"]).get(b"authorization")
        if authorization is None:
            return {}
        user = users.get(authorization.decode("latin-1").removeprefix("Bearer "))
        if user is None:
            raise McpError("This token is not known here", code=NOT_AUTHENTICATED)
        return user

    def find_name(scope: Mapping[str, Any]) -> str | None:
        return find_user(scope).get("name")

    suite = Suite(
        server_name="library",
        server_version="1.0.0",
        resources=[Catalogue(library)],
        extensions=[ForMembers(library), ForStaff(library)],
    )
    # What is sealed for one user (cursors, questions) is then refused from another.
    return StreamableHTTP(suite, assigns=find_user, principal=find_name, secret_key=secret_key)


app = make_app(
    Library(),
    users=json.loads(os.environ.get("LIBRARY_USERS") or "{}"),
    # `genmcp serve` hands its own key to suites only; an app is ready when it is loaded.
    secret_key=os.environ.get("GENMCP_SECRET_KEY"),
)
