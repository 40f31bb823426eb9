"""One HTTP request on ASGI: its body in, its response out.

Layer: transport, shell; below `genmcp.transport.asgi`, which decides what to answer.
Here is what ASGI servers do to an application: bodies in pieces, slow ones, endless
ones, clients that leave, and sends that fail.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import trio

from genmcp.events import ClientGone, Sink
from genmcp.mux.reporter import NOBODY
from genmcp.transport import headers as header
from genmcp.transport.headers import scan_headers
from genmcp.transport.reply import Chunk, End, Head, Whole, render_refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from genmcp.events import Event
    from genmcp.transport.inbound import Refusal
    from genmcp.transport.reply import HeaderPairs, Part, Reply

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_log = logging.getLogger("genmcp.transport")

DRAIN_BYTES: Final = 65_536
DRAIN_SECONDS: Final = 1.0
"""How much of an unwanted body is still read, and for how long, before a refusal.

Answering over a body that is still arriving makes some clients see a broken
connection instead of the answer, and a small one costs little.
"""


EARLY_BYTES: Final = 65_536
"""How much of a body is taken in while it is found out who is calling.

Only behind the body do ASGI servers tell that a client has left. A longer body is not read
on: nothing is known of its sender yet.
"""


class BodyTooLargeError(Exception):
    """More bytes arrived than are read."""


class Exchange(Sink):
    """Reads the body of one request and sends its response.

    Attributes:
        verb: the HTTP method.
        headers: the request's headers.
        client_address: where the request came from, if the server says.
        response_headers: what every response to this request says besides its own.
        reply: renders the events that are written; to be set before the first.
        reporter: is told if the request is refused.
        dispatched: whether the request has become a call, whose end is told by itself.
        responded: whether any part of a response was handed to the server.
        client_left: whether the server said that the client has gone.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.verb: str = scope["method"]
        self.headers = scan_headers(scope["headers"])
        client: Sequence[Any] | None = scope.get("client")
        self.client_address = str(client[0]) if client else None
        self.response_headers: HeaderPairs = ()
        self.reply: Reply | None = None
        self.reporter = NOBODY
        self.dispatched = False
        self.client_left = False
        self._receive = receive
        self._send = send
        self._is_http1 = str(scope.get("http_version", "1.1")).startswith("1")
        self._early: deque[bytes] = deque()
        self._early_bytes = 0
        self._all_arrived = False
        self._body_read = False
        self.responded = False
        self._broken = False

    @property
    def reachable(self) -> bool:
        """Whether the client is there, as far as is known, and can be written to."""
        return not (self._broken or self.client_left)

    # -- the body ----------------------------------------------------------------

    async def read_body(self, *, max_bytes: int, timeout_seconds: float) -> bytes:
        """Return the whole body.

        Raises:
            ClientGone: the client left before it had sent everything.
            BodyTooLargeError: there is more than `max_bytes` of it.
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

    async def _receive_piece(self) -> bytes:
        while not self._early:
            message = await self._receive_message()
            if message["type"] != "http.request":
                self.client_left = True
                raise ClientGone
            self._keep(message)
        piece = self._early.popleft()
        self._early_bytes -= len(piece)
        self._body_read = self._all_arrived and not self._early
        return piece

    def _keep(self, message: Message) -> None:
        self._all_arrived = not message.get("more_body", False)
        body: bytes = message.get("body", b"")
        if body or self._all_arrived:
            self._early.append(body)
            # Counted, not summed up: it may come byte by byte.
            self._early_bytes += len(body)

    async def _receive_message(self) -> Message:
        try:
            return await self._receive()
        except OSError:
            pass
        except Exception as error:  # noqa: BLE001 - every middleware has its own
            _log.warning("the client is given up: receiving from it failed", exc_info=error)
        return {"type": "http.disconnect"}

    async def _drain(self) -> bool:
        """Read what is left of a small body; return whether nothing is left."""
        length = self.headers.get(header.CONTENT_LENGTH)
        if length is None:
            has_body = not self._is_http1 or self.headers.get(header.TRANSFER_ENCODING)
            if not has_body:
                return True
        elif not length.isdigit() or len(length) > 6 or int(length) > DRAIN_BYTES:  # noqa: PLR2004
            return False
        with trio.move_on_after(DRAIN_SECONDS):
            size = 0
            while not self._body_read and size <= DRAIN_BYTES:
                size += len(await self._receive_piece())
        return self._body_read

    async def wait_until_gone(self) -> None:
        """Wait until the server tells that the client has left.

        What arrives of the body meanwhile is kept for `read_body`, up to `EARLY_BYTES`;
        of a client that sends more, it is not noticed that it leaves.
        """
        while not self.client_left:
            if not self._all_arrived and self._early_bytes > EARLY_BYTES:
                await trio.sleep_forever()
            message = await self._receive_message()
            if message["type"] == "http.disconnect":
                self.client_left = True
                return
            if not self._all_arrived:
                self._keep(message)
            # Some test clients answer at once, with an empty body again and again.
            await trio.lowlevel.checkpoint()

    # -- the response ------------------------------------------------------------

    async def write(self, event: Event) -> None:
        """See `Sink.write`."""
        if self._broken:
            raise ClientGone
        assert self.reply is not None
        # Cancelled here, nothing has happened yet and the next event may follow.
        await trio.lowlevel.checkpoint_if_cancelled()
        await self._send_parts(self.reply.render(event))

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
        if not (self._body_read or (drain and await self._drain())) and self._is_http1:
            whole = attrs.evolve(whole, headers=(*whole.headers, (b"connection", b"close")))
        await self.send_whole(whole)

    async def send_whole(self, whole: Whole) -> None:
        """Send a complete response.

        Raises:
            ClientGone: nobody was there to take it.
        """
        await self._send_parts((whole,))

    async def _send_parts(self, parts: Sequence[Part]) -> None:
        # Until all is out, so that a send which is cancelled half-way leaves it so.
        self._broken = True
        try:
            for message in self._render_messages(parts):
                self.responded = True
                await self._send(message)
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise ClientGone from error
        except Exception as error:
            # Every server and middleware has exceptions of its own for this.
            _log.warning("the response could not be sent on", exc_info=error)
            raise ClientGone from error
        self._broken = False

    def _render_messages(self, parts: Sequence[Part]) -> Iterable[Message]:
        for part in parts:
            match part:
                case Whole(status=status, headers=headers, body=body):
                    yield _start(status, (*headers, *self.response_headers))
                    yield _body(b"" if self.verb == "HEAD" else body, more=False)
                case Head(status=status, headers=headers):
                    yield _start(status, (*headers, *self.response_headers))
                case Chunk(body=body):
                    yield _body(body, more=not isinstance(parts[-1], End))
                case End():
                    pass


def _start(status: int, headers: HeaderPairs) -> Message:
    # A list of its own: middleware appends to it.
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


def _body(body: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}
