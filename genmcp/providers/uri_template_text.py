"""The text of a URI while it is matched: percent-encoding undone in a way that can wait.

Layer: providers, pure; below `genmcp.providers.uri_template_parts`.

Two URIs are the same to a template when they differ in how they are percent-encoded
only: `%7e` and `~`, `%2f` and `%2F`, `é` and `%C3%A9`. `mark` brings both into one
form, in which an encoded octet is one character, `chr(0x100 + octet)`. So text can be
searched and cut without ever cutting an encoded octet in two or taking an encoded
`/` for a separator, and `decode` decodes what was cut, once.

What a decoded value may not hold is told by `find_danger`.
"""

from __future__ import annotations

import re
import string
from typing import Final
from urllib.parse import quote

GEN_DELIMS: Final = ":/?#[]@"
SUB_DELIMS: Final = "!$&'()*+,;="

_UNRESERVED: Final = frozenset(string.ascii_letters + string.digits + "-._~")
_HEX: Final = frozenset(string.hexdigits)
_LETTERS: Final = frozenset(string.ascii_letters)
_MARK: Final = 0x100
_OCTETS: Final = {_MARK + octet: octet for octet in range(256)}
_TRIPLETS: Final = {_MARK + octet: f"%{octet:02X}" for octet in range(256)}

# Every pattern here matches one character or one triplet: nothing to backtrack into.
# Beyond ASCII, what an IRI may hold is taken; C1 controls and surrogates are not. What is
# foreign is spelt out, as the complement takes Python twenty times as long to compile.
_FOREIGN: Final = re.compile(
    r"""%(?![0-9A-Fa-f]{2})|[\x00-\x20"<>\\^`{|}\x7f-\x9f]|[\ud800-\udfff]"""
)
_ENCODED: Final = re.compile(r"%[0-9A-Fa-f]{2}|[^\x00-\x7f]")
_TRIPLET: Final = re.compile(r"(%[0-9A-Fa-f]{2})")


def find_foreign(text: str) -> int | None:
    """Return where the first character stands that no URI or IRI may hold there."""
    found = _FOREIGN.search(text)
    return None if found is None else found.start()


def mark(text: str) -> str:
    """Return `text`, in which nothing is foreign, with encoded octets as one character."""
    if text.isascii() and "%" not in text:
        return text
    return _ENCODED.sub(_mark_one, text)


def decode(marked: str) -> str | None:
    """Return what marked text says, or `None` when it is not UTF-8, strictly read."""
    try:
        return marked.translate(_OCTETS).encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return None


def render(marked: str) -> str:
    """Return marked text as it stands in a URI."""
    return marked.translate(_TRIPLETS)


def encode_value(text: str) -> str:
    """Return `text` with everything but unreserved characters percent-encoded.

    Raises:
        UnicodeEncodeError: it holds a lone surrogate.
    """
    return quote(text, safe="")


def encode_reserved(text: str) -> str:
    """Return `text` for `+` and `#`: reserved characters and triplets stay as they are.

    Raises:
        UnicodeEncodeError: it holds a lone surrogate.
    """
    pieces = _TRIPLET.split(text)
    pieces[::2] = [quote(piece, safe=GEN_DELIMS + SUB_DELIMS) for piece in pieces[::2]]
    return "".join(pieces)


def find_danger(value: str, *, may_be_absolute: bool) -> str | None:
    """Return what makes a decoded value unfit as part of a path, or `None`.

    Looks through further layers of percent-encoding: an application that decodes
    again, or hands the value to something that does, is not to be surprised by it.
    """
    plain = _decode_all(value)
    if "\0" in plain:
        return "a NUL character"
    if has_dot_segment(plain):
        return "a `..` segment"
    if not may_be_absolute and _is_absolute(plain):
        return "an absolute path"
    return None


def path_has_dot_segment(marked: str) -> bool:
    """Tell whether a marked URI has a `..` segment before its query and fragment."""
    path = marked.partition("#")[0].partition("?")[0]
    return has_dot_segment(_decode_all(path.translate(_OCTETS)))


def has_dot_segment(text: str) -> bool:
    """Tell whether `..` stands alone between separators, of any system, in `text`."""
    return ".." in text.replace("\\", "/").split("/")


def _mark_one(found: re.Match[str]) -> str:
    text = found[0]
    if text[0] != "%":
        return "".join(chr(_MARK + octet) for octet in text.encode("utf-8"))
    octet = int(text[1:], 16)
    return chr(octet) if chr(octet) in _UNRESERVED else chr(_MARK + octet)


def _is_absolute(text: str) -> bool:
    # `C:x` is relative to drive C only: joined to a directory, it leaves it all the same.
    return text[:1] in {"/", "\\"} or (text[1:2] == ":" and text[0] in _LETTERS)


def _decode_all(text: str) -> str:
    # Decoding again and again until nothing changes takes as many passes as `%252525…`
    # has layers. Here a triplet is undone as soon as it is complete, the last character
    # of an outer one included; each step removes two characters, so that the work is
    # linear. Octets beyond ASCII become some character, nobody asks which.
    if "%" not in text:
        return text
    kept: list[str] = []
    for character in text:
        kept.append(character)
        while len(kept) > 2 and kept[-3] == "%" and _HEX.issuperset(kept[-2:]):  # noqa: PLR2004
            kept[-3:] = chr(int(kept[-2] + kept[-1], 16))
    return "".join(kept)
