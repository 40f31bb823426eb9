"""One hostile connection: what it says, in which pieces, and how it leaves."""

from __future__ import annotations

import random
import socket
import struct
from math import inf

import attrs
import trio

from tests.fuzz.judge import Response, WrongAnswerError, judge
from tests.fuzz.mutation import mutate, segment

_RESET = struct.pack("ii", 1, 0)
_PATIENCE_SECONDS = 1.5
_SILENCE_SECONDS = 0.3


@attrs.frozen
class Attack:
    """All that one hostile connection does, decided beforehand.

    Attributes:
        name: repeats it: the seed, and its number.
        pieces: what it sends at a time.
        pauses: how long it waits before each.
        leave: how it ends.
    """

    name: str
    pieces: list[bytes]
    pauses: list[float]
    leave: str

    @property
    def sent(self) -> bytes:
        """All it sends."""
        return b"".join(self.pieces)


@attrs.define
class Heard:
    """What an attacker heard.

    Attributes:
        data: the bytes.
        to_the_end: whether the server ended the connection in good order.
    """

    data: bytearray = attrs.field(factory=bytearray)
    to_the_end: bool = False


def plan(seed: int, number: int, corpus: list[bytes]) -> Attack:
    """Decide on an attack, by its seed and number alone."""
    dice = random.Random(f"{seed}:{number}")  # noqa: S311 - repeatable is what it must be
    pieces = segment(dice, mutate(dice, corpus))
    pauses = [dice.choice([0, 0, 0, 0.001, 0.03]) for _ in pieces]
    ways = ["read on", "read on", "half-close", "half-close", "close", "reset", "stall"]
    return Attack(f"{seed}:{number}", pieces, pauses, dice.choice(ways))


async def carry_out(attack: Attack, port: int) -> Heard:
    """Carry out an attack; return what was heard."""
    heard = Heard()
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    try:
        with trio.move_on_after(_PATIENCE_SECONDS):
            async with trio.open_nursery() as nursery:
                if attack.leave in {"read on", "half-close"}:
                    nursery.start_soon(_listen, stream, heard, nursery.cancel_scope)
                await _speak(stream, attack)
    finally:
        if attack.leave == "reset":
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        await trio.aclose_forcefully(stream)
    return heard


def judge_heard(attack: Attack, heard: Heard) -> list[Response]:
    """Check what an attacker heard.

    Raises:
        WrongAnswerError: it is not what it should be; names the attack.
    """
    may_be_head = b"HEAD" in attack.sent
    try:
        return judge(bytes(heard.data), may_be_head=may_be_head, cut=not heard.to_the_end)
    except WrongAnswerError as error:
        raise WrongAnswerError(f"attack {attack.name}: {error}") from error


async def _speak(stream: trio.SocketStream, attack: Attack) -> None:
    try:
        for piece, pause in zip(attack.pieces, attack.pauses, strict=True):
            if pause:
                await trio.sleep(pause)
            await stream.send_all(piece)
        match attack.leave:
            case "half-close":
                await stream.send_eof()
            case "stall":
                await trio.sleep(0.2)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass  # the server has had enough


async def _listen(stream: trio.SocketStream, heard: Heard, scope: trio.CancelScope) -> None:
    """Listen until the server ends the connection, or falls silent."""
    try:
        while True:
            # Until the first byte, the patience of the whole attack is the limit.
            with trio.move_on_after(_SILENCE_SECONDS if heard.data else inf) as silence:
                data = await stream.receive_some()
                heard.data += data
            if silence.cancelled_caught:
                break
            if not data:
                heard.to_the_end = True
                break
    except trio.BrokenResourceError:
        pass
    scope.cancel()
