"""One HTTP request on ASGI.

Layer: transport, shell; a carrier of `genmcp.transport.exchange`. Here is what ASGI
servers do to an application: bodies in pieces, receives and sends that fail in as many
ways as there are servers and middleware.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, TypeAlias

import trio

from genmcp.events import ClientGone
from genmcp.transport.exchange import Exchange
from genmcp.transport.reply import Chunk, End, Head, Whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from genmcp.transport.exchange import Scope
    from genmcp.transport.reply import HeaderPairs, Part

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_log = logging.getLogger("genmcp.transport")


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
            scope["headers"],
            str(client[0]) if client else None,
            http1=str(scope.get("http_version", "1.1")).startswith("1"),
        )
        self._asgi_receive = receive
        self._asgi_send = send

    async def _receive_piece(self) -> bytes:
        """See `Exchange`."""
        message = await self._receive_message()
        if message["type"] != "http.request":
            self.client_left = True
            raise ClientGone
        self._body_read = not message.get("more_body", False)
        body: bytes = message.get("body", b"")
        return body

    async def _receive_message(self) -> Message:
        try:
            return await self._asgi_receive()
        except OSError:
            pass
        except Exception as error:  # noqa: BLE001 - every middleware has its own
            _log.warning("the client is given up: receiving from it failed", exc_info=error)
        return {"type": "http.disconnect"}

    async def wait_until_gone(self) -> None:
        """Wait until the server tells that the client has left."""
        while not self.client_left:
            message = await self._receive_message()
            if message["type"] == "http.disconnect":
                self.client_left = True
                return
            # Some test clients answer at once, with an empty body again and again.
            await trio.lowlevel.checkpoint()

    async def _send(self, parts: Sequence[Part]) -> None:
        """See `Exchange`."""
        try:
            for message in self._render_messages(parts):
                self.responded = True
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
