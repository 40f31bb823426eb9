"""Spoiling seeds, and cutting them into segments. All of it repeatable by its dice."""

from __future__ import annotations

import random
from typing import Final

_MORSELS: Final = [
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b" ",
    b"\r\n ",
    b": ",
    b"0\r\n\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: identity, chunked\r\n",
    b"Host: other\r\n",
    b"Connection: close\r\n",
    b"Expect: 100-continue\r\n",
    b"Upgrade: h2c\r\nConnection: Upgrade\r\n",
    b"X: " + b"y" * 40_000 + b"\r\n",
    b"X: y\r\n" * 200,
    b"HEAD /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\xff\xfe",
    b"{" * 200,
    b"ffffffffffffffff\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]


def mutate(dice: random.Random, corpus: list[bytes]) -> bytes:
    """Return a seed, or several, as it is now and then, and spoiled most of the time."""
    data = bytearray(dice.choice(corpus))
    while dice.random() < 0.25:
        data += dice.choice(corpus)
    if dice.random() < 0.2:
        return bytes(data)
    for _ in range(dice.choice([1, 1, 2, 3, 8, 30])):
        _spoil(dice, data, corpus)
    return bytes(data)


def _spoil(dice: random.Random, data: bytearray, corpus: list[bytes]) -> None:
    at = dice.randrange(len(data) + 1)
    match dice.randrange(8):
        case 0:
            data[at : at + 1] = dice.randbytes(1)
        case 1:
            del data[at : at + dice.choice([1, 2, 10, 1000])]
        case 2:
            data[at:at] = dice.randbytes(dice.choice([1, 3, 50]))
        case 3:
            data[at:at] = dice.choice(_MORSELS)
        case 4:
            # Where lines begin, it hurts more often.
            line = data.find(b"\n", at)
            data[line + 1 : line + 1] = dice.choice(_MORSELS)
        case 5:
            end = dice.randrange(len(data) + 1)
            piece = data[min(at, end) : max(at, end)][:2000]
            data[at:at] = piece
        case 6:
            other = dice.choice(corpus)
            data[at:] = other[dice.randrange(len(other)) :]
        case _:
            if data:
                data[at % len(data)] ^= 1 << dice.randrange(8)


def segment(dice: random.Random, data: bytes) -> list[bytes]:
    """Cut `data` into what is sent at a time; not into more pieces than is worth it."""
    match dice.randrange(4):
        case 0 | 1:
            return [data]
        case 2:
            cuts = sorted(dice.randrange(len(data) + 1) for _ in range(dice.randint(1, 6)))
            return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        case _:
            head = data[:300]
            return [*(head[at : at + 1] for at in range(len(head))), data[300:]]
