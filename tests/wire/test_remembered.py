"""What was read before is not read again, and only what is the very same."""

from __future__ import annotations

import copy
from collections.abc import Callable
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
        return mcp.Implementation(name=given.get("name", "nobody"), version="1")


@pytest.mark.parametrize("cls", [mcp.Implementation, mcp.ClientCapabilities])
def test_what_is_the_same_is_read_once(cls: type) -> None:
    reading = Reading()
    read = remembering(cls, reading)

    first = read({"name": "client", "version": "1"})
    second = read({"name": "client", "version": "1"})

    assert first is second
    assert reading.count == 1


@pytest.mark.parametrize("cls", [mcp.TextContent, mcp.RequestMetaObject])
def test_nothing_else_of_the_vocabulary_is_remembered(cls: type) -> None:
    reading = Reading()
    assert remembering(cls, reading) is reading


# -- what one request does is not seen by the next ---------------------------------


def test_own_keys_put_into_meta_stay_in_their_request() -> None:
    first: Any = decode(mcp.RequestMetaObject, META)
    first.extra["user"] = "alice"
    assert decode(mcp.RequestMetaObject, META).extra == {}


@pytest.mark.parametrize(
    "given",
    [
        {"experimental": {"com.example/x": {"on": 1}}},
        {"extensions": {"com.example/x": {"on": 1}}},
        {"com.example/x": {"on": 1}},
        {"sampling": {"tools": {"on": 1}}},
    ],
    ids=["experimental", "extension", "unknown", "nested"],
)
def test_settings_that_are_changed_stay_in_their_request(given: dict[str, Any]) -> None:
    said = copy.deepcopy(given)
    first = decode(mcp.ClientCapabilities, given)
    before = copy.deepcopy(first)
    # The message itself is what `caller.meta` shows.
    for settings in (first.experimental, first.extensions, first.extra, given):
        for found in (settings or {}).values():
            change_all(found)
    if first.sampling is not None:
        change_all(first.sampling.tools)
    assert decode(mcp.ClientCapabilities, said) == before


def change_all(value: Any) -> None:
    if isinstance(value, dict):
        for item in value.values():
            change_all(item)
        value["user"] = "alice"


@pytest.mark.parametrize(
    "find",
    [
        lambda capabilities: capabilities.extra,
        lambda capabilities: capabilities.elicitation.form,
        lambda capabilities: capabilities.roots.extra,
    ],
    ids=["the object's own", "a member's", "a member's own"],
)
def test_what_is_put_into_an_empty_mapping_is_not_given_to_the_next(
    find: Callable[[Any], Any],
) -> None:
    def read() -> Any:
        return decode(mcp.ClientCapabilities, {"roots": {}, "elicitation": {"form": {}}})

    before = copy.deepcopy(read())
    find(read())["user"] = "alice"
    for _ in range(2):
        assert read() == before


def test_lists_are_no_part_of_what_is_remembered() -> None:
    given = {**INFO, "icons": [{"src": "https://example.com/icon.png"}]}
    first: Any = decode(mcp.Implementation, given)
    first.icons.clear()
    assert len(decode(mcp.Implementation, given).icons or ()) == 1


# -- what is the same ---------------------------------------------------------------


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
    wrong: Any
    for wrong in (True, 1, [], "form"):
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
        found = read({"name": f"client {number}", "version": "1"})
        assert found.name == f"client {number}"
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
