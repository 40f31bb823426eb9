"""Which templates are accepted, and what is read out of a URI."""

from __future__ import annotations

import pytest

from genmcp.providers.uri_template import MAX_URI_BYTES, TemplateError, UriTemplate

NO_MATCH = None


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        # text only
        ("note://all", "note://all", {}),
        ("note://all", "note://all/", NO_MATCH),
        ("note://all", "note://al", NO_MATCH),
        ("", "", {}),
        ("", "a", NO_MATCH),
        # no operator
        ("note://{id}", "note://7", {"id": "7"}),
        ("note://{id}", "note://a-b.c_d~e", {"id": "a-b.c_d~e"}),
        (
            "note://{id}",
            "note://bob@example.com:12'30(!)*$+=",
            {"id": "bob@example.com:12'30(!)*$+="},
        ),
        ("note://{id}", "Note://7", NO_MATCH),
        ("note://{id}", "note://a/b", NO_MATCH),
        ("note://{id}", "note://a?b", NO_MATCH),
        ("note://{id}", "note://a#b", NO_MATCH),
        ("note://{id}", "note://[a]", NO_MATCH),
        ("note://{id}", "note://a,b", NO_MATCH),
        ("note://{id}", "note://a;b", NO_MATCH),
        ("note://{id}", "note://a&b", NO_MATCH),
        ("note://{id}", "note://a%2Cb%3Bc%26d%3Fe%23f%5Bg", {"id": "a,b;c&d?e#f[g"}),
        ("map://{x,y}", "map://1,2", {"x": "1", "y": "2"}),
        ("map://{x,y}", "map://1", NO_MATCH),
        ("map://{x,y}", "map://1,2,3", NO_MATCH),
        ("map://{x,y}", "map://1%2C2,3", {"x": "1,2", "y": "3"}),
        ("{a}", "a", {"a": "a"}),
        # labels
        ("doc://x{.ext}", "doc://x.md", {"ext": "md"}),
        ("doc://x{.ext}", "doc://x.tar.gz", {"ext": "tar.gz"}),
        ("doc://x{.ext}", "doc://x", NO_MATCH),
        ("doc://{name}{.ext}", "doc://a.b.c", {"name": "a.b", "ext": "c"}),
        ("doc://x{.a,b}", "doc://x.1.2", {"a": "1", "b": "2"}),
        ("doc://x{.a*}", "doc://x.1.2.3", {"a": ["1", "2", "3"]}),
        # path segments
        ("repo:/{/a,b}", "repo://1/2", {"a": "1", "b": "2"}),
        ("repo:/{/a,b}", "repo://1", NO_MATCH),
        ("repo:/{/a,b}", "repo://1/2/3", NO_MATCH),
        ("repo:/{/a}/x", "repo://1/x", {"a": "1"}),
        ("repo:/{/a,b}/p{/c,d}", "repo://1/2/p/3/4", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        ("repo:/{/a,b}/p{/c}", "repo://1/p/p/p", {"a": "1", "b": "p", "c": "p"}),
        # lists
        ("x:{a*}", "x:1", {"a": ["1"]}),
        ("x:{a*}", "x:1,2%2C3,4", {"a": ["1", "2,3", "4"]}),
        ("x:{a*}", "x:1/2", NO_MATCH),
        ("x:{/a*}", "x:/1/2%2F3", {"a": ["1", "2/3"]}),
        ("x:{/a*}", "x:/1,2", NO_MATCH),
        ("x:{/a*}", "x:", NO_MATCH),
        ("x:{/a*}/end", "x:/1/end/end", {"a": ["1", "end"]}),
        ("x:{/a*,b}", "x:/1/2/3", {"a": ["1", "2"], "b": "3"}),
        ("x:{/a,b*}", "x:/1/2/3", {"a": "1", "b": ["2", "3"]}),
        ("x:{/a,b*}", "x:/1", NO_MATCH),
        ("x:{/a*}{.b}", "x:/1.2/3.4", {"a": ["1.2", "3"], "b": "4"}),
        # reserved
        ("file:///{+path}", "file:///a/b?c#d[e]", {"path": "a/b?c#d[e]"}),
        ("file:///{+path}", "file:///a%2Fb", {"path": "a/b"}),
        ("x:{+a}/end", "x:1/end/end", {"a": "1/end"}),
        ("x:{+a,b}", "x:1/2,3", {"a": "1/2", "b": "3"}),
        ("x:{+a,b}", "x:1,2,3", NO_MATCH),
        ("x:{+a*}", "x:1/2,3", {"a": ["1/2", "3"]}),
        ("x:{+a*,b}", "x:1,2,3", {"a": ["1", "2"], "b": "3"}),
        ("x:{a}/{+b}", "x:1/2/3", {"a": "1", "b": "2/3"}),
        ("x:{+a}/{b}", "x:1/2/3", {"a": "1/2", "b": "3"}),
        ("x:{a}/{+b}/{c}", "x:1/2/3/4", {"a": "1", "b": "2/3", "c": "4"}),
        ("x:{a}/{+b}/{c}", "x:1/2", NO_MATCH),
        # fragments
        ("doc{#at}", "doc#a/b?c#d", {"at": "a/b?c#d"}),
        ("doc{#at}", "doc", NO_MATCH),
        ("doc{#a,b}/c", "doc#1,2/c", {"a": "1", "b": "2"}),
        # parameters
        ("x{;a,b}", "x;a=1;b=2", {"a": "1", "b": "2"}),
        ("x{;a,b}", "x;b=2;z=3;a=1", {"a": "1", "b": "2"}),
        ("x{;a,b}", "x;b", {"b": ""}),
        ("x{;a,b}", "x", {}),
        ("x{;a,b}", "x;", {}),
        ("x{;a}", "x;a=1;a=2", NO_MATCH),
        ("x{;a}", "x;a=1/2", NO_MATCH),
        ("x{;a}", "xa=1", NO_MATCH),
        ("x{;a*}", "x;a=1;a=2", {"a": ["1", "2"]}),
        ("x{;a}/y", "x;a=1/y", {"a": "1"}),
        ("x{;a}/y", "x/y", {}),
        ("x/{b}{;a}", "x/1;a=2", {"a": "2", "b": "1"}),
        ("x/{b}{;a}", "x/1", {"b": "1"}),
        ("x/{b}{;a}", "x/1,2;a=2", NO_MATCH),
        ("x/{b}{;a}", "x/1;a=2;a=3", NO_MATCH),
        # query
        ("x{?a,b}", "x?a=1&b=2", {"a": "1", "b": "2"}),
        ("x{?a,b}", "x?b=2&z=%FF&a=1", {"a": "1", "b": "2"}),
        ("x{?a,b}", "x?b=2", {"b": "2"}),
        ("x{?a,b}", "x?b", {"b": ""}),
        ("x{?a,b}", "x?b=", {"b": ""}),
        ("x{?a,b}", "x?", {}),
        ("x{?a,b}", "x?&&a=1&", {"a": "1"}),
        ("x{?a,b}", "x", {}),
        ("x{?a,b}", "y", NO_MATCH),
        ("x{?a,b}", "x&a=1", NO_MATCH),
        ("x{?a}", "x?a=1&a=2", NO_MATCH),
        ("x{?a}", "x?a=1&%61=2", NO_MATCH),
        ("x{?a}", "x?A=1", {}),
        ("x{?a}", "x?a=b=c+d/e?f,g;h", {"a": "b=c+d/e?f,g;h"}),
        ("x{?a}", "x?a=%26%3D%2B", {"a": "&=+"}),
        ("x{?a}", "x?%61=1", {"a": "1"}),
        ("x{?a%62}", "x?ab=1", {"a%62": "1"}),
        ("x{?a%c3%a9}", "x?a\u00e9=1", {"a%c3%a9": "1"}),
        ("x{?a.b}", "x?a.b=1", {"a.b": "1"}),
        ("x{?a}", "x?a=1#f", NO_MATCH),
        ("x{?a*}", "x?a=1&b=2&a=", {"a": ["1", ""]}),
        ("x{?a*}", "x?b=2", {}),
        ("x{?a}{&b}", "x?b=2&a=1", {"a": "1", "b": "2"}),
        ("x?k=v{&a}", "x?k=v&a=1", {"a": "1"}),
        ("x?k=v{&a}", "x?k=v", {}),
        ("x?k=v{&a}", "x?a=1&k=v", NO_MATCH),
        ("x?k={k}&l={l}{&a}", "x?k=1&l=2&a=3", {"k": "1", "l": "2", "a": "3"}),
        ("x?k={k}&l={l}{&a}", "x?k=1", NO_MATCH),
        ("x?k={+k}{&a}", "x?k=/..&a=3", NO_MATCH),
        ("x?k={+k}{&a}", "x?k=1/2&a=3", {"k": "1/2", "a": "3"}),
        ("{/a*}{?b*,c}", "/1/2?b=3&c=4&b=5", {"a": ["1", "2"], "b": ["3", "5"], "c": "4"}),
        ("x:{+a}{?b}", "x:1/2?b=3", {"a": "1/2", "b": "3"}),
        ("x:{+a}{?b}", "x:1/2", {"a": "1/2"}),
        ("x{?a}{#b}", "x?a=1#2", {"a": "1", "b": "2"}),
        ("x{?a}{#b}", "x#2#?a=3", {"b": "2#?a=3"}),
        ("x{?a}{#b}", "x?a=1", NO_MATCH),
        ("x{?a}#top", "x?a=1#top", {"a": "1"}),
        ("x{?a}#top", "x#top", {}),
        ("x{?a}#s{b}", "x?a=1#s2", {"a": "1", "b": "2"}),
        ("x{?a}#s{b}", "x?a=1&a=2#s2", NO_MATCH),
        ("x{?a}#s{b}", "x?a=1#2", NO_MATCH),
    ],
)
def test_values_are_read_as_the_table_says(
    template: str, uri: str, values: dict[str, str | list[str]] | None
) -> None:
    assert UriTemplate.parse(template).match(uri) == values


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("{name}.{ext}", "a.tar.gz", {"name": "a.tar", "ext": "gz"}),
        ("{a}-{b}-{c}", "1-2-3-4", {"a": "1-2", "b": "3", "c": "4"}),
        ("{a}-{b}/{+c}", "1-2-3/4", {"a": "1", "b": "2-3", "c": "4"}),
        ("{+c}/{a}-{b}", "4/1-2-3", {"c": "4", "a": "1-2", "b": "3"}),
        ("{a}-{b}", "1--2", {"a": "1-", "b": "2"}),
        ("{a}-{b}", "1--", {"a": "1", "b": "-"}),
        ("{a}-{+b}", "-1-2", {"a": "-1", "b": "2"}),
        ("{a}-{b}", "--", NO_MATCH),
    ],
)
def test_ambiguous_text_is_cut_by_one_rule(
    template: str, uri: str, values: dict[str, str | list[str]] | None
) -> None:
    assert UriTemplate.parse(template).match(uri) == values


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("x~y/{a}", "x%7ey/%41%2f", {"a": "A/"}),
        ("x%7Ey/{a}", "x~y/1", {"a": "1"}),
        ("caf\u00e9/{a}", "caf%c3%a9/1", {"a": "1"}),
        ("caf%C3%A9/{a}", "caf\u00e9/\u00fc", {"a": "\u00fc"}),
        ("x%2fy/{a}", "x%2Fy/1", {"a": "1"}),
        ("x%2Fy/{a}", "x/y/1", NO_MATCH),
        ("x/y/{a}", "x%2Fy/1", NO_MATCH),
        ("x@{a}", "x%40y", NO_MATCH),
        # A literal is never found inside a triplet.
        ("{a}2{b}", "x2y%20", {"a": "x", "b": "y "}),
        ("{a}F{b}", "x%2Fy", NO_MATCH),
        ("{a}%20{b}", "x%20y", {"a": "x", "b": "y"}),
        # Decoded once.
        ("{a}", "%2541", {"a": "%41"}),
        ("{a}", "%25", {"a": "%"}),
        ("{a}", "%F0%9D%84%9E", {"a": "\U0001d11e"}),
        ("x:{+a}", "x:%C3%A9/%ef%bb%bf", {"a": "\u00e9/\ufeff"}),
    ],
)
def test_percent_encoding_is_compared_normalised_and_values_decoded_once(
    template: str, uri: str, values: dict[str, str] | None
) -> None:
    assert UriTemplate.parse(template).match(uri) == values


