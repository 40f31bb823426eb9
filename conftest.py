"""Runs the documentation: every Python block of every Markdown page is a test.

Blocks of one page share one namespace and run from top to bottom. A function named
`test_...` is called right after the block that defines it. A block that must not run
says why, on a line above it: `<!-- not run: reason -->`. Shell blocks are run by
`tests/docs/test_shell_blocks.py`.
"""

from __future__ import annotations

import inspect
import re
import sys
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from tests.docs.pages import Block, find_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".md":
        return PageFile.from_parent(parent, path=file_path)
    return None


class PageFile(pytest.File):
    """A page. Its blocks are run as one module, so that annotations can be resolved."""

    def collect(self) -> Iterator[pytest.Item]:
        module = ModuleType("page_" + re.sub(r"\W+", "_", self.path.stem).lower())
        module.__file__ = str(self.path)
        sys.modules[module.__name__] = module
        self.namespace = module.__dict__
        self.waiting = [block for block in find_blocks(self.path) if block.language == "python"]
        for block in list(self.waiting):
            yield BlockItem.from_parent(self, name=f"line {block.line}", page=self, block=block)

    def run_to(self, block: Block) -> None:
        """Run what has not run yet, up to `block`: it may be the only test selected."""
        while block in self.waiting:
            earlier = self.waiting.pop(0)
            if earlier.not_run is None:
                # Line numbers are the page's.
                source = "\n" * earlier.line + earlier.body
                code = compile(source, self.path, "exec", dont_inherit=True)
                exec(code, self.namespace)  # noqa: S102 - this project's own documentation


class BlockItem(pytest.Item):
    """A Python block."""

    # Plugins look here for the test's function; a block has none.
    obj = None

    def __init__(self, *, page: PageFile, block: Block, **named: Any) -> None:
        super().__init__(**named)
        self.page = page
        self.block = block

    def runtest(self) -> None:
        if self.block.not_run is not None:
            pytest.skip(f"the page says: {self.block.not_run}")
        self.page.run_to(self.block)
        for name in re.findall(r"^(?:async )?def (test_\w+)", self.block.body, re.MULTILINE):
            run_test(self.page.namespace[name])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        excinfo.traceback = excinfo.traceback.cut(path=self.path)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.block.line, str(self.block)


def run_test(test: Callable[..., Any]) -> None:
    """Call a test of a page, as pytest would one without fixtures but the clock."""
    clock = trio.testing.MockClock(autojump_threshold=0)
    if "autojump_clock" in inspect.signature(test).parameters:
        trio.run(partial(test, autojump_clock=clock), clock=clock)
    elif inspect.iscoroutinefunction(test):
        trio.run(test)
    else:
        test()
