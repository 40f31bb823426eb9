"""Matching takes time linear in the URI, counted in steps.

A step is a line of Python that is run, in the standard library too, or a character that
`str` or `frozenset` look at in C. The first are counted by tracing; the second
by handing over text that counts. It stays the counting kind where the URI needs no
decoding; elsewhere the decoding itself is made of lines.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from itertools import pairwise
from types import FrameType
from typing import Any, SupportsIndex

import pytest

from genmcp.providers.uri_template import MAX_URI_BYTES, TemplateError, UriTemplate

SIZES = [256, 512, 1024, 2048, 4096, MAX_URI_BYTES]


class Looked:
    """How many steps were taken."""

    def __init__(self) -> None:
        self.steps = 0

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename == __file__:
            return None
        self.steps += 1
        return self.trace


class CountingText(str):
    """Text that counts the characters that are looked at, in itself and what is cut off it."""

    __slots__ = ("looked",)
    looked: Looked

    @classmethod
    def of(cls, text: str, looked: Looked) -> CountingText:
        made = cls(text)
        made.looked = looked
        return made

    def _cut(self, text: str) -> CountingText:
        self.looked.steps += len(text)
        return CountingText.of(text, self.looked)

    def _scan(self, found: int, start: int, end: int, *, seen: int) -> int:
        self.looked.steps += seen if found >= 0 else end - start
        return found

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        return self._cut(super().__getitem__(key))

    def __iter__(self) -> Iterator[str]:
        for character in super().__iter__():
            self.looked.steps += 1
            yield character

    def __contains__(self, part: object) -> bool:
        self.looked.steps += len(self)
        return super().__contains__(part)  # type: ignore[operator]

    def find(self, part: str, start: Any = 0, end: Any = None) -> int:
        end = len(self) if end is None else end
        found = super().find(part, start, end)
        return self._scan(found, start, end, seen=found + len(part) - start)

    def rfind(self, part: str, start: Any = 0, end: Any = None) -> int:
        end = len(self) if end is None else end
        found = super().rfind(part, start, end)
        return self._scan(found, start, end, seen=end - found)

    def split(self, separator: Any = None, maxsplit: Any = -1) -> list[str]:
        return [self._cut(piece) for piece in super().split(separator, maxsplit)]

    def partition(self, separator: str) -> tuple[str, str, str]:
        head, mark, tail = super().partition(separator)
        return self._cut(head), mark, self._cut(tail)

    def translate(self, table: Any) -> str:
        return self._cut(super().translate(table))


def count_steps(template: UriTemplate, uri: str) -> int:
    looked = Looked()
    text = CountingText.of(uri, looked)
    before = sys.gettrace()
    gc.disable()  # what is called after a collection would be traced as well
    sys.settrace(looked.trace)
    try:
        template.match(text)
    finally:
        sys.settrace(before)
        gc.enable()
    return looked.steps


# The template, and how the URI begins, what it repeats, how it ends.
HOSTILE = [
    # text that occurs in every value
    ("x{a}-{b}-{c}-{d}!", "x", "-", ""),
    ("x{a}-{b}-{c}-{d}!", "x", "-", "!"),
    ("x{a}-{b}-{c}-{d}!", "x", "a-", "!"),
    ("x{a}a{b}a{c}a{d}!", "x", "a", ""),
    ("x{a}a{b}a{c}a{d}!", "x", "a", "!"),
    ("{a}aab{b}aab{c}", "", "a", ""),
    ("{a}aab{b}aab{c}", "", "aab", ""),
    ("{a}aab{b}aab{c}", "", "aa", "b"),
    ("{a}{.b}{.c}{.d}", "", ".", ""),
    # before and behind a greedy one
    ("{a}/{b}/{+c}/{d}/{e}", "", "/", ""),
    ("{a}/{b}/{+c}/{d}/{e}", "", "a/", ""),
    ("{a}/{b}/{+c}/{d}/{e}", "a", "/a", ""),
    ("{a}-{+b}-{c}x", "", "-", ""),
    ("{+a}/..{b}", "", "/.", ""),
    ("{+a,b}", "", ",", ""),
    ("{+a*,b}", "a", ",", "b"),
    ("{#a,b}/c", "", "#", ""),
    # many items
    ("x{/a*}", "x", "/a", ""),
    ("x{/a*,b,c}/d", "x", "/", ""),
    ("x{.a*}", "x", ".a", ""),
    ("{a*,b}", "", "a,", "b"),
    ("x{;a*,b}", "x", ";a=1", ""),
    ("x{;a,b}", "x", ";c", ""),
    ("x{y}{;a,b}", "x", ";", ""),
    ("x{?a*,b}", "x?", "a&", ""),
    ("x{?a,b}", "x?", "&b=1", ""),
    ("x{?a,b}", "x", "?", ""),
    ("x?k={k}&l={l}{&a}", "x?k=", "&", ""),
    ("x{?a}#{b}", "x?a=1#", "#", ""),
    # encodings
    ("{+a}", "", "%C3%A9", ""),
    ("{+a}", "", "\xe9", ""),
    ("{+a}", "", "%41", ""),
    ("{+a}", "", "%FF", ""),
    ("{+a}", "", "%", ""),
    ("{a}2{b}", "", "%2F", ""),
    ("{a}%20{b}%20{c}", "", "%20", ""),
    # layers of encodings: each pass of a decoder would take one
    ("{+a}", "a%", "25", "2e%2e%2f"),
    ("{+a}", "", "%25", ""),
    ("{+a}", "", "%252e", ""),
    ("{a}", "", "%25", "2e"),
    ("{a}", "", "%2525%32%35", ""),
    # ways out
    ("{+a}", "", "../", ""),
    ("{+a}", "", "a/", ""),
    ("{+a}", "", "%5C..", ""),
]


@pytest.mark.parametrize(("template", "before", "piece", "after"), HOSTILE, ids=ascii)
@pytest.mark.parametrize("allow_unsafe_paths", [False, True])
def test_twice_the_uri_is_at_most_twice_the_steps(
    template: str,
    before: str,
    piece: str,
    after: str,
    allow_unsafe_paths: bool,
) -> None:
    parsed = UriTemplate.parse(template, allow_unsafe_paths=allow_unsafe_paths)
    steps = [
        count_steps(parsed, before + piece * ((size - len(before + after)) // len(piece)) + after)
        for size in SIZES
    ]
    for shorter, longer in pairwise(steps):
        assert longer <= 2 * shorter + 64
    assert steps[-1] <= 40 * MAX_URI_BYTES


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("{+a}/{b}", "a/" * 4000 + "b"),
        ("x{/a*}", "x" + "/a" * 4000),
        ("x{?a*}", "x?" + "&a=b" * 2000),
        ("{+a}", "%252e" * 1600),
    ],
)
def test_steps_are_counted_in_python_and_in_c(template: str, uri: str) -> None:
    parsed = UriTemplate.parse(template)
    assert parsed.match(uri)
    assert count_steps(parsed, uri) > len(uri)


def test_search_that_begins_again_and_again_would_be_seen() -> None:
    looked = Looked()
    text = CountingText.of("a" * 100, looked)
    for at in range(100):
        text.find("b", at)
    assert looked.steps == sum(range(101))


@pytest.mark.parametrize("template", ["x{a}{b}{c}{d}!", "{+a}{+b}{+c}{+d}", "{+a}/{+b}/{+c}/{+d}"])
def test_templates_that_make_regular_expressions_explode_are_refused(template: str) -> None:
    with pytest.raises(TemplateError):
        UriTemplate.parse(template)


def test_longer_uri_is_not_looked_at() -> None:
    looked = Looked()
    text = CountingText.of("a" * (MAX_URI_BYTES + 1), looked)
    assert UriTemplate.parse("{a}").match(text) is None
    assert looked.steps == 0
