"""One HTTP request on ASGI.

Layer: transport, shell; a carrier of `genmcp.transport.exchange`. Here is what ASGI
servers do to an application: bodies in pieces, receives and sends that fail in as many
ways as there are servers and middleware.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import trio

from genmcp.events import ClientGone
from genmcp.transport.exchange import Exchange
from genmcp.transport.headers import scan_headers
from genmcp.transport.reply import Chunk, End, Head, Whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from genmcp.transport.exchange import Scope
    from genmcp.transport.reply import HeaderPairs, Part

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_log = logging.getLogger("genmcp.transport")

EARLY_BYTES: Final = 65_536
"""How much of a body is taken in while it is found out who is calling.

Only behind the body do ASGI servers tell that a client has left. A longer body is not read
on: nothing is known of its sender yet.
"""

LAST_SEND_SECONDS: Final = 5.0
"""How long the last send of a response may go on after `http.disconnect`.

Servers tell that way, too, that a response is complete, and some (Hypercorn) before that send
has returned. It is not to be cut off, nor its call to count as cancelled. Where the client has
left indeed, servers end the send by themselves; this is for one that does not.
"""


class AsgiExchange(Exchange):
    """See `Exchange`.

    Args:
        scope: the request, of type `http`.
        receive: ASGI's `receive`.
        send: ASGI's `send`.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client: Sequence[Any] | None = scope.get("client")
        super().__init__(
            scope["method"],
            scan_headers(scope["headers"]),
            str(client[0]) if client else None,
            http1=str(scope.get("http_version", "1.1")).startswith("1"),
        )
        self._asgi_scope = scope
        self._asgi_receive = receive
        self._asgi_send = send
        self._early: deque[bytes] = deque()
        self._early_bytes = 0
        self._all_arrived = False
        self._completing = False

    @property
    def path(self) -> str:
        """See `Exchange`."""
        path: str = self._asgi_scope["path"]
        return path

    @property
    def mounted_at(self) -> str:
        """See `Exchange`."""
        root_path: str = self._asgi_scope.get("root_path", "")
        return root_path.rstrip("/")

    def _describe(self) -> Scope:
        """See `Exchange`."""
        return self._asgi_scope

    async def _receive_piece(self) -> bytes:
        """See `Exchange`."""
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
            return await self._asgi_receive()
        except OSError:
            pass
        except Exception as error:  # noqa: BLE001 - every middleware has its own
            _log.warning("the client is given up: receiving from it failed", exc_info=error)
        return {"type": "http.disconnect"}

    async def wait_until_gone(self) -> None:
        """Wait until the server tells that the client has left, and means it.

        What arrives of the body meanwhile is kept for `read_body`, up to `EARLY_BYTES`;
        of a client that sends more, it is not noticed that it leaves.
        """
        while not self.client_left:
            if not self._all_arrived and self._early_bytes > EARLY_BYTES:
                await trio.sleep_forever()
            message = await self._receive_message()
            if message["type"] == "http.disconnect":
                if self._completing:
                    await trio.sleep(LAST_SEND_SECONDS)
                self.client_left = True
                return
            if not self._all_arrived:
                self._keep(message)
            # Some test clients answer at once, with an empty body again and again.
            await trio.lowlevel.checkpoint()

    async def _send(self, parts: Sequence[Part]) -> None:
        """See `Exchange`."""
        try:
            for message in self._render_messages(parts):
                self.responded = True
                self._completing = message.get("more_body") is False
                await self._asgi_send(message)
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise ClientGone from error
        except Exception as error:
            # Every server and middleware has exceptions of its own for this.
            _log.warning("the response could not be sent on", exc_info=error)
            raise ClientGone from error

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
