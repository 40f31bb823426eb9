"""The examples of prompts and resources do what they say."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from docs.examples.providers import prompts, resources
from docs.examples.providers.prompts import ReleasePrompts, ReviewPrompts
from docs.examples.providers.resources import About, Folder, make_suite
from genmcp import Suite, mcp
from genmcp.testing import (
    Client,
    ServerError,
    accept,
    check_prompt_repo,
    check_resource_repo,
    decline,
)

ASKABLE = mcp.ClientCapabilities(elicitation=mcp.ElicitationCapability())


def texts_of(result: mcp.Result) -> list[str]:
    assert isinstance(result, mcp.GetPromptResult)
    blocks = [message.content for message in result.messages]
    return [block.text for block in blocks if isinstance(block, mcp.TextContent)]


# -- prompts --------------------------------------------------------------------------


def test_prompt_repositories_keep_the_contract() -> None:
    code = {"code": "x = 1", "language": "Python"}
    [review] = check_prompt_repo(ReviewPrompts, [("review-code", code)])
    assert "written in Python:\n\nx = 1" in texts_of(review)[0]
    check_prompt_repo(ReleasePrompts, [("release-notes", {"version": "2.0.0"})])


async def test_reviews_are_listed_got_and_completed() -> None:
    async with Client(prompts.suite) as client:
        listed = [prompt.name for prompt in await client.list_all_prompts()]
        assert listed == ["review-code", "review-guidelines", "release-notes"]
        with pytest.raises(ServerError, match='missing required argument "code"'):
            await client.get_prompt("review-code")
        with pytest.raises(ServerError, match="code must not be blank"):
            await client.get_prompt("review-code", {"code": " "})
        guidelines = await client.get_prompt("review-guidelines")
        assert isinstance(guidelines, mcp.GetPromptResult)
        assert isinstance(guidelines.messages[0].content, mcp.EmbeddedResource)
        ref = mcp.PromptReference(name="review-code")
        assert (await client.complete(ref, "language", "ja")).values == ["Java", "JavaScript"]
        assert (await client.complete(ref, "code", "x")).values == []


@pytest.mark.parametrize(
    ("answer", "expected"), [(accept(version="3.1"), "3.1"), (decline(), "the next version")]
)
async def test_release_notes_ask_for_the_version(answer: mcp.ElicitResult, expected: str) -> None:
    async with Client(prompts.suite, capabilities=ASKABLE) as client:
        assert texts_of(await client.get_prompt("release-notes", {"version": "9"})) == [
            "Draft release notes for 9 from the changes you know of."
        ]
        asked = await client.get_prompt("release-notes")
        assert isinstance(asked, mcp.InputRequiredResult)
        result = await client.get_prompt(
            "release-notes",
            input_responses={"release": answer},
            request_state=asked.request_state,
        )
    assert texts_of(result) == [f"Draft release notes for {expected} from the changes you know of."]


# -- resources ------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with text, bytes, odd names, and what must not be served."""
    folder = tmp_path / "served"
    for name, data in {
        "a.md": b"# A",
        "deep/er/b.txt": "grüße".encode(),
        "deep/c.bin": b"\xff\xfe\x00",
        "empty.txt": b"",
        "hash#and?mark.txt": b"odd",
        "with space.txt": b"spaced",
        ".hidden": b"secret",
        ".git/config": b"secret",
        "100%41.txt": b"cannot be named",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "outside.txt").write_bytes(b"secret")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "loop").symlink_to(folder)
    return folder


SERVED = [
    "a.md",
    "deep/c.bin",
    "deep/er/b.txt",
    "empty.txt",
    "hash#and?mark.txt",
    "with space.txt",
]


def test_resource_repositories_keep_the_contract(root: Path) -> None:
    check_resource_repo(Folder(root), ["folder:///a.md"])
    check_resource_repo(Folder(root, page_size=2))
    check_resource_repo(About)


@pytest.mark.parametrize("page_size", [1, 2, 3, 100])
async def test_every_file_is_listed_once_and_can_be_read(root: Path, page_size: int) -> None:
    served = Suite(
        server_name="folder", server_version="1", resources=[Folder(root, page_size=page_size)]
    )
    async with Client(served) as client:
        listed = await client.list_all_resources()
        assert [one.name for one in listed] == SERVED
        for one in listed:
            result = await client.read_resource(one.uri)
            assert isinstance(result, mcp.ReadResourceResult)
            [contents] = result.contents
            assert contents.uri == one.uri
            data = (
                contents.text.encode()
                if isinstance(contents, mcp.TextResourceContents)
                else base64.b64decode(contents.blob)
            )
            assert data == (root / one.name).read_bytes()
            assert one.size == len(data)
            assert (result.cache_scope, result.ttl_ms) == ("private", 10_000)


@pytest.mark.parametrize(
    "path",
    [
        "nothing.txt",
        "deep",
        ".hidden",
        ".git/config",
        "link.txt",
        "../outside.txt",
        "deep/%2e%2e/%2e%2e/outside.txt",
        "/etc/passwd",
        "a.md%00",
        "100%41.txt",
        "100%2541.txt",
        "",
    ],
)
async def test_what_is_not_served_is_not_found(root: Path, path: str) -> None:
    uri = f"folder:///{path}"
    async with Client(make_suite(root)) as client:
        with pytest.raises(ServerError, match="Resource not found") as caught:
            await client.read_resource(uri)
    assert (caught.value.code, caught.value.data) == (-32602, {"uri": uri})


async def test_paths_are_completed(root: Path) -> None:
    ref = mcp.ResourceTemplateReference(uri="folder:///{+path}")
    async with Client(make_suite(root)) as client:
        completion = await client.complete(ref, "path", "deep/")
    assert completion.values == ["deep/c.bin", "deep/er/b.txt"]


async def test_about_is_public_for_a_day(root: Path) -> None:
    async with Client(make_suite(root)) as client:
        result = await client.read_resource("about://server")
        assert isinstance(result, mcp.ReadResourceResult)
        assert (result.cache_scope, result.ttl_ms) == ("public", 86_400_000)
        with pytest.raises(ServerError, match="Resource not found"):
            await client.read_resource("about://other")


def test_folder_comes_from_the_environment() -> None:
    expected = os.environ.get("SERVED_FOLDER") or "."
    [folder, _] = resources.suite.resources
    assert isinstance(folder, Folder)
    assert folder.root == Path(expected)
