"""Flags out of classes: which fields have one, how they are read, what is said of them."""

from __future__ import annotations

import attrs
import pytest

from genmcp.cli.limit_settings import find_limits
from genmcp.mcp.unset import UNSET, Unset


@attrs.frozen
class Rate:
    calls: int

    @classmethod
    def read(cls, text: str) -> Rate:
        if not text.endswith("/s"):
            raise ValueError(f"a rate such as 5/s, got {text!r}")
        return cls(int(text.removesuffix("/s")))


@attrs.frozen
class Owner:
    """Holds fields of every kind.

    Attributes:
        whole: how many: of these
            there may be. More is refused.
        seconds: how long, of 100% at most.
        either: a number.
        loose: may be none.
        derived: how many there are. By default 100, or
            `None`.
        rate: how often.
        name: no number.
        switch: no number either.

    Raises:
        ValueError: never: it is an example.
    """

    whole: int = 1
    seconds: float = 2.5
    either: int | float = 30.0
    loose: float | None = None
    derived: int | Unset | None = UNSET
    rate: Rate | Unset | None = UNSET
    name: str = ""
    switch: bool = False


FOUND = {limit.name: limit for limit in find_limits(Owner)}


def test_numbers_have_a_flag_and_what_can_be_read() -> None:
    assert list(FOUND) == ["whole", "seconds", "either", "loose", "derived", "rate"]


@pytest.mark.parametrize(
    ("name", "described"),
    [
        ("whole", "how many: of these there may be (1)"),
        ("seconds", "how long, of 100% at most (2.5)"),
        ("either", "a number (30)"),
        ("loose", "may be none (none) (none: no limit)"),
        ("derived", "how many there are. By default 100, or `None` (none: no limit)"),
        ("rate", "how often (none: no limit)"),
    ],
)
def test_the_docstring_says_what_a_limit_is_for(name: str, described: str) -> None:
    assert FOUND[name].description == described


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("whole", "12", 12),
        ("seconds", "1", 1.0),
        ("either", "0.25", 0.25),
        ("loose", "none", None),
        ("derived", "7", 7),
        ("derived", "NONE", None),
        ("rate", "5/s", Rate(5)),
        ("rate", "none", None),
    ],
)
def test_the_text_is_read_as_what_the_field_is(name: str, text: str, value: object) -> None:
    read = FOUND[name].read(text)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "text", "must_be"),
    [
        ("whole", "1.5", "a whole number, not '1.5'"),
        ("whole", "none", "a whole number, not 'none'"),
        ("seconds", "inf", "a number, not 'inf'"),
        ("derived", "x", "a whole number or none, not 'x'"),
        ("rate", "5", "a rate such as 5/s or none, got '5'"),
    ],
)
def test_text_that_is_none_of_these_is_refused(name: str, text: str, must_be: str) -> None:
    with pytest.raises(ValueError, match=r"^a ") as refusal:
        FOUND[name].read(text)
    assert str(refusal.value) == must_be
