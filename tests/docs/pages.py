"""The documentation's Markdown pages, and the fenced blocks in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_NOT_RUN = re.compile(r"<!-- not run: (?P<reason>(?:(?!-->).)+?)\s*-->\s*\Z", re.DOTALL)


@attrs.frozen
class Block:
    """One fenced block.

    Attributes:
        page: the page's path, from the repository's root.
        line: where its opening fence stands, from 1.
        not_run: the reason the page gives for not running it, if it gives one.
    """

    page: str
    line: int
    language: str
    body: str
    not_run: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def find_pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def find_blocks(path: Path) -> Iterator[Block]:
    text = path.read_text(encoding="utf-8")
    for fence in _FENCE.finditer(text):
        indent = len(fence["indent"])
        mark = _NOT_RUN.search(text, 0, fence.start())
        yield Block(
            page=path.relative_to(ROOT).as_posix(),
            line=text.count("\n", 0, fence.start()) + 1,
            language=fence["language"].strip(),
            body="".join(line[indent:] for line in fence["body"].splitlines(keepends=True)),
            not_run=None if mark is None else mark["reason"],
        )


def find_all_blocks() -> list[Block]:
    return [block for path in find_pages() for block in find_blocks(path)]
