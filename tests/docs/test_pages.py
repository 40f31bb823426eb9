"""What is not code in the pages: blocks are of a known kind, the navigation is whole."""

from __future__ import annotations

import json
import re

from tests.docs.pages import ROOT, find_all_blocks

RUN_AS_PYTHON = {"python"}
RUN_AS_SHELL = {"bash", "console"}
SHOWN_ONLY = {"elixir", "http", "ini", "json", "mermaid", "text", "toml", "yaml"}


def test_every_block_says_a_language_that_is_run_or_only_shown() -> None:
    known = RUN_AS_PYTHON | RUN_AS_SHELL | SHOWN_ONLY
    unknown = {
        str(block): block.language for block in find_all_blocks() if block.language not in known
    }
    assert unknown == {}


def test_every_json_block_is_json() -> None:
    broken: dict[str, str] = {}
    for block in find_all_blocks():
        if block.language != "json":
            continue
        try:
            json.loads(block.body)
        except ValueError as error:
            broken[str(block)] = str(error)
    assert broken == {}


def test_the_navigation_lists_every_page_once() -> None:
    listed = re.findall(r"[\w/.-]+\.md\b", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    written = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(written)
