"""What the documentation says of the clients' versions is what is pinned."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def read_pin(name: str) -> str:
    pins = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    found = re.search(r"(?m)^mcp==(\S+)$", pins)
    assert found is not None, f"{name} pins no mcp"
    return found.group(1)


def test_the_page_names_the_versions_that_are_pinned() -> None:
    package = json.loads((ROOT / "tests/clients/package.json").read_text(encoding="utf-8"))
    [typescript] = package["dependencies"].values()
    page = (ROOT / "docs/every-client.md").read_text(encoding="utf-8")
    told = re.findall(r"(?m)^\| official .* client, .* \| (\S+) \| ", page)
    assert told == [read_pin("dev.txt"), read_pin("client-python-1.txt"), typescript]
