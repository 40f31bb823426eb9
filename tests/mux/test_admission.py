"""Admission: places taken and given back, counted."""

from __future__ import annotations

import gc
import threading
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.errors import LimitExceeded, Overloaded
from genmcp.mux.admission import Admission, Place
from genmcp.mux.caller_key import CallerKey, find_caller_key
from tests.mux.servers import caller


def enter(admission: Admission, who: CallerKey = "ada", *, streams: bool = False) -> Place:
    return admission.enter(who, streams=streams)


def test_one_caller_may_have_so_many_calls_open_and_no_more() -> None:
    admission = Admission(max_calls=100, max_calls_per_caller=2)
    places = [enter(admission), enter(admission)]
    with pytest.raises(LimitExceeded) as refused:
        enter(admission)
    assert refused.value.data == {
        "setting": "max_calls_per_caller",
        "flag": "--max-calls-per-caller",
        "variable": "GENMCP_MAX_CALLS_PER_CALLER",
        "limit": 2,
        "retryAfterSeconds": 1,
    }
    assert "max_calls_per_caller" in refused.value.message
    assert admission.count("ada") == (2, 0)
    places[0].leave()
    enter(admission)


def test_other_callers_are_not_held_up_by_one_at_its_limit() -> None:
    admission = Admission(max_calls=100, max_calls_per_caller=1, max_streams_per_caller=1)
    held = [enter(admission), enter(admission, streams=True)]
    for streams in (False, True):
        with pytest.raises(LimitExceeded):
            enter(admission, streams=streams)
        held.append(enter(admission, "bob", streams=streams))
    assert admission.taken == 4


def test_streams_and_calls_are_counted_apart() -> None:
    admission = Admission(max_calls=100, max_calls_per_caller=1, max_streams_per_caller=2)
    held = [enter(admission, streams=True), enter(admission, streams=True), enter(admission)]
    with pytest.raises(LimitExceeded) as refused:
        enter(admission, streams=True)
    assert refused.value.data == {
        "setting": "max_streams_per_caller",
        "flag": "--max-streams-per-caller",
        "variable": "GENMCP_MAX_STREAMS_PER_CALLER",
        "limit": 2,
        "retryAfterSeconds": 10,
    }
    assert admission.count("ada") == (1, 2)
    del held


def test_all_calls_together_have_a_limit_that_streams_count_towards() -> None:
    admission = Admission(max_calls=2)
    held = [enter(admission), enter(admission, "bob", streams=True)]
    for who in ("ada", "bob", "eve"):
        with pytest.raises(Overloaded) as refused:
            enter(admission, who)
        assert refused.value.data == {
            "setting": "max_calls",
            "flag": "--max-calls",
            "variable": "GENMCP_MAX_CALLS",
            "limit": 2,
            "retryAfterSeconds": 5,
        }
    held[1].leave()
    held[1] = enter(admission, "eve")
    assert admission.taken == 2


@pytest.mark.parametrize(
    ("streams", "message"),
    [(False, "This caller has 1 call open, "), (True, "This caller has 1 listen stream open, ")],
)
def test_one_is_said_in_the_singular(message: str, *, streams: bool) -> None:
    admission = Admission(max_calls=1, max_calls_per_caller=1, max_streams_per_caller=1)
    held = enter(admission, streams=streams)
    with pytest.raises(LimitExceeded) as refused:
        enter(admission, streams=streams)
    assert refused.value.message.startswith(message)
    with pytest.raises(Overloaded) as full:
        enter(admission, "bob")
    assert full.value.message.startswith("The server has 1 call open, ")
    del held


def test_who_is_at_its_own_limit_is_told_that_also_when_the_server_is_full() -> None:
    admission = Admission(max_calls=1, max_calls_per_caller=1)
    held = enter(admission)
    with pytest.raises(LimitExceeded):
        enter(admission)
    held.leave()


def test_without_limits_on_one_caller_there_are_none() -> None:
    admission = Admission(max_calls=1_000)
    held = [enter(admission, streams=bool(number % 2)) for number in range(1_000)]
    assert admission.count("ada") == (500, 500)
    assert len(held) == 1_000


def test_place_is_given_back_once() -> None:
    admission = Admission(max_calls=10)
    one, other = enter(admission), enter(admission)
    one.leave()
    one.leave()
    del one
    gc.collect()
    assert admission.taken == 1
    other.leave()
    assert admission.taken == 0


