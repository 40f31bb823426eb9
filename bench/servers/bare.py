"""The bare limit: a trio loop on httptools that parses, and answers a constant.

What any server on trio in one process could reach at most, if all that MCP asks for cost
nothing. It answers every request with the bytes that genmcp answers `add` with.
"""

from __future__ import annotations

import argparse
import functools

import httptools
import trio

BODY = (
    b'{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":'
    b'[{"type":"text","text":"3.5"}],"_meta":{"io.modelcontextprotocol/serverInfo":'
    b'{"name":"bench","version":"1.0.0"}}}}'
)
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
    len(BODY),
    BODY,
)
READ_BYTES = 64 * 1024


class Requests:
    """Counts what the parser finds, and has it cut out header and body all the same."""

    def __init__(self) -> None:
        self.complete = 0

    def on_url(self, url: bytes) -> None:
        """Take the target."""

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""

    def on_message_complete(self) -> None:
        """Count the request."""
        self.complete += 1


async def answer(stream: trio.SocketStream) -> None:
    """Answer on one connection until it ends."""
    requests = Requests()
    parser = httptools.HttpRequestParser(requests)
    while True:
        try:
            data = await stream.receive_some(READ_BYTES)
            if not data:
                return
            parser.feed_data(data)
            while requests.complete:
                requests.complete -= 1
                await stream.send_all(RESPONSE)
        except trio.BrokenResourceError:
            return


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--style")
    port = arguments.parse_args().port
    trio.run(functools.partial(trio.serve_tcp, answer, port, host="127.0.0.1", backlog=1024))
