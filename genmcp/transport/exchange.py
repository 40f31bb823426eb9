"""One HTTP request: its body in, its response out, whatever carries them.

Layer: transport, shell; below `genmcp.transport.endpoint`, which decides what to answer.
Here is what holds for every carrier: how much of a body is read and for how long, how a
refusal gets through to a client that is still sending, and that nothing is written after
a write that went wrong. The carriers: `genmcp.transport.asgi_exchange` for ASGI servers,
`genmcp.transport.http1.exchange` for our own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import trio

from genmcp.events import ClientGone, Sink
from genmcp.mux.reporter import NOBODY
from genmcp.transport import headers as header
from genmcp.transport.reply import render_refusal
from genmcp.transport.watch import run_watched

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from genmcp.events import Event
    from genmcp.mux import Call
    from genmcp.transport.headers import RequestHeaders
    from genmcp.transport.inbound import Refusal
    from genmcp.transport.reply import HeaderPairs, Part, Reply, Whole

Scope: TypeAlias = MutableMapping[str, Any]
"""What ASGI tells of a request, and what the application's own functions get."""

DRAIN_BYTES: Final = 65_536
DRAIN_SECONDS: Final = 1.0
"""How much of an unwanted body is still read, and for how long, before a refusal.

Answering over a body that is still arriving makes some clients see a broken
connection instead of the answer, and a small one costs little.
"""


class BodyTooLargeError(Exception):
    """More bytes arrived than are read."""


class BadBodyError(Exception):
    """The body is cut into pieces in a way that cannot be read."""


