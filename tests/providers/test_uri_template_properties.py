"""What holds for every template, every value and every text."""

from __future__ import annotations

import re
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from genmcp.providers.uri_template import TemplateError, UriTemplate

Values = dict[str, Any]

# What stands between values. The unreserved characters in it are kept out of the values,
# which would be ambiguous with them; `2` and `F` still occur in what values are encoded as.
LITERALS = ["/", "//", "-", "/x-", "2", "F", ":", "@", "caf\u00e9/", "%20-", "%2f-", "!", "."]
KEPT_OUT = "-.2F"
NARROW = st.characters(exclude_categories=["Cs"], exclude_characters=KEPT_OUT)
WIDE = st.characters(exclude_categories=["Cs"], exclude_characters=",?#&")

TRIPLET = re.compile(r"%[0-9A-Fa-f]{2}")


@st.composite
def templates(draw: st.DrawFn) -> tuple[str, dict[str, bool]]:
    """A template that must be accepted, and its variables.

    A variable is True if it is a list, False if it is text, and may be left out if its
    name is in upper case. The names of greedy variables begin with `g`.
    """
    variables: dict[str, bool] = {}
    greedy_left = draw(st.booleans())
    text = draw(st.sampled_from(["", "x:", "note://"]))
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["", ".", "/"] + ["+", "#", ";", "*"] * greedy_left))
        greedy_left = greedy_left and kind not in {"+", "#", ";", "*"}
        text += _draw_expression(draw, kind, variables) + draw(st.sampled_from(LITERALS))
    if "{#" not in text and draw(st.booleans()):
        text += draw(st.sampled_from(["{?P,Q*}", "{?P*}", "?k=v{&P,Q}", "{?P}"]))
        variables |= {name: f"{name}*" in text for name in "PQ" if name in text}
        if draw(st.booleans()):
            text += "#f{z}"
            variables["z"] = False
    return text, variables


def _draw_expression(draw: st.DrawFn, kind: str, variables: dict[str, bool]) -> str:
    prefix = {"+": "g", "#": "g", ";": "G"}.get(kind, "v")
    names = [f"{prefix}{len(variables) + at}" for at in range(draw(st.integers(1, 2)))]
    operator = draw(st.sampled_from(["", ".", "/"])) if kind == "*" else kind
    may_explode = kind == "*" or (kind in {"+", "#", ";"} and draw(st.booleans()))
    exploded = draw(st.sampled_from(names)) if may_explode else None
    variables |= {name: name == exploded for name in names}
    return f"{{{operator}{','.join(name + '*' * (name == exploded) for name in names)}}}"


@st.composite
def templates_with_values(draw: st.DrawFn) -> tuple[UriTemplate, Values]:
    text, variables = draw(templates())
    template = UriTemplate.parse(text, allow_unsafe_paths=True)
    values: Values = {}
    for name, exploded in variables.items():
        if name[0].isupper() and draw(st.booleans()):
            continue
        item = st.text(NARROW, max_size=6)
        if name[0] == "g":  # `+` and `#` pass triplets through, to be decoded
            item = st.text(WIDE, max_size=6).filter(lambda text: not TRIPLET.search(text))
        values[name] = draw(st.lists(item, min_size=1, max_size=4) if exploded else item)
    return template, values


@given(templates())
def test_templates_of_the_table_are_accepted(drawn: tuple[str, dict[str, bool]]) -> None:
    text, variables = drawn
    template = UriTemplate.parse(text, allow_unsafe_paths=True)
    assert template.text == text
    assert sorted(template.names) == sorted(variables)


@given(templates_with_values())
@settings(max_examples=500)
def test_what_was_expanded_is_read_back(drawn: tuple[UriTemplate, Values]) -> None:
    template, values = drawn
    assert template.match(template.expand(values)) == values


@given(templates_with_values(), st.randoms(use_true_random=False))
def test_another_spelling_of_the_uri_gives_the_same_values(
    drawn: tuple[UriTemplate, Values], random: Random
) -> None:
    template, values = drawn

    def respell(found: re.Match[str]) -> str:
        text = found[0]
        if len(text) > 1:
            return random.choice([text.lower(), text.upper()])
        return random.choice([text, f"%{ord(text):02X}", f"%{ord(text):02x}"])

    uri = template.expand(values)
    spelled = re.sub(r"%[0-9A-Fa-f]{2}|[A-Za-z0-9._~-]", respell, uri)
    assert template.match(spelled) == values


SAFE_ITEM = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="-.2F%,?#&/\\:\0"),
    min_size=1,
    max_size=6,
)


@given(templates(), st.data())
def test_values_without_dots_and_separators_are_read_back_by_default(
    drawn: tuple[str, dict[str, bool]], data: st.DataObject
) -> None:
    text, variables = drawn
    values = {
        name: data.draw(st.lists(SAFE_ITEM, min_size=1, max_size=3) if exploded else SAFE_ITEM)
        for name, exploded in variables.items()
    }
    template = UriTemplate.parse(text)
    assert template.match(template.expand(values)) == values


SHAPES = [
    "x:{a}",
    "x:{a}-{b}",
    "x:{a,b}{.c}",
    "x:{a}/{+b}.{c}",
    "x:{/a*}{?b,c*}",
    "x:{/a,b}{;c,d*}",
    "x:{+a,b}",
    "x:{+a*}/{b}",
    "x:{a}{#b,c}",
    "x:?k={a}{&b}#{c}",
]
# In twos and threes, which meet what one character alone does not.
PIECES = [
    *"/-.,;?&=#abc%\\ \u00e9",
    *("x:", "..", "%2F", "%2e", "%25", "%00", "%C3%A9", "%FF", "C:"),
]
ANY_TEXT = st.text(st.characters(), max_size=40)
URI_LIKE = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@given(st.sampled_from(SHAPES), ANY_TEXT | URI_LIKE | URI_LIKE.map("x:".__add__), st.booleans())
@settings(max_examples=500)
def test_any_text_is_matched_without_an_error(template: str, uri: str, allow: bool) -> None:
    parsed = UriTemplate.parse(template, allow_unsafe_paths=allow)
    values = parsed.match(uri)
    if values is None:
        return
    assert set(values) <= set(parsed.names)
    for name, value in values.items():
        assert isinstance(value, list if f"{name}*" in template else str)


@given(st.sampled_from(SHAPES), URI_LIKE.map("x:".__add__))
@settings(max_examples=500)
def test_nothing_that_matches_by_default_leads_out_of_a_directory(template: str, uri: str) -> None:
    values = UriTemplate.parse(template).match(uri) or {}
    for name, value in values.items():
        for item in value if isinstance(value, list) else [value]:
            assert "\0" not in item
            assert ".." not in re.split(r"[/\\]", item)
            if "#" not in template:
                assert not re.match(r"[/\\]|[A-Za-z]:", item), name


@given(st.text(st.sampled_from("{}+#./;?&*,:=abx%2-\u00e9 \ud800"), max_size=20))
@settings(max_examples=500)
def test_any_template_is_parsed_or_refused_with_its_place(text: str) -> None:
    refused: list[int] = []
    try:
        template = UriTemplate.parse(text)
    except TemplateError as error:
        refused.append(error.offset)
    else:
        assert len(set(template.names)) == len(template.names)
        assert template.match("\ud800") is None
    assert all(0 <= offset <= len(text) for offset in refused)