def test_dropped_place_is_given_back_at_the_next_look() -> None:
    admission = Admission(max_calls=1)
    place = enter(admission)
    del place
    gc.collect()
    enter(admission, "bob").leave()
    assert admission.taken == 0


def test_dropping_a_place_changes_no_count_in_the_thread_that_drops_it() -> None:
    admission = Admission(max_calls=10)
    places = [enter(admission)]
    dropper = threading.Thread(target=places.clear)
    dropper.start()
    dropper.join()
    gc.collect()
    assert len(admission.dropped) == 1
    assert admission.count("ada") == (0, 0)
    assert len(admission.dropped) == 0


def test_callers_without_anything_open_are_forgotten() -> None:
    admission = Admission(max_calls=10)
    for number in range(1_000):
        enter(admission, f"caller {number}", streams=bool(number % 2)).leave()
    assert admission._calls.open == {}
    assert admission._streams.open == {}


@attrs.frozen
class Step:
    what: str
    who: str
    streams: bool
    index: int


STEPS = st.lists(
    st.builds(
        Step,
        what=st.sampled_from(["enter", "leave", "leave twice", "drop"]),
        who=st.sampled_from(["ada", "bob", "eve"]),
        streams=st.booleans(),
        index=st.integers(0, 20),
    ),
    max_size=60,
)


@given(STEPS)
def test_counts_are_those_of_the_places_taken_whatever_the_order(steps: list[Step]) -> None:
    admission = Admission(max_calls=6, max_calls_per_caller=3, max_streams_per_caller=2)
    taken: list[tuple[str, bool, Place]] = []

    def open_of(who: str, *, streams: bool) -> int:
        return sum(one[:2] == (who, streams) for one in taken)

    for step in steps:
        if step.what == "enter":
            own_full = open_of(step.who, streams=step.streams) >= (2 if step.streams else 3)
            try:
                place = admission.enter(step.who, streams=step.streams)
            except LimitExceeded:
                assert own_full
            except Overloaded:
                assert not own_full
                assert len(taken) == 6
            else:
                assert not own_full
                assert len(taken) < 6
                taken.append((step.who, step.streams, place))
                del place
        elif taken:
            _, _, place = taken.pop(step.index % len(taken))
            for _ in range({"leave": 1, "leave twice": 2, "drop": 0}[step.what]):
                place.leave()
            del place
        assert admission.taken == len(taken)
        for who in ("ada", "bob", "eve"):
            expected = open_of(who, streams=False), open_of(who, streams=True)
            assert admission.count(who) == expected
    while taken:
        taken.pop()[2].leave()
    assert admission.taken == 0
    assert admission._calls.open == {}
    assert admission._streams.open == {}


# -- who is one caller -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"principal": "ada"}, {"principal": "ada", "client_address": "192.0.2.1"}, True),
        ({"principal": "ada"}, {"principal": "bob"}, False),
        ({"principal": "192.0.2.1"}, {"client_address": "192.0.2.1"}, False),
        ({"principal": ""}, {}, False),
        ({"client_address": "192.0.2.1"}, {"client_address": "192.0.2.1"}, True),
        ({"client_address": "192.0.2.1"}, {"client_address": "192.0.2.2"}, False),
        ({}, {}, True),
        ({}, {"client_address": "192.0.2.1"}, False),
        ({"client_address": "2001:db8::1"}, {"client_address": "2001:db8::2:3:4:5"}, True),
        ({"client_address": "2001:db8::1"}, {"client_address": "2001:db8:0:1::1"}, False),
        ({"client_address": "2001:db8::1"}, {"client_address": "2001:0db8:0::0001"}, True),
        ({"client_address": "::ffff:192.0.2.1"}, {"client_address": "192.0.2.1"}, True),
        ({"client_address": "::ffff:192.0.2.1"}, {"client_address": "::ffff:192.0.2.2"}, False),
        ({"client_address": "64:ff9b::c000:201"}, {"client_address": "64:ff9b::c000:202"}, False),
        ({"client_address": "fe80::1%eth0"}, {"client_address": "fe80::2%eth0"}, False),
        ({"client_address": "fe80::1%eth0"}, {"client_address": "fe80::1%eth1"}, False),
        ({"client_address": "::1"}, {"client_address": "::2"}, False),
        ({"client_address": "unix:a"}, {"client_address": "unix:b"}, False),
    ],
)
def test_one_caller_is_a_principal_or_else_an_address_or_a_network(
    one: dict[str, Any], other: dict[str, Any], *, same: bool
) -> None:
    assert (find_caller_key(caller(**one)) == find_caller_key(caller(**other))) is same
