r"""URI templates that can be read backwards: RFC 6570, as far as that is certain.

Layer: providers, pure. RFC 6570 says how a template and values make a URI. A resource
repository needs the other direction, which the RFC leaves open: most URIs could have
come from several values. So a template is accepted only when one plain rule finds the
values, in time linear in the URI; the rest is refused when it is parsed.

What is accepted, and what a value is then:

| written | in the URI | value |
|---|---|---|
| text | itself, percent-encoded in any way | |
| `{a}`, `{a,b}` | `1`, `1,2` | `str` each, never missing |
| `{.a}`, `{.a,b}` | `.1`, `.1.2` | the same |
| `{/a}`, `{/a,b}` | `/1`, `/1/2` | the same |
| `{a*}`, `{.a*}`, `{/a*}` | `1,2`, `.1.2`, `/1/2` | `list[str]`, one item at least |
| `{+a}`, `{#a}` | `x/y?z`, `#x/y` | `str`, separators included |
| `{+a,b}`, `{+a*}`, `{#a,b}`, `{#a*}` | `x/y,z` | a comma always separates |
| `{;a,b}` | `;b=2;a=1` | `str`; in any order, may be missing or empty |
| `{?a,b}`, `{&a,b}` | `?b=2&a=1` | the same |
| `{;a*}`, `{?a*}`, `{&a*}` | `?a=1&a=2` | `list[str]`; may be missing |

Values of `{a}`, `{.a}` and `{/a}` hold none of `/ ? # [ ] , ; &` unless encoded; the
other characters of a URI may stand there as they are. Where the text behind a value also
occurs in it, a value in front of the greedy expression ends at the first occurrence, and
one behind it begins after the last. Without a greedy one the first value takes what the
others leave: `{name}.{ext}` reads `a.tar.gz` as `a.tar` and `gz`. Parameters of other
names are ignored; one that is no list and comes twice is no match. Values are decoded
once, as strict UTF-8; `+` is a plus sign. Whether a value is a list never depends on the
URI; so there are no associative arrays, of which RFC 6570 writes `*` as well.

What is refused, with `TemplateError`: all that is an error in RFC 6570; prefixes
(`{a:3}`), which do not give the value back; one name twice; two values with neither text
nor an operator between them (`{a}{b}`); more than one greedy expression (`+`, `#`, `;`, a
list outside the query); two lists in one such expression; a second `{?...}`; anything but
`{&...}` or a fragment behind a query expression; a `..` segment in the text.

What is no match unless `allow_unsafe_paths=True`, also when it shows only after further
percent-decoding:

| | `{a} {.a} {/a} {+a}` | `{#a}` | `{;a} {?a} {&a}` |
|---|---|---|---|
| a NUL character | refused | refused | refused |
| a `..` segment, between `/` or `\` | refused | refused | refused |
| an absolute path: begins with `/`, `\` or a drive such as `C:` | refused | taken | refused |
| an empty value or item | refused | refused | taken |

and, for the path of the whole URI, a `..` segment that a value forms with the text beside
it. A fragment may begin with `/`, as JSON pointers do.

Spec: server/resources#resource-templates, server/resources#security-considerations
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, cast

import attrs

from genmcp.providers.uri_template_expand import expand_parts
from genmcp.providers.uri_template_layout import lay_out
from genmcp.providers.uri_template_parts import (
    Expression,
    Literal,
    TemplateError,
    Variable,
    read_parts,
)
from genmcp.providers.uri_template_text import (
    decode,
    find_danger,
    find_foreign,
    mark,
    path_has_dot_segment,
    render,
)
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from genmcp.providers.uri_template_match import Layout

__all__ = ["MAX_URI_BYTES", "TemplateError", "TemplateValues", "UriTemplate"]

MAX_URI_BYTES: Final = 8192
"""A URI that is longer, in UTF-8, matches no template."""

TemplateValues: TypeAlias = "dict[str, str | list[str]]"
"""The values by name: a list for an exploded variable, text for every other."""


@attrs.frozen(eq=False, repr=False)
class UriTemplate(Value):
    """A URI template that was parsed; `UriTemplate.parse` makes one.

    Attributes:
        text: as it was written, and as it goes on the wire as `uriTemplate`.
        allow_unsafe_paths: whether values that may lead out of a directory are taken.

    Spec: server/resources#resource-templates
    """

    text: str
    allow_unsafe_paths: bool
    _parts: tuple[Literal | Expression, ...] = attrs.field(repr=False, eq=False)
    _variables: tuple[Variable, ...] = attrs.field(repr=False, eq=False)
    _layout: Layout = attrs.field(repr=False, eq=False)

    @classmethod
    def parse(cls, text: str, *, allow_unsafe_paths: bool = False) -> UriTemplate:
        """Parse a template. The module's page says what is accepted.

        Args:
            text: the template.
            allow_unsafe_paths: take values that hold NUL, a `..` segment or an absolute
                path, and empty ones where a value is needed; whoever reads the resource
                then checks them.

        Raises:
            TemplateError: it is malformed, or could be matched in more than one way.
        """
        parts = tuple(read_parts(text))
        layout = lay_out(text, parts)
        # Any value will do: one of a single letter makes no `..` of its own.
        if not allow_unsafe_paths and path_has_dot_segment("x".join(layout.head.literals)):
            raise TemplateError(
                text,
                max(text.find(".."), 0),  # it may be written %2E%2E
                "a `..` segment is in the text itself, and never matched; write the path "
                "without it, or pass allow_unsafe_paths=True",
            )
        variables = tuple(
            variable
            for part in parts
            if isinstance(part, Expression)
            for variable in part.variables
        )
        return cls(text, allow_unsafe_paths, parts, variables, layout)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in the order they are written."""
        return tuple(variable.name for variable in self._variables)

    @property
    def literal_prefix(self) -> str:
        """What every match starts with, percent-encoding aside; the scheme, as a rule."""
        return render(self._layout.head.literals[0])

    def match(self, uri: str) -> TemplateValues | None:
        """Return the values in `uri`, or `None` when it does not match.

        Never raises, whatever the text, and takes time linear in its length. A parameter
        that is missing has no entry.
        """
        if len(uri) > MAX_URI_BYTES or find_foreign(uri) is not None:
            return None
        if not uri.isascii() and len(uri.encode("utf-8")) > MAX_URI_BYTES:
            return None
        marked = mark(uri)
        found = self._layout.find(marked, shortest=0 if self.allow_unsafe_paths else 1)
        if found is None:
            return None
        if not self.allow_unsafe_paths and path_has_dot_segment(marked):
            return None
        values: TemplateValues = {}
        for variable in self._variables:
            if variable.name not in found:
                continue
            items = self._read_items(variable, found[variable.name])
            if items is None:
                return None
            values[variable.name] = items if variable.exploded else items[0]
        return values

    def expand(self, values: Mapping[str, str | Sequence[str]]) -> str:
        """Return the URI for `values`, as RFC 6570 expands the template.

        What is returned, `match` reads back as `values`. Where it could not, `expand`
        raises, so that a repository lists nothing that it cannot read.

        Args:
            values: text by name, or for exploded variables a list of texts. Names in
                `{;...}`, `{?...}` and `{&...}` may be left out.

        Raises:
            TypeError: a value is not text, or not a list of texts where one is needed.
            ValueError: a name is unknown or missing, a value is one that `match` refuses,
                or it would be read back differently: what separates it stands in it.
        """
        unknown = [name for name in values if name not in self.names]
        if unknown:
            raise ValueError(f"{self.text} has no variable {unknown[0]!r}; it has {self.names}")
        given: dict[str, list[str]] = {}
        for variable in self._variables:
            if variable.name in values:
                given[variable.name] = _take_items(variable, values[variable.name])
                self._check_items(variable, given[variable.name])
            elif not variable.named:
                raise ValueError(f"{self.text} needs a value for {variable.name!r}")
        uri = expand_parts(self._parts, given)
        self._check_read_back(uri, given)
        return uri

    def _read_items(self, variable: Variable, texts: list[str]) -> list[str] | None:
        items: list[str] = []
        for text in texts:
            item = decode(text)
            if item is None or self._find_fault(variable, item):
                return None
            items.append(item)
        return items

    def _find_fault(self, variable: Variable, item: str) -> str | None:
        if self.allow_unsafe_paths:
            return None
        if not item and not variable.named:
            return "nothing"
        return find_danger(item, may_be_absolute=variable.operator == "#")

    def _check_items(self, variable: Variable, items: list[str]) -> None:
        if not items:
            raise ValueError(f"{variable.name}: an empty list leaves no trace; leave it out")
        for item in items:
            fault = self._find_fault(variable, item)
            if fault:
                raise ValueError(
                    f"{variable.name}: {item!r} holds {fault}, which is not matched unless "
                    "the template is parsed with allow_unsafe_paths=True"
                )

    def _check_read_back(self, uri: str, given: Mapping[str, list[str]]) -> None:
        if len(uri) > MAX_URI_BYTES:
            raise ValueError(f"{self.text}: a URI of {len(uri)} bytes; {MAX_URI_BYTES} at most")
        back = self.match(uri)
        if back is None:
            raise ValueError(
                f"{self.text}: these values make {uri!r}, which does not match; text that "
                "separates values stands in one of them"
            )
        for variable in self._variables:
            items = given.get(variable.name)
            value = items and (items if variable.exploded else items[0])
            if back.get(variable.name) != value:
                raise ValueError(
                    f"{self.text}: {variable.name} would be read back from {uri!r} as "
                    f"{back.get(variable.name)!r}, not as {value!r}"
                )


def _take_items(variable: Variable, value: object) -> list[str]:
    needed, items = "str", [value]
    if variable.exploded:
        needed, items = "a list of str", [None]
        if isinstance(value, list | tuple):
            items = list(cast("Sequence[object]", value))
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) < len(items):
        raise TypeError(f"{variable.name} must be {needed}, got {value!r}")
    return texts
