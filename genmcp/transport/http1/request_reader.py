"""HTTP/1.1 requests, cut out of the bytes of a connection.

Layer: transport, pure. `genmcp.transport.http1.connection` feeds it what it receives and
takes the requests out. httptools (llhttp) does the parsing, in its strict mode, which
refuses what two readers could cut differently: both lengths, two lengths, folded lines,
bare CR or LF, a space before a colon, chunk sizes that are not plain hexadecimal. What it
lets pass is refused here: versions other than 1.0 and 1.1, a missing or second `Host`,
codings other than `chunked`, a chunked body in HTTP/1.0, heads over the limit, chunks
that are all framing.

An offer to upgrade is not taken up, as HTTP allows, and the request is read as if it had
not been made: Java's client makes one with every first request on a plain port.

Spec: RFC 9112, RFC 9110 section 7.2 (Host), 7.8 (Upgrade), 10.1.1 (Expect)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import attrs
import httptools

from genmcp.mcp.unset import UNSET, Unset
from genmcp.setting import describe_setting
from genmcp.transport.headers import EXPECT, HOST, TRANSFER_ENCODING, scan_headers
from genmcp.transport.http1.known_heads import KnownHeads

if TYPE_CHECKING:
    from genmcp.transport.headers import RequestHeaders

HeaderPair = tuple[bytes, bytes]

_UNKNOWN_VERB: Final = re.compile(
    rb"[\r\n]*[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32} [!-~]+ HTTP/1\.[01]\r\n"
)
_LINE_SO_FAR: Final = re.compile(rb"[\r\n]*[ -~]{0,4000}\r?")
_OTHER_VERSION: Final = re.compile(rb"[\r\n]*[A-Z]+ [!-~]+ HTTP/(?!1\.)[0-9]")
_OTHER_VERSION_REASON: Final = "This server speaks HTTP/1.1"
_MAX_KEPT_BYTES: Final = 4096
# One byte in a chunk of its own is legal, and has five bytes of framing.
_MOST_FRAMING_PER_BYTE: Final = 16


class BadRequestError(Exception):
    """The bytes are no request that is taken, and nothing after them can be read.

    Attributes:
        status: the HTTP status to answer with.
        reason: one sentence for the client.
        data: which setting would let them pass, if one does.
    """

    def __init__(self, status: int, reason: str, data: dict[str, Any] | Unset = UNSET) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.data = data


@attrs.define(eq=False)
class IncomingRequest:
    """A request whose head has arrived, and as much of its body as there is so far.

    Attributes:
        verb: the HTTP method.
        target: the request target, as sent.
        headers: lower-case names and values, in order.
        http10: whether it is HTTP/1.0, which has no chunks.
        keep_alive: whether the client lets the connection live on.
        expects_continue: whether the client waits to be told to send its body.
        pieces: the parts of the body that arrived and were not taken yet.
        size: how many bytes of body have arrived in all.
        complete: whether the body is complete.
        scanned: those of the headers that matter; `None` where they are not those of the
            head any more.
        path: the path of the target, decoded; see `resolve_target`.
        raw_path: the same as sent.
        query: what follows the path.
    """

    verb: str
    target: bytes
    headers: list[HeaderPair]
    http10: bool
    keep_alive: bool
    expects_continue: bool
    pieces: list[bytes] = attrs.field(factory=list[bytes])
    size: int = 0
    complete: bool = False
    scanned: RequestHeaders | None = None
    path: str = ""
    raw_path: bytes = b""
    query: bytes = b""

    def take(self) -> bytes:
        """Return what has arrived of the body since the last time."""
        pieces = self.pieces
        if not pieces:
            return b""
        taken = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        return taken


class RequestReader:
    """Turns bytes into requests, in order.

    Args:
        max_header_bytes: the request line and headers together; and the trailers.
        max_headers: how many headers a request may have.

    Attributes:
        requests: those whose head has arrived, until they are taken out.
        failure: what was wrong with the bytes after the last of them, if anything was.
            Nothing is read any more.
        ended: whether the client said that nothing follows the last request.
    """

    __slots__ = (
        "_begun",
        "_current",
        "_first_bytes",
        "_framing_bytes",
        "_head_bytes",
        "_headers",
        "_known",
        "_max_header_bytes",
        "_max_headers",
        "_parser",
        "_refused",
        "_resuming",
        "_strange_verb",
        "_target",
        "_upgrade",
        "ended",
        "failure",
        "requests",
    )

    def __init__(self, max_header_bytes: int, max_headers: int) -> None:
        # A list, as there is hardly ever more than one: an empty deque takes 600 bytes.
        self.requests: list[IncomingRequest] = []
        self.failure: BadRequestError | None = None
        self.ended = False
        self._max_header_bytes = max_header_bytes
        self._max_headers = max_headers
        self._parser: Any = None
        self._known = KnownHeads()
        self._begun = False
        self._target = b""
        self._headers: list[HeaderPair] = []
        self._current: IncomingRequest | None = None
        self._refused: IncomingRequest | None = None
        self._head_bytes = 0
        self._framing_bytes = 0
        self._first_bytes = b""
        self._upgrade = False
        self._resuming = False
        self._strange_verb = False

    @property
    def in_head(self) -> bool:
        """Whether a head has begun to arrive, empty lines aside, and is not complete."""
        return self._current is None and self._begun

    @property
    def is_head_verb(self) -> bool:
        """Whether what is being read, or was refused, is a HEAD request, as far as can be told."""
        request = self._refused or self._current
        if request is not None:
            return request.verb == "HEAD"
        if not self._begun:
            return False
        # Until its verb has been read, the parser has that of the request before.
        return self._first_bytes.lstrip(b"\r\n").startswith(b"HEAD ") or (
            self._target != b"" and self._parser.get_method() == b"HEAD"
        )

    @property
    def in_body(self) -> bool:
        """Whether a body is still arriving."""
        return self._current is not None

    def refuse(self, request: IncomingRequest, error: BadRequestError) -> None:
        """Read nothing any more: `request`, which was taken out, is none after all."""
        self._refused = request
        self.failure = error

    def forget(self) -> None:
        """Give back the heads that were read: the same ones will not come for long."""
        self._known.forget()

    def rest(self) -> None:
        """Give back what only reading takes, as far as it goes."""
        # Between two requests a parser is as good as new.
        if not (self._begun or self.in_body or self._strange_verb or self.failure):
            self._headers = []
            self._parser = None

    def feed(self, data: bytes) -> None:
        """Read on. Never raises: see `failure`."""
        if self.failure is not None or self.ended:
            return
        before = self._current
        if before is None:
            if not self._begun and not self._strange_verb and self._feed_known(data):
                return
            # For the line of a request that is refused; a head in more pieces than one
            # is rare, and one that never ends is cut off.
            if not self._begun:
                self._first_bytes = data[:_MAX_KEPT_BYTES]
            elif self._first_bytes:
                self._first_bytes = (self._first_bytes + data)[:_MAX_KEPT_BYTES]
            self._head_bytes += len(data)
        if self._strange_verb:
            self._check_verb_later()
            return
        size = 0 if before is None else before.size
        alone = before is None and not self._begun and not self.requests
        try:
            self._feed(data)
            if before is None:
                if alone:
                    self._remember(data)
                self._check_head_size()
            elif before is self._current:
                self._check_framing(before, len(data) - (before.size - size))
        except BadRequestError as error:
            self.failure = error

    def _feed_known(self, data: bytes) -> bool:
        """Take a request whose head was read before; return whether it was one."""
        found = self._known.find(data)
        if found is None:
            return False
        head, body = found
        # Empty lines before it count no more, as when the parser reads a head.
        self._head_bytes = 0
        self._first_bytes = b""
        # `_remember` has seen to it that it is like this.
        request = IncomingRequest(
            "POST",
            head.target,
            head.headers,
            http10=False,
            keep_alive=True,
            expects_continue=False,
            pieces=[body] if body else [],
            size=len(body),
            complete=True,
            scanned=head.scanned,
        )
        request.path, request.raw_path, request.query = head.parts
        self.requests.append(request)
        return True

    def _remember(self, data: bytes) -> None:
        """Remember the head of a request that came by itself, if all is plain about it."""
        if self.failure is not None or len(self.requests) != 1 or self._begun:
            return
        request = self.requests[0]
        if (
            request.complete
            and request.verb == "POST"
            and request.keep_alive
            and not (request.http10 or request.expects_continue or self._resuming)
            and len(data) > request.size
        ):
            assert request.scanned is not None, "as of all that were parsed"
            self._known.remember(
                data, request.size, request.target, request.headers, request.scanned
            )

    def _feed(self, data: bytes) -> None:
        # Views: what follows each of a thousand offers to upgrade is not copied each time.
        rest = memoryview(data)
        while (parsed := self._parse(rest)) is not None:
            rest = rest[parsed:]
            self._replace_parser()

    def _parse(self, data: memoryview) -> int | None:
        """Parse `data`; return how much of it, if an offer to upgrade ended the parser."""
        if self._parser is None:
            self._parser = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            parsed: int = upgrade.args[0]
            return parsed
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            raise cause if isinstance(cause, BadRequestError) else error from None
        except httptools.HttpParserInvalidMethodError:
            self._strange_verb = True
            self._check_verb()
        except httptools.HttpParserError as error:
            if self.ended:
                return None  # bytes behind the last request
            if _OTHER_VERSION.match(self._first_bytes):
                raise BadRequestError(505, _OTHER_VERSION_REASON) from None
            raise BadRequestError(400, f"This is not well-formed HTTP/1.1: {error}") from None
        return None

    def _check_verb_later(self) -> None:
        try:
            self._check_verb()
        except BadRequestError as error:
            self.failure = error

    def _check_verb(self) -> None:
        """Tell a verb the parser does not know from what is no HTTP at all."""
        if not self._first_bytes:
            # The parser does not say where in the bytes it met it, behind a request.
            raise BadRequestError(
                405, "What follows the last request has no HTTP method that is served; send POST"
            )
        if _UNKNOWN_VERB.match(self._first_bytes):
            raise BadRequestError(405, "This HTTP method is not served; send each message by POST")
        if not _LINE_SO_FAR.fullmatch(self._first_bytes):
            raise BadRequestError(400, "This is not well-formed HTTP/1.1: it begins with no method")

    def _check_head_size(self) -> None:
        # Of a head that is complete, the size is checked exactly; this is for one that
        # never ends, and for empty lines without end.
        if self._current is None and self._head_bytes > self._max_header_bytes:
            raise self._too_large()

    def _too_large(self) -> BadRequestError:
        return BadRequestError(
            431,
            f"The request line and headers are larger than {self._max_header_bytes} bytes "
            "(max_header_bytes)",
            describe_setting("max_header_bytes", limit=self._max_header_bytes),
        )

    def _check_framing(self, request: IncomingRequest, framing: int) -> None:
        self._framing_bytes += framing
        if self._framing_bytes > self._max_header_bytes + _MOST_FRAMING_PER_BYTE * request.size:
            raise BadRequestError(400, "The chunks of the body are all framing and no data")

    def _replace_parser(self) -> None:
        """Read the body of a request that offers an upgrade, which ends the parser's work.

        A new parser is told the lengths only, and goes on where the last one stopped.
        """
        request = self._current
        assert request is not None
        lines = [b"POST / HTTP/1.1"]
        for name, value in request.headers:
            if name in {b"content-length", b"transfer-encoding"}:
                lines.append(name + b": " + value)
        if not request.keep_alive:
            lines.append(b"connection: close")
        self._upgrade = False
        self._resuming = True
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(b"\r\n".join([*lines, b"", b""]))

    # -- what httptools calls ------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins."""
        if self._resuming:
            return
        self._begun = True
        self._target = b""
        self._headers = []

    def on_url(self, part: bytes) -> None:
        """The target, or a part of it."""
        if not self._resuming:
            self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header or, after the head, a trailer, which means nothing here."""
        if self._current is None:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """The head is complete."""
        if self._resuming:
            self._resuming = False
            return
        parser = self._parser
        version: str = parser.get_http_version()
        if version not in {"1.1", "1.0"}:
            raise BadRequestError(505, _OTHER_VERSION_REASON)
        http10 = version == "1.0"
        verb: bytes = parser.get_method()
        if verb == b"CONNECT":
            # What follows is of no length that could be read.
            raise BadRequestError(405, "CONNECT is not served; send each message by POST")
        self._upgrade = parser.should_upgrade()
        scanned = scan_headers(self._headers)
        self._current = request = IncomingRequest(
            verb.decode("ascii"),
            self._target,
            self._headers,
            http10=http10,
            keep_alive=parser.should_keep_alive(),
            expects_continue=self._check_headers(scanned, http10=http10),
            scanned=scanned,
        )
        self._framing_bytes = 0
        # What comes after it in the bytes at hand is not counted.
        self._head_bytes = 0
        self.requests.append(request)

    def _check_headers(self, scanned: RequestHeaders, *, http10: bool) -> bool:
        """Refuse what the parser lets pass; return whether the client waits for a word."""
        # What was fed for it is no less than it has: most heads need not be measured.
        if self._head_bytes > self._max_header_bytes:
            pairs = self._headers
            size = sum(len(name) + len(value) + 4 for name, value in pairs) + len(self._target)
            if size > self._max_header_bytes:
                raise self._too_large()
        if len(self._headers) > self._max_headers:
            raise BadRequestError(
                431,
                f"The request has more than {self._max_headers} headers (max_headers)",
                describe_setting("max_headers", limit=self._max_headers),
            )
        expect, coding = scanned.get(EXPECT), scanned.get(TRANSFER_ENCODING)
        if expect is not None or coding is not None:
            self._check_expectations(http10=http10)
        if "Host" in scanned.repeated or (scanned.get(HOST) is None and not http10):
            raise BadRequestError(400, "An HTTP/1.1 request has exactly one Host header")
        return expect is not None and not http10

    def _check_expectations(self, *, http10: bool) -> None:
        """Refuse what the client wants to have that is not had here."""
        for name, value in self._headers:
            if name == EXPECT and value.strip().lower() != b"100-continue":
                raise BadRequestError(417, "The only expectation met here is 100-continue")
            if name == TRANSFER_ENCODING:
                if http10:
                    raise BadRequestError(400, "HTTP/1.0 has no Transfer-Encoding")
                if value.strip().lower() != b"chunked":
                    raise BadRequestError(501, "The only Transfer-Encoding read here is chunked")

    def on_body(self, piece: bytes) -> None:
        """A piece of the body."""
        request = self._current
        assert request is not None
        request.pieces.append(piece)
        request.size += len(piece)

    def on_message_complete(self) -> None:
        """The request is complete, unless the parser only gives up at an upgrade."""
        request = self._current
        if self._upgrade or request is None:
            return
        request.complete = True
        self._current = None
        self._begun = False
        self._head_bytes = 0
        self._first_bytes = b""
        if not request.keep_alive:
            self.ended = True
