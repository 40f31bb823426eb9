"""A folder as resources: an MCP server in one file.

    SERVED_FOLDER=docs genmcp serve docs/examples/providers/resources.py:suite

Every file below the folder is a resource, `folder:///guide/first-steps.md` for one. They
are listed page by page, read as text or as bytes, and their paths are suggested while
the user types. `about://server` is a single resource beside them.

Files block, so the hooks of `Folder` are plain `def`: each call has a worker thread of
its own. Hidden files are neither listed nor read, nor is what lies outside the folder,
whatever the path or a symbolic link says.
"""

from __future__ import annotations

import datetime
import mimetypes
import os
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from genmcp import BlockingChannel, NotFound, ResourceRepo, Suite, mcp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from genmcp import Channel


@attrs.frozen
class Folder(
    ResourceRepo[BlockingChannel],
    prefix="folder:///",
    template="folder:///{+path}",
    name="File",
    cache_control=("private", datetime.timedelta(seconds=10)),
):
    """A file of the folder, by its path in it."""

    root: Path
    page_size: int = 100

    def list_resources(
        self, cursor: str | None, channel: BlockingChannel
    ) -> tuple[Sequence[mcp.Resource], str | None]:
        """Return the files behind the one that `cursor` names, in the order of paths."""
        paths = sorted(path for path in self._find() if cursor is None or path > cursor)
        page = paths[: self.page_size]
        return [self._describe(path) for path in page], page[-1] if page != paths else None

    def read(self, target: Mapping[str, str], channel: BlockingChannel) -> mcp.ReadResourceResult:
        """Return what the file holds, as text if it is any.

        `target` has the variables of the template. Absolute paths and `..` do not come
        this far, symbolic links do.
        """
        path = target["path"]
        if not self._serves(path):
            raise NotFound
        data = (self.root / path).read_bytes()
        uri = self._make_uri(path)
        mime_type, _ = mimetypes.guess_type(path)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return mcp.read_resource_result(uri=uri, blob=data, mime_type=mime_type)
        return mcp.read_resource_result(uri=uri, text=text, mime_type=mime_type or "text/plain")

    def complete(
        self,
        argument: mcp.CompletionArgument,
        context: dict[str, str],
        channel: BlockingChannel,
    ) -> Sequence[str]:
        """Suggest paths that begin like what was typed. The Suite sends 100 of them."""
        return sorted(path for path in self._find() if path.startswith(argument.value))

    def _find(self) -> Iterator[str]:
        for path in self.root.rglob("*"):
            name = path.relative_to(self.root).as_posix()
            if self._serves(name):
                yield name

    def _serves(self, path: str) -> bool:
        full = (self.root / path).resolve()
        inside = full.is_relative_to(self.root.resolve()) and full.is_file()
        hidden = any(part.startswith(".") for part in path.split("/"))
        return inside and not hidden and self._has_uri(path)

    def _has_uri(self, path: str) -> bool:
        try:
            self._make_uri(path)
        except ValueError:
            # Such as a name with a percent sign, which would be read as another.
            return False
        return True

    def _make_uri(self, path: str) -> str:
        template = self.uri_template()
        assert template is not None, "it is a class keyword"
        return template.expand({"path": path})

    def _describe(self, path: str) -> mcp.Resource:
        mime_type, _ = mimetypes.guess_type(path)
        size = (self.root / path).stat().st_size
        return mcp.Resource(
            uri=self._make_uri(path), name=path, mime_type=mime_type or "text/plain", size=size
        )


class About(ResourceRepo, prefix="about://", cache_control=("public", datetime.timedelta(days=1))):
    """One resource that is always the same. Without a template, `read` gets the URI."""

    async def list_resources(self, cursor: None, channel: Channel) -> Sequence[mcp.Resource]:
        """Return it."""
        return [mcp.Resource(uri="about://server", name="about", title="About this server")]

    async def read(self, target: str, channel: Channel) -> str:
        """Return its text alone; the Suite makes the result of it."""
        if target != "about://server":
            raise NotFound
        return "Serves the files of a folder."


def make_suite(root: Path) -> Suite:
    """Return the server of the files below `root`."""
    return Suite(server_name="folder", server_version="1.0.0", resources=[Folder(root), About])


suite = make_suite(Path(os.environ.get("SERVED_FOLDER") or "."))