@pytest.mark.parametrize(
    "text",
    [
        "%",
        "%4",
        "%4g",
        "%zz",
        "%C3",
        "%C3%28",
        "%A9",
        "%FF",
        "%C0%AE",
        "%E0%80%AF",
        "%ED%A0%80",
        "%F4%90%80%80",
        "a b",
        "a\n",
        "\x00",
        "\x7f",
        "\x80",
        'a"b',
        "a<b",
        "a\\b",
        "a^b",
        "a`b",
        "a{b}",
        "a|b",
        "\udc80",
    ],
    ids=ascii,
)
@pytest.mark.parametrize("template", ["x:{a}", "x:{+a}", "x:{/a*}", "x:{?a}", "x:{#a}", "x:{;a}"])
def test_text_that_is_no_uri_or_no_utf8_is_no_match(template: str, text: str) -> None:
    opening = {"x:{/a*}": "/", "x:{?a}": "?a=", "x:{#a}": "#", "x:{;a}": ";a="}.get(template, "")
    parsed = UriTemplate.parse(template, allow_unsafe_paths=True)
    assert parsed.match(f"x:{opening}{text}") is None
    assert parsed.match(f"x:{opening}b") is not None


def test_uri_longer_than_8_kib_is_no_match() -> None:
    template = UriTemplate.parse("x:{a}")
    assert MAX_URI_BYTES == 8192
    assert template.match("x:" + "a" * 8190) == {"a": "a" * 8190}
    assert template.match("x:" + "a" * 8191) is None
    assert template.match("x:" + "\u00e9" * 4095) == {"a": "\u00e9" * 4095}
    assert template.match("x:" + "\u00e9" * 4096) is None


