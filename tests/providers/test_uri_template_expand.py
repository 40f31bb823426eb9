"""The URI that values make, and the values that make none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from genmcp.providers.uri_template import MAX_URI_BYTES, UriTemplate


@pytest.mark.parametrize(
    ("template", "values", "uri"),
    [
        ("note://all", {}, "note://all"),
        ("note://{id}", {"id": "7"}, "note://7"),
        ("note://{id}", {"id": "a/b?c d\u00e9~-._%41"}, "note://a%2Fb%3Fc%20d%C3%A9~-._%2541"),
        ("{x,y}", {"y": "2", "x": "1,"}, "1%2C,2"),
        ("{a*}", {"a": ["1", "2,3"]}, "1,2%2C3"),
        ("{a*}", {"a": ("1",)}, "1"),
        ("x{.a,b}", {"a": "1", "b": "2"}, "x.1.2"),
        ("x{.a*}", {"a": ["1", "2"]}, "x.1.2"),
        ("x{/a,b}", {"a": "1/", "b": "2"}, "x/1%2F/2"),
        ("x{/a*}/y", {"a": ["1", "2"]}, "x/1/2/y"),
        ("x:{+a}", {"a": "b/c?d#e[f]@!$&'()*+,;= \u00e9%"}, "x:b/c?d#e[f]@!$&'()*+,;=%20%C3%A9%25"),
        ("x:{+a,b}", {"a": "1/2", "b": "3"}, "x:1/2,3"),
        ("x{#a}", {"a": "/b c"}, "x#/b%20c"),
        ("x{#a*}", {"a": ["1", "2"]}, "x#1,2"),
        ("x{;a,b,c}", {"a": "1", "b": ""}, "x;a=1;b"),
        ("x{;a*}", {"a": ["1", "", "2"]}, "x;a=1;a;a=2"),
        ("x{;a}", {}, "x"),
        ("x{?a,b,c}", {"c": "&=", "a": ""}, "x?a=&c=%26%3D"),
        ("x{?a*,b}", {"a": ["1", "2"], "b": "3"}, "x?a=1&a=2&b=3"),
        ("x{?a}", {}, "x"),
        ("x?k=v{&a}", {"a": "1"}, "x?k=v&a=1"),
        ("x{?a}{&b}", {"a": "1", "b": "2"}, "x?a=1&b=2"),
        ("x{?a}{#b}", {"b": "2"}, "x#2"),
        ("x{?a%62}", {"a%62": "1"}, "x?a%62=1"),
        # Literals: triplets as they are, the rest of Unicode encoded.
        ("caf\u00e9%7e%2f{a}", {"a": "1"}, "caf%C3%A9%7e%2f1"),
    ],
)
def test_values_expand_as_the_rfc_says_and_are_read_back(
    template: str, values: dict[str, str | Sequence[str]], uri: str
) -> None:
    parsed = UriTemplate.parse(template)
    assert parsed.expand(values) == uri
    read = parsed.match(uri)
    assert read == {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}


@pytest.mark.parametrize(
    ("template", "values", "problem"),
    [
        ("x{a,b}", {"a": "1"}, r"x\{a,b\} needs a value for 'b'"),
        ("x{#a}", {}, "needs a value for 'a'"),
        ("x{/a*}", {}, "needs a value for 'a'"),
        ("x{?a}", {"b": "1"}, r"x\{\?a\} has no variable 'b'; it has \('a',\)"),
        ("x{a}", {"a": ""}, "a: '' holds nothing, .* allow_unsafe_paths=True"),
        ("x{/a*}", {"a": ["1", ""]}, "a: '' holds nothing"),
        ("x{/a*}", {"a": []}, "a: an empty list leaves no trace; leave it out"),
        ("x{?a*}", {"a": []}, "a: an empty list leaves no trace; leave it out"),
        ("x{a}", {"a": "b/../c"}, r"a: 'b/\.\./c' holds a `\.\.` segment"),
        ("x{?a}", {"a": "b\0"}, "holds a NUL character"),
        ("x:{+a}", {"a": "/b"}, "a: '/b' holds an absolute path"),
        ("x{a}", {"a": "\ud800"}, "a: .* holds a lone surrogate"),
        ("x:{+a}", {"a": "b\udc80"}, "a: .* holds a lone surrogate"),
        # Not read back.
        (
            "{a}-{b}",
            {"a": "1", "b": "2-3"},
            "a would be read back from '1-2-3' as '1-2', not as '1'",
        ),
        ("x:{+a}", {"a": "b%2Fc"}, "a would be read back from 'x:b%2Fc' as 'b/c', not as 'b%2Fc'"),
        ("x:{+a,b}", {"a": "1,2", "b": "3"}, "'x:1,2,3', which does not match"),
        ("x{.a*}", {"a": ["1.2"]}, r"a would be read back from 'x\.1\.2' as \['1', '2'\]"),
        ("x:{+a}{?b}", {"a": "1?b=2"}, "a would be read back .* as '1', not"),
        ("x{?a}{&b}", {"b": "2"}, "'x&b=2', which does not match"),
        ("x/.{a}", {"a": "."}, r"'x/\.\.', which does not match"),
        ("x{a}", {"a": "b" * MAX_URI_BYTES}, "a URI of 8193 bytes; 8192 at most"),
    ],
)
def test_values_that_would_not_be_read_back_make_no_uri(
    template: str, values: Mapping[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        UriTemplate.parse(template).expand(values)


@pytest.mark.parametrize(
    ("template", "values", "problem"),
    [
        ("x{a}", {"a": 7}, "a must be str, got 7"),
        ("x{a}", {"a": None}, "a must be str, got None"),
        ("x{a}", {"a": ["1"]}, r"a must be str, got \['1'\]"),
        ("x{a*}", {"a": "1"}, "a must be a list of str, got '1'"),
        ("x{a*}", {"a": {"b": "1"}}, "a must be a list of str, got {'b': '1'}"),
        ("x{a*}", {"a": ["1", 2]}, r"a must be a list of str, got \['1', 2\]"),
    ],
)
def test_value_of_the_wrong_type_is_a_type_error(
    template: str, values: Mapping[str, Any], problem: str
) -> None:
    with pytest.raises(TypeError, match=problem):
        UriTemplate.parse(template).expand(values)


def test_unsafe_values_expand_when_allowed() -> None:
    template = UriTemplate.parse("x:{+a}/{b}", allow_unsafe_paths=True)
    values = {"a": "/../\0", "b": ""}
    assert template.expand(values) == "x:/../%00/"
    assert template.match("x:/../%00/") == values