class BodyStalledError(Exception):
    """Nothing more of the body came for too long.

    Attributes:
        seconds: how long, which is the connection's `read_timeout_seconds`.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"nothing came for {seconds:g} s")
        self.seconds = seconds


class Exchange(Sink):
    """Reads the body of one request and sends its response.

    Args:
        verb: the HTTP method.
        headers: those of the request's headers that matter.
        client_address: where the request came from, if that is known.
        http1: whether the connection carries one request at a time.

    Attributes:
        verb: as given.
        headers: as given.
        client_address: as given.
        response_headers: what every response to this request says besides its own.
        reply: renders the events that are written; to be set before the first.
        reporter: is told if the request is refused.
        dispatched: whether the request has become a call, whose end is told by itself.
        responded: whether any part of a response was handed on.
        client_left: whether the client is known to have gone.
    """

    def __init__(
        self,
        verb: str,
        headers: RequestHeaders,
        client_address: str | None,
        *,
        http1: bool,
    ) -> None:
        self.verb = verb
        self.headers = headers
        self.client_address = client_address
        self.response_headers: HeaderPairs = ()
        self.reply: Reply | None = None
        self.reporter = NOBODY
        self.dispatched = False
        self.client_left = False
        self.responded = False
        self._http1 = http1
        self._body_read = False
        self._broken = False
        self._told: Scope | None = None

    @property
    @abstractmethod
    def path(self) -> str:
        """The path that is asked for, decoded."""

    @property
    def mounted_at(self) -> str:
        """Where the application is mounted, without a trailing slash."""
        return ""

    @property
    def scope(self) -> Scope:
        """What ASGI says of the request, and those proxies that are believed."""
        scope = self._describe()
        return scope if self._told is None else {**scope, **self._told}

    def believe(self, client_address: str | None, scheme: str | None) -> None:
        """Let the request come from where its proxies say.

        Args:
            client_address: the client's; `None` if they do not tell.
            scheme: the one it used, `http` or `https`; `None` for that of the connection.
        """
        self.client_address = client_address
        client = None if client_address is None else (client_address, 0)
        self._told = {"client": client} if scheme is None else {"client": client, "scheme": scheme}

    @property
    def reachable(self) -> bool:
        """Whether the client is there, as far as is known, and can be written to."""
        return not (self._broken or self.client_left)

    @property
    def http1(self) -> bool:
        """Whether the connection carries one request at a time."""
        return self._http1

    # -- for the carriers --------------------------------------------------------

    @abstractmethod
    def _describe(self) -> Scope:
        """Return what ASGI says of the request."""

    @abstractmethod
    async def _receive_piece(self) -> bytes:
        """Return the next piece of the body; set `_body_read` with the last.

        Raises:
            ClientGone: the client left before it had sent everything.
            BadBodyError: what it sent cannot be read.
            BodyStalledError: the carrier has waited for it long enough.
        """

    @abstractmethod
    async def _send(self, parts: Sequence[Part]) -> None:
        """Send these parts; set `responded` before the first byte goes out.

        Raises:
            ClientGone: nobody is there to take them.
        """

    @abstractmethod
    async def wait_until_gone(self) -> None:
        """Wait until the client has left. Cancelling it loses nothing."""

    def run_call(self, call: Call, keepalive_seconds: float) -> Coroutine[Any, Any, None]:
        """Run `call` to its end, cancel it when the client leaves, keep it alive until then.

        Cancellation: the call is cancelled as if its client had gone; this returns after
        its clean-ups.
        """
        return run_watched(call, self, keepalive_seconds)

    # -- the body ----------------------------------------------------------------

    def take_body(self, max_bytes: int) -> bytes | None:
        """Return the whole body if all of it is here already, and no more than that.

        Most often it is, and then nothing has to be waited for; otherwise `read_body` is
        still to be asked.
        """
        return None

    async def read_body(self, *, max_bytes: int, timeout_seconds: float) -> bytes:
        """Return the whole body.

        Raises:
            ClientGone: the client left before it had sent everything.
            BodyTooLargeError: there is more than `max_bytes` of it.
            BadBodyError: it cannot be read.
            BodyStalledError: the carrier has waited for more of it long enough.
            trio.TooSlowError: it was not there within `timeout_seconds`.
        """
        pieces: list[bytes] = []
        size = 0
        with trio.fail_after(timeout_seconds):
            while not self._body_read:
                piece = await self._receive_piece()
                size += len(piece)
                if size > max_bytes:
                    raise BodyTooLargeError
                pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _drain(self) -> bool:
        """Read what is left of a small body; return whether nothing is left."""
        length = self.headers.get(header.CONTENT_LENGTH)
        if length is None:
            has_body = not self._http1 or self.headers.get(header.TRANSFER_ENCODING)
            if not has_body:
                return True
        elif not length.isdigit() or len(length) > 6 or int(length) > DRAIN_BYTES:  # noqa: PLR2004
            return False
        with trio.move_on_after(DRAIN_SECONDS):
            size = 0
            try:
                while not self._body_read and size <= DRAIN_BYTES:
                    size += len(await self._receive_piece())
            except (BadBodyError, BodyStalledError):
                return False
        return self._body_read

    # -- the response ------------------------------------------------------------

    async def write(self, event: Event) -> None:
        """See `Sink.write`."""
        if self._broken:
            raise ClientGone
        assert self.reply is not None
        # Cancelled here, nothing has happened yet and the next event may follow.
        await trio.lowlevel.checkpoint_if_cancelled()
        await self.send_parts(self.reply.render(event))

    async def refuse(self, refusal: Refusal, *, drain: bool = True) -> None:
        """Send a refusal; see `send_early`.

        Raises:
            ClientGone: nobody was there to take it.
        """
        whole = render_refusal(refusal.status, refusal.error, refusal.request_id, refusal.headers)
        await self.send_early(whole, drain=drain)

    async def send_early(self, whole: Whole, *, drain: bool = True) -> None:
        """Send a complete response to a request whose body may not have been read.

        Args:
            whole: the response.
            drain: read what is left of a small body first; without it, or when more
                is left, the connection is closed after the answer.

        Raises:
            ClientGone: nobody was there to take it.
        """
        if not (self._body_read or (drain and await self._drain())) and self._http1:
            whole = attrs.evolve(whole, headers=(*whole.headers, (b"connection", b"close")))
        await self.send_whole(whole)

    async def send_whole(self, whole: Whole) -> None:
        """Send a complete response.

        Raises:
            ClientGone: nobody was there to take it.
        """
        await self.send_parts((whole,))

    async def send_parts(self, parts: Sequence[Part]) -> None:
        """Send parts of a response that is not rendered by `reply`.

        Raises:
            ClientGone: nobody was there to take them.
        """
        if self._broken:
            raise ClientGone
        # Until all is out, so that a send which is cancelled half-way leaves it so.
        self._broken = True
        await self._send(parts)
        self._broken = False
