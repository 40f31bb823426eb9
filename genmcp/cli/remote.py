"""A server somewhere else, as an ASGI application here.

Layer: cli. Lets `genmcp.testing.Client` call a server that is already running. That client
is strict, as it is made to test genmcp's own server: what another server may write in ways
of its own, such as its events, is put here into the one form that it reads.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import h11
import orjson
import trio

from genmcp.cli.event_stream import EventStreamReader
from genmcp.cli.target import UsageError
from genmcp.errors import show_line
from genmcp.transport.sse import render_event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Message = MutableMapping[str, Any]

_CONNECT_SECONDS = 30.0
_EVENTS = b"text/event-stream"


def is_url(text: str) -> bool:
    """Tell whether `text` names a server by URL, not by module."""
    return text.startswith(("http://", "https://"))


class RemoteEndpoint:
    """Hands each request to the endpoint at `url`, and its response back as it arrives.

    Raises:
        UsageError: the URL has no host or a port that is none.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError as error:
            raise UsageError(f"{url!r} is no URL: {error}") from None
        if not parts.hostname:
            raise UsageError(f"{url!r} has no host")
        self._url = url
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = port or (443 if self._secure else 80)
        self._authority = parts.netloc.rpartition("@")[2]
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Make one request; the connection is closed when the client here leaves.

        Raises:
            OSError: there is no connection, it broke, or what came over it is not JSON-RPC.
        """
        body = bytearray()
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        async with await self._connect() as stream, trio.open_nursery() as nursery:
            nursery.start_soon(_leave_when_told, receive, nursery.cancel_scope)
            await self._exchange(stream, self._make_request(scope, len(body)), bytes(body), send)
            nursery.cancel_scope.cancel()

    async def _connect(self) -> trio.abc.Stream:
        with trio.move_on_after(_CONNECT_SECONDS):
            stream = await trio.open_tcp_stream(self._host, self._port)
            if not self._secure:
                return stream
            return trio.SSLStream(
                stream,
                ssl.create_default_context(),
                server_hostname=self._host,
                https_compatible=True,
            )
        raise OSError(f"no connection to {self._url} within {_CONNECT_SECONDS:g} s")

    def _make_request(self, scope: Message, length: int) -> h11.Request:
        kept = [(name, value) for name, value in scope["headers"] if name != b"host"]
        return h11.Request(
            method=scope["method"],
            target=self._target,
            headers=[
                ("host", self._authority),
                ("content-length", str(length)),
                ("connection", "close"),
                *kept,
            ],
        )

    async def _exchange(
        self,
        stream: trio.abc.Stream,
        request: h11.Request,
        body: bytes,
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        connection = h11.Connection(h11.CLIENT)
        answer: _Events | _Whole = _Whole(f"{self._url} answered")
        try:
            for part in (request, h11.Data(data=body), h11.EndOfMessage()):
                await stream.send_all(connection.send(part) or b"")
            while True:
                match event := connection.next_event():
                    case h11.Response():
                        headers = [_simplify(name, value) for name, value in event.headers]
                        start = {"status": event.status_code, "headers": headers}
                        await send({"type": "http.response.start", **start})
                        streams = (b"content-type", _EVENTS) in headers
                        whose = f"{self._url} answered {event.status_code}"
                        answer = _Events(whose) if streams else _Whole(whose)
                    case h11.Data():
                        data = answer.feed(bytes(event.data))
                        await send({"type": "http.response.body", "body": data, "more_body": True})
                    case h11.EndOfMessage():
                        await send({"type": "http.response.body", "body": answer.finish()})
                        return
                    case _:
                        data = bytes(await stream.receive_some())
                        if not data and connection.their_state is h11.SEND_RESPONSE:
                            raise OSError(self._explain_silence())
                        connection.receive_data(data)
        except (trio.BrokenResourceError, h11.RemoteProtocolError) as error:
            raise OSError(f"the connection to {self._url} broke: {_explain(error)}") from error

    def _explain_silence(self) -> str:
        hint = "" if self._secure else "; is it one for https?"
        return f"{self._url} closed the connection without an answer{hint}"


def _explain(error: Exception) -> str:
    # trio has the reason in what it was raised from, and no words of its own.
    cause = error.__cause__ or error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted: {cause.verify_message} (the variable SSL_CERT_FILE "
            "names a PEM file of certificates that are trusted instead)"
        )
    if isinstance(cause, ssl.SSLError) and cause.reason == "WRONG_VERSION_NUMBER":
        return "no TLS is spoken there; is it one for http?"
    return str(error) or str(cause)


class _Events:
    """An event stream, one message after the other.

    Args:
        whose: says what was answered, for errors.
    """

    def __init__(self, whose: str) -> None:
        self._whose = whose
        self._reader = EventStreamReader()

    def feed(self, part: bytes) -> bytes:
        """Take the next part; return its messages as genmcp's own server writes them."""
        return b"".join(self._render(data) for data in self._reader.feed(part))

    def finish(self) -> bytes:
        """Take the end of the stream."""
        return b""

    def _render(self, data: str) -> bytes:
        _check_message(data.encode(), self._whose)
        # JSON has line ends only where it may have spaces.
        return render_event(data.replace("\n", " ").encode())


class _Whole:
    """One message. The argument is that of `_Events`."""

    def __init__(self, whose: str) -> None:
        self._whose = whose
        self._body = bytearray()

    def feed(self, part: bytes) -> bytes:
        """Take the next part."""
        self._body += part
        return b""

    def finish(self) -> bytes:
        """Take the end; return the message."""
        _check_message(bytes(self._body), self._whose)
        return bytes(self._body)


def _check_message(message: bytes, whose: str) -> None:
    try:
        read = orjson.loads(message)
    except ValueError:
        read = None
    if not (isinstance(read, dict) and "jsonrpc" in read):
        text = show_line(message.decode("utf-8", "replace").strip())
        raise OSError(f"{whose}, and no JSON-RPC: {text or 'nothing'}")


def _simplify(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Return a header field, of a content type no more than the type."""
    if name != b"content-type":
        return name, value
    return name, value.partition(b";")[0].strip().lower()


async def _leave_when_told(
    receive: Callable[[], Awaitable[Message]], scope: trio.CancelScope
) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