@pytest.mark.parametrize(
    ("template", "offset", "problem"),
    [
        # syntax
        ("x{a", 1, r"\{a is not closed; end the expression with \}"),
        ("x{a{b}", 2, r"'a\{b' is no variable name"),
        ("xa}", 2, r"\} closes no expression"),
        ("x{}", 1, r"\{\} names no variable"),
        ("x{+}", 3, r"\{\+\}: '' is no variable name"),
        ("x{a,}", 4, r"\{a,\}: '' is no variable name"),
        ("x{a,,b}", 4, r"\{a,,b\}: '' is no variable name"),
        ("x{a b}", 2, r"'a b' is no variable name; one consists of A-Z a-z 0-9 _"),
        ("x{a-b}", 2, r"'a-b' is no variable name"),
        ("x{a.}", 2, r"'a.' is no variable name"),
        ("x{a,.b}", 4, r"'\.b' is no variable name"),
        ("x{a..b}", 2, r"'a\.\.b' is no variable name"),
        ("x{a%2}", 2, r"'a%2' is no variable name"),
        ("x{\u00e9}", 2, r"is no variable name"),
        ("x{*}", 2, r"'\*' is no variable name"),
        ("x{a**}", 2, r"'a\*\*' is no variable name"),
        ("x{?a,+b}", 5, r"'\+b' is no variable name"),
        ("x{$a}", 2, r"'\$a' is no variable name"),
        ("x{=a}", 2, r"the operator = is reserved; the operators are \+ # \. / ; \? &"),
        ("x{,a}", 2, r"the operator , is reserved"),
        ("x{!a}", 2, r"the operator ! is reserved"),
        ("x{@a}", 2, r"the operator @ is reserved"),
        ("x{|a}", 2, r"the operator \| is reserved"),
        # text
        ("x y{a}", 1, r"' ' may not stand in a URI; write it percent-encoded, as %20"),
        ("x{a}\\", 4, r"percent-encoded, as %5C"),
        ('x"', 1, "percent-encoded, as %22"),
        ("x<y>", 1, "percent-encoded, as %3C"),
        ("x^", 1, "percent-encoded, as %5E"),
        ("x`", 1, "percent-encoded, as %60"),
        ("x|y", 1, "percent-encoded, as %7C"),
        ("x\n", 1, r"'\\n' may not .* as %0A"),
        ("x\x7f", 1, "percent-encoded, as %7F"),
        ("x\u0085", 1, "percent-encoded, as %C2%85"),
        ("x\ud800", 1, "may not stand in a URI"),
        ("x%{a}", 1, "% must begin a triplet such as %20; write a literal one as %25"),
        ("x%4g", 1, "% must begin a triplet"),
        # what gives no value back
        ("x{a:3}", 2, r"\{a:3\}: a prefix of a value, a:3, does not give the value back; .*as a"),
        ("x{+a:3}", 3, "does not give the value back"),
        ("x{a:3*}", 2, "does not give the value back"),
        ("x{a:}", 2, "does not give the value back"),
        ("x{a,a}", 1, r"\{a,a\}: a is there twice; rename"),
        ("x{a}/{?a}", 5, r"\{\?a\}: a is there twice"),
        ("x{?a}{&%61}", 5, "%61 is there twice"),
        # nothing in between
        ("x{a}{b}", 4, r"\{a\}\{b\}: nothing tells where the first value ends; .*\{a\}/\{b\}"),
        ("x{a}{+b}", 4, r"\{a\}\{\+b\}: nothing tells"),
        ("x{+a}{b}", 5, r"\{\+a\}\{b\}: nothing tells"),
        ("x{/a}{b}", 5, r"\{/a\}\{b\}: nothing tells"),
        ("x{a*}{b}", 5, r"\{a\*\}\{b\}: nothing tells"),
        ("x{;a}{b}", 5, r"\{;a\}\{b\}: nothing tells"),
        ("x{#a}{b}", 5, r"\{#a\}\{b\}: nothing tells"),
        ("x{a}{;b}{c}", 8, r"\{;b\}\{c\}: nothing tells"),
        ("x{?q}#{a}{b}", 9, r"\{a\}\{b\}: nothing tells"),
        # more than one of any length
        ("x{+a}/{+b}", 6, r"\{\+b\}: takes text of any length, and so does \{\+a\}"),
        ("x{+a}{#b}", 5, "takes text of any length"),
        ("x{/a*}{.b*}", 6, "takes text of any length"),
        ("x{a*}/{+b}", 6, "takes text of any length"),
        ("x{;a}{;b}", 5, "takes text of any length"),
        ("x{+a}{?b}{#c}", 9, "takes text of any length"),
        ("x{/a*,b*}", 1, r"\{/a\*,b\*\}: two lists in one"),
        ("x{+a*,b*}", 1, "two lists in one"),
        # the query is the end
        ("x{?a}{?b}", 5, r"the query has already begun; write \{&b\}"),
        ("x{&a}{?b}", 5, r"write \{&b\}"),
        ("x?k=v{?a,b*}", 5, r"write \{&a,b\*\}"),
        ("x{?a}/y", 5, r"/y: only \{&\.\.\.\} or a fragment may follow"),
        ("x{?a}{b}", 5, r"\{b\}: only \{&\.\.\.\} or a fragment may follow"),
        ("x{?a}y{&b}", 5, "or a fragment may follow"),
        ("x{?a}#y{&b}", 7, "stands in the fragment; put it before the #"),
        ("x#y{?a}", 3, "stands in the fragment; put it before the #"),
        ("x{#y}{?a}", 5, "stands in the fragment; put it before the #"),
        # text that would never match
        ("x/../{a}", 2, r"a `\.\.` segment is in the text itself"),
        ("x/%2e%2E/{a}", 0, r"a `\.\.` segment is in the text itself"),
        ("x/{a}/..{?b}", 6, r"a `\.\.` segment is in the text itself"),
    ],
    ids=ascii,
)
def test_template_is_refused_with_place_and_fix(template: str, offset: int, problem: str) -> None:
    with pytest.raises(TemplateError, match=problem) as raised:
        UriTemplate.parse(template)
    assert raised.value.template == template
    assert raised.value.offset == offset
    assert f"offset {offset}: " in str(raised.value)


