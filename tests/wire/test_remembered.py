"""What was read before is not read again, and only what is the very same."""

from __future__ import annotations

from typing import Any

import pytest

from genmcp.mcp import v2607 as mcp
from genmcp.wire.codec import DecodeError, decode
from genmcp.wire.remembered import remembering

INFO: dict[str, Any] = {"name": "client", "version": "1"}
META: dict[str, Any] = {
    mcp.PROTOCOL_VERSION_KEY: "2026-07-28",
    mcp.CLIENT_CAPABILITIES_KEY: {"roots": {}},
    mcp.CLIENT_INFO_KEY: INFO,
}


class Reading:
    """Counts what is read."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, given: dict[str, Any]) -> Any:
        self.count += 1
        return ("read", given)


@pytest.mark.parametrize("cls", [mcp.Implementation, mcp.ClientCapabilities])
def test_what_is_the_same_is_read_once(cls: type) -> None:
    reading = Reading()
    read = remembering(cls, reading)

    first = read({"name": "client", "version": "1"})
    second = read({"name": "client", "version": "1"})

    assert first is second
    assert reading.count == 1


def test_of_meta_only_what_has_no_more_than_the_steady_keys_is_remembered() -> None:
    reading = Reading()
    read = remembering(mcp.RequestMetaObject, reading)

    for _ in range(2):
        read(META)
    assert reading.count == 1
    for token in (1, 1, 2):
        read({**META, "progressToken": token})
    assert reading.count == 4
    unnamed = {key: value for key, value in META.items() if key != mcp.CLIENT_INFO_KEY}
    for _ in range(2):
        read(unnamed)
    assert reading.count == 6


def test_nothing_else_of_the_vocabulary_is_remembered() -> None:
    reading = Reading()
    assert remembering(mcp.TextContent, reading) is reading


@pytest.mark.parametrize("others", [[1, True, 1.0], [0, False, 0.0, -0.0], ["1", 1]])
def test_values_that_python_finds_equal_are_told_apart(others: list[Any]) -> None:
    for value in [*others, *others]:
        given = {"experimental": {"com.example/x": {"value": value}}}
        capabilities = decode(mcp.ClientCapabilities, given)
        assert capabilities.experimental is not None
        found: Any = capabilities.experimental["com.example/x"]["value"]
        assert (type(found), str(found)) == (type(value), str(value))


def test_what_is_wrong_is_refused_though_its_equal_was_read() -> None:
    good: dict[str, Any] = {"elicitation": {"form": {}}}
    assert decode(mcp.ClientCapabilities, good).elicitation is not None
    wrongs: list[Any] = [True, 1, [], "form"]
    for wrong in wrongs:
        with pytest.raises(DecodeError, match="elicitation"):
            decode(mcp.ClientCapabilities, {"elicitation": wrong})
    assert decode(mcp.ClientCapabilities, good).elicitation is not None


def test_a_name_that_only_equals_text_is_refused() -> None:
    class Name(str):
        __slots__ = ()

    decode(mcp.Implementation, INFO)
    with pytest.raises(DecodeError, match="name"):
        decode(mcp.Implementation, {**INFO, "name": Name("client")})


def test_many_clients_are_all_read_right_and_few_remembered() -> None:
    reading = Reading()
    read = remembering(mcp.Implementation, reading)
    for number in range(1000):
        _, given = read({"name": f"client {number}", "version": "1"})
        assert given["name"] == f"client {number}"
    # The last ones are there, and the first are not.
    read({"name": "client 999", "version": "1"})
    assert reading.count == 1000
    read({"name": "client 0", "version": "1"})
    assert reading.count == 1001


def test_what_is_large_is_not_kept() -> None:
    reading = Reading()
    read = remembering(mcp.Implementation, reading)
    for _ in range(2):
        read({"name": "n" * 2000, "version": "1"})
    assert reading.count == 2


def test_what_nests_beyond_all_measure_is_left_to_the_reader() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    reading = Reading()
    remembering(mcp.ClientCapabilities, reading)(deep)
    assert reading.count == 1
