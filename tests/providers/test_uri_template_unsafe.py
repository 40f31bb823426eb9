"""Values that could lead out of a directory: no match, unless the author asks for them."""

from __future__ import annotations

import pytest

from genmcp.providers.uri_template import UriTemplate

# Where `*` stands, the value comes.
SHAPES = {
    "x:{a}": "x:*",
    "x:{.a}": "x:.*",
    "x:{/a}": "x:/*",
    "x:{+a}": "x:*",
    "x:{#a}": "x:#*",
    "x:{;a}": "x:;a=*",
    "x:{?a}": "x:?a=*",
    "x:?k=v{&a}": "x:?k=v&a=*",
    "x:{b,a}": "x:b,*",
    "x:{+a,b}": "x:*,b",
    "x:{a*}": "x:b,*",
    "x:{.a*}": "x:.b.*",
    "x:{/a*}": "x:/b/*",
    "x:{+a*}": "x:*,b",
    "x:{#a*}": "x:#b,*",
    "x:{;a*}": "x:;a=b;a=*",
    "x:{?a*}": "x:?a=b&a=*",
}
# The fragment aside, which may hold a JSON pointer.
NOT_FRAGMENT = [template for template in SHAPES if "#" not in template]
UNNAMED = [template for template in SHAPES if not set(template) & set(";?")]


def is_taken(template: str, value: str, *, allow: bool = False) -> bool:
    uri = SHAPES[template].replace("*", value)
    return UriTemplate.parse(template, allow_unsafe_paths=allow).match(uri) is not None


@pytest.mark.parametrize("template", SHAPES)
@pytest.mark.parametrize(
    "value",
    [
        "%00",
        "a%00",
        "a%2500",
        "%252500",
        "..%2Fa",
        "%2E%2E%2fa",
        "%2e.%2fa",
        "a%2F..",
        "a%2F..%2Fb",
        "..%5Ca",
        "a%5c..",
        "a%2F%5C..",
        "%252E%252e%252Fa",
        "a%252F%2E%252e",
        "a%255C..",
        "%25252e%25252e%25252fa",
        "a%252F..%25252Fb",
        "a%2F%25%32%45%252%45",
        # Undone from the inside: %2%65 is %2e is a dot.
        "%252%2565%252%2565%252Fa",
        "a%252F%252%2565%252%2565",
    ],
)
def test_nul_and_parent_segments_are_refused_in_any_decoding(template: str, value: str) -> None:
    assert not is_taken(template, value)
    assert is_taken(template, value, allow=True)
    assert is_taken(template, "a%2Fb%5Cc")


@pytest.mark.parametrize("template", NOT_FRAGMENT)
@pytest.mark.parametrize(
    "value",
    [
        "%2F",
        "%2Fetc%2Fpasswd",
        "%2F%2Fhost%2Fshare",
        "%5Ca",
        "%5C%5Chost%5Cshare",
        "C:",
        "c%3Aa",
        "C:%5Ca",
        "z%3A%2Fa",
        "%252Fa",
        "%255Ca",
        "%25252Fa",
        "C%253Aa",
        "%2543:a",
    ],
)
def test_absolute_paths_are_refused_in_any_decoding(template: str, value: str) -> None:
    assert not is_taken(template, value)
    assert is_taken(template, value, allow=True)


HARMLESS = ["12:30", "1:a", "ab:c", "%C3%A9:", "a%2F", "%25", "100%2525", "~"]
# Not for lists of labels, which a dot separates, however it is written.
HARMLESS_DOTS = ["%2E", "...", "..a", "a..", "a..b", "%2E%2Fa"]


@pytest.mark.parametrize(
    ("template", "value"),
    [
        *((template, value) for template in SHAPES for value in HARMLESS),
        *(
            (template, value)
            for template in SHAPES
            if ".a*" not in template
            for value in HARMLESS_DOTS
        ),
    ],
)
def test_values_that_stay_where_they_are_are_taken(template: str, value: str) -> None:
    assert is_taken(template, value)


def test_two_dots_alone_are_refused_wherever_they_can_stand() -> None:
    refused = {template for template in SHAPES if not is_taken(template, "..")}
    assert refused == set(SHAPES)


@pytest.mark.parametrize("template", ["x:{#a}", "x:{#a*}", "x:{?b}{#a}"])
def test_fragment_may_begin_with_a_slash(template: str) -> None:
    assert UriTemplate.parse(template).match("x:#/$defs/name") is not None
    assert UriTemplate.parse(template).match("x:#/../name") is None


@pytest.mark.parametrize("template", SHAPES)
def test_empty_value_is_taken_only_where_the_name_stands(template: str) -> None:
    assert is_taken(template, "") == (template not in UNNAMED)
    assert is_taken(template, "", allow=True)


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("x:/{+a}", "x://etc/passwd"),
        ("x:/{+a}", "x:/a/../b"),
        ("x:/{+a}", "x:/a/%2e%2e/b"),
        ("x:/{/a*}", "x://a//b"),
        ("x:/{/a*}", "x://a/../b"),
        ("x:/{/a*}", "x://a/"),
        # formed with the text beside the value
        ("x:/.{a}", "x:/.."),
        ("x:/.{a}", "x:/.%2E"),
        ("x:/.{a}", "x:/.%252E"),
        ("x:/.{+a}", "x:/../b"),
        ("x:/.{+a}", "x:/.%2E%2Fb"),
        ("x:/{a}.", "x:/.."),
        ("x:/.{.a}", "x:/.%2E%2Fb"),
        ("x:/{+a}./b", "x:/a/../b"),
        ("x:/.{a}{?b}", "x:/..?b=1"),
    ],
)
def test_way_out_of_the_path_is_no_match_unless_allowed(template: str, uri: str) -> None:
    assert UriTemplate.parse(template).match(uri) is None
    if template != "x:/.{.a}":
        assert UriTemplate.parse(template, allow_unsafe_paths=True).match(uri) is not None


def test_unsafe_values_come_decoded_once_when_allowed() -> None:
    template = UriTemplate.parse("x:{+a}", allow_unsafe_paths=True)
    assert template.match("x:/../%00%252e") == {"a": "/../\0%2e"}


def test_empty_values_are_texts_when_allowed() -> None:
    template = UriTemplate.parse("{a}-{b}{/c*}", allow_unsafe_paths=True)
    assert template.match("-/") == {"a": "", "b": "", "c": [""]}
    assert template.match("--//") == {"a": "", "b": "-", "c": ["", ""]}


def test_text_in_front_and_behind_never_overlaps() -> None:
    template = UriTemplate.parse("x/{a}/y", allow_unsafe_paths=True)
    assert template.match("x//y") == {"a": ""}
    assert template.match("x/y") is None


def test_unknown_parameters_are_not_looked_at() -> None:
    assert UriTemplate.parse("x{?a}").match("x?b=/../%00&a=1") == {"a": "1"}


def test_parent_segment_in_the_text_is_taken_when_allowed() -> None:
    template = UriTemplate.parse("x/../{a}", allow_unsafe_paths=True)
    assert template.match("x/../1") == {"a": "1"}
