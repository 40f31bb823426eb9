"""A travel desk that asks before it books: an MCP server in one file.

    genmcp serve docs/examples/providers/asking.py:suite

`book_trip` takes two rounds: how the user wants to travel, and whether the price is right.
`pay_trip` sends the user to a web page, so that nothing of a card passes the client.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs

from genmcp import (
    Accepted,
    Cancelled,
    Declined,
    InputRequired,
    Suite,
    Tool,
    ToolError,
    elicit_form,
    elicit_url,
    mcp,
)

if TYPE_CHECKING:
    from genmcp import Channel

PAYMENT_PAGE = "https://pay.example.org/trips/"


class Desk:
    """Fares and bookings. Belongs to the event loop: the tools that use it are `async`."""

    def __init__(self) -> None:
        self.fares = {"Bruges": 9, "Ghent": 11, "Paris": 60}
        self.bookings: dict[str, str] = {}
        self.paid: set[str] = set()

    def book(self, number: str, trip: str) -> None:
        """Book a trip. The same number again changes nothing."""
        self.bookings.setdefault(number, trip)


@attrs.frozen
class Trip:
    """Where to."""

    to: Annotated[str, "the town"]


@attrs.frozen
class Wishes:
    """The first form: its fields are strings, numbers, booleans and choices."""

    seats: Annotated[int, "How many seats?", {"minimum": 1, "maximum": 8}] = 1
    comfort: Literal["first class", "second class"] = "second class"


@attrs.frozen
class Agreement:
    """The second form."""

    agreed: Annotated[bool, "Book it"] = False


@attrs.frozen
class BookTrip(
    Tool[Trip],
    name="book_trip",
    # Refused at once, with -32021, is a client that cannot show forms.
    requires={"elicitation": {"form": {}}},
):
    """Book a trip by train. The user is asked how, and whether the price is right."""

    desk: Desk

    async def call(
        self, request: mcp.CallToolRequest[Trip], channel: Channel
    ) -> str | InputRequired:
        """Run from the top in each round; the answers so far are on the channel."""
        to = request.params.arguments.to
        if to not in self.desk.fares:
            raise ToolError(f"No train goes to {to}; there are {', '.join(self.desk.fares)}.")
        match channel.answers.form("wishes", Wishes):
            case None:
                question = elicit_form(f"How do you want to travel to {to}?", Wishes)
                return InputRequired({"wishes": question})
            case Accepted(wishes):
                return self._go_on(to, wishes, channel)
            case Declined():
                return "The user does not want to travel."
            case Cancelled():
                return "The user did not answer. Nothing was booked."

    def _go_on(self, to: str, wishes: Wishes, channel: Channel) -> str | InputRequired:
        offer: Any = channel.answers.client_state
        if offer is None:
            # Also where the client sent answers unasked: no price was said to that user.
            return self._make_offer(to, wishes)
        match channel.answers.form("agreement", Agreement):
            case Accepted(Agreement(agreed=True)):
                # A client may send the same answer twice, and the state opens each time:
                # its number is what makes one booking of them.
                self.desk.book(offer["number"], f"{wishes.seats} to {to} for {offer['price']}")
                return f"Booked as {offer['number']}, for {offer['price']} euros."
            case _:
                return "The user did not agree to the price. Nothing was booked."

    def _make_offer(self, to: str, wishes: Wishes) -> InputRequired:
        factor = 2 if wishes.comfort == "first class" else 1
        price = wishes.seats * self.desk.fares[to] * factor
        message = f"{wishes.seats} in the {wishes.comfort} to {to}: {price} euros."
        # The price that was agreed to is the one that is booked, though fares may change
        # in between: it travels with the client, who can neither read nor change it.
        return InputRequired(
            {"agreement": elicit_form(message, Agreement)},
            client_state={"number": secrets.token_hex(4), "price": price},
        )


@attrs.frozen
class Booking:
    """Which booking."""

    number: Annotated[str, "what `book_trip` said"]


@attrs.frozen
class PayTrip(Tool[Booking], name="pay_trip", requires={"elicitation": {"url": {}}}):
    """Have the user pay for a trip that was booked."""

    desk: Desk

    async def call(
        self, request: mcp.CallToolRequest[Booking], channel: Channel
    ) -> str | InputRequired:
        """Send the user to a page, and believe only the desk that it was paid."""
        number = request.params.arguments.number
        if number not in self.desk.bookings:
            raise ToolError(f"There is no booking {number}.")
        if number in self.desk.paid:
            return "It is paid."
        match channel.answers.url("payment"):
            case None:
                question = elicit_url("Pay for your trip.", PAYMENT_PAGE + number)
                return InputRequired({"payment": question})
            case Accepted():
                # To open the page, that is. What was done there, only the page knows.
                return "The page is open. Call again when the user says that it is paid."
            case _:
                return "The user does not want to pay now."


def make_suite(desk: Desk) -> Suite:
    """Return the server of `desk`."""
    return Suite(
        server_name="travel-desk",
        server_version="1.0.0",
        tools=[BookTrip(desk), PayTrip(desk)],
    )


suite = make_suite(Desk())