def test_template_error_is_a_value_error() -> None:
    assert issubclass(TemplateError, ValueError)


@pytest.mark.parametrize(
    ("template", "prefix"),
    [
        ("note://{id}", "note://"),
        ("note://all", "note://all"),
        ("{a}", ""),
        ("x:{/a}", "x:/"),
        ("x{.a}", "x."),
        ("x{#a}", "x#"),
        ("x{;a}", "x"),
        ("x{?a}", "x"),
        ("x?k=v{&a}", "x?k=v"),
        ("caf\u00e9%7e/{a}", "caf%C3%A9~/"),
    ],
)
def test_literal_prefix_is_what_every_match_starts_with(template: str, prefix: str) -> None:
    assert UriTemplate.parse(template).literal_prefix == prefix


def test_template_keeps_its_text_and_names_in_their_order() -> None:
    template = UriTemplate.parse("x:{b,a}{?c%20,d.e*}")
    assert template.text == "x:{b,a}{?c%20,d.e*}"
    assert template.names == ("b", "a", "c%20", "d.e")


def test_values_come_in_the_order_of_the_template() -> None:
    values = UriTemplate.parse("x{?a,b,c}").match("x?c=1&b=2&a=3")
    assert values is not None
    assert list(values) == ["a", "b", "c"]


def test_templates_are_equal_by_text_and_policy() -> None:
    template = UriTemplate.parse("x{a}")
    assert template == UriTemplate.parse("x{a}")
    assert hash(template) == hash(UriTemplate.parse("x{a}"))
    assert template != UriTemplate.parse("x{b}")
    assert template != UriTemplate.parse("x{a}", allow_unsafe_paths=True)
    assert repr(template) == "UriTemplate(text='x{a}', allow_unsafe_paths=False)"
