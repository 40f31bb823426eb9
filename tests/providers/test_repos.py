"""Repositories as classes: keywords, hooks by hand, and what is refused."""

from __future__ import annotations

import dataclasses
import datetime
import types
from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from genmcp import Channel, Extension, NotFound, PromptRepo, ResourceRepo, mcp
from genmcp.providers.resource_repo import find_uri_fault
from genmcp.suite.prompts import PromptsPage
from genmcp.suite.resources import ResourcesPage


class BasePrompts(PromptRepo):
    async def list_prompts(self, cursor: Any, channel: Channel) -> list[mcp.Prompt]:
        return []

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> str:
        return name


class BaseResources(ResourceRepo):
    async def list_resources(self, cursor: Any, channel: Channel) -> list[mcp.Resource]:
        return []

    async def read(self, target: Any, channel: Channel) -> str:
        return str(target)


def serve(repo: Any) -> None:
    """Put a repository into the page that would serve it."""
    page: Any = PromptsPage if isinstance(repo, PromptRepo) else ResourcesPage
    page([repo], [], page_size=1)


@pytest.mark.parametrize("base", [BasePrompts, BaseResources])
def test_defaults_take_everything_and_keep_nothing(base: Any) -> None:
    repo = base()
    assert (repo.prefix(), repo.cache_control()) == ("", ("private", 0))
    assert repo.requires() == mcp.ClientCapabilities()
    assert not repo.completes()


@pytest.mark.parametrize("base", [BasePrompts, BaseResources])
def test_keywords_become_hooks_and_are_inherited(base: Any) -> None:
    hints = ("public", datetime.timedelta(seconds=2))
    keywords = {"prefix": "a:", "cache_control": hints, "requires": {"roots": {}}}
    full: Any = types.new_class("Full", (base,), keywords)
    child: Any = types.new_class("Child", (full,), {"prefix": "b:"})
    assert (full().prefix(), child().prefix(), base().prefix()) == ("a:", "b:", "")
    assert child().cache_control() == ("public", 2000)
    assert child().requires() == mcp.ClientCapabilities(roots=mcp.RootsCapability())


@pytest.mark.parametrize("decorate", [attrs.frozen, attrs.define, dataclasses.dataclass])
def test_keywords_survive_decorators_that_make_the_class_again(decorate: Any) -> None:
    @decorate
    class Made(BasePrompts, prefix="a:"):
        secret: str

    made: Any = Made
    assert made("x").prefix() == "a:"
    assert made("x").secret == "x"


def test_template_survives_decorators_and_its_docstring_describes_it() -> None:
    @attrs.frozen
    class Files(BaseResources, template="file:///{name}", name="File"):
        """One file."""

        root: str

    class Others(Files, prefix="file:///"):
        """Other files."""

    described = mcp.ResourceTemplate(
        uri_template="file:///{name}", name="File", description="One file."
    )
    assert Files("/").template() == described
    assert Others("/").template() == described
    assert Others("/").parse_uri("file:///a") == {"name": "a"}


def test_ready_template_is_kept_as_it_is() -> None:
    ready = mcp.ResourceTemplate(uri_template="a:{x}", name="n", mime_type="text/plain", title="T")

    class Ready(BaseResources, template=ready):
        """Not its description."""

    assert Ready().template() == ready


def test_template_by_hand_may_depend_on_the_instance_and_is_asked_once() -> None:
    @attrs.frozen
    class Configured(BaseResources):
        scheme: str
        asked: list[int] = attrs.field(factory=list)

        def template(self) -> mcp.ResourceTemplate:
            self.asked.append(1)
            return mcp.ResourceTemplate(uri_template=f"{self.scheme}:{{id}}", name="c")

    repo = Configured("x")
    serve(repo)
    assert repo.parse_uri("x:1") == {"id": "1"}
    assert Configured("y").parse_uri("y:1") == {"id": "1"}
    with pytest.raises(NotFound):
        repo.parse_uri("y:1")
    assert len(repo.asked) == 1


BAD: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (BasePrompts, {"prefix": 5}, TypeError, "Bad: prefix must be a str, got 5"),
    (BasePrompts, {"cache_control": "public"}, TypeError, "Bad: cache_control: must be a pair"),
    (BasePrompts, {"cache_control": ("all", 1)}, ValueError, "Bad: cache_control: .*scope"),
    (BasePrompts, {"requires": "sampling"}, TypeError, "Bad: requires: must be"),
    (BasePrompts, {"requires": {"sampling": 1}}, ValueError, "Bad: requires: sampling"),
    (BasePrompts, {"template": "a:{x}"}, TypeError, "Bad: unknown class keyword template"),
    (BasePrompts, {"tite": "x"}, TypeError, "keyword tite; there are prefix, "),
    (BaseResources, {"prefx": "x"}, TypeError, "prefx; did you mean prefix.* template, name"),
    (BaseResources, {"template": "a:{x}"}, ValueError, "Bad: a template given as a str needs name"),
    (BaseResources, {"template": "a:{x}", "name": " "}, ValueError, "Bad: .*needs name="),
    (BaseResources, {"name": "x"}, ValueError, "Bad: name= is the name of a template="),
    (BaseResources, {"template": "a:{x", "name": "x"}, ValueError, "Bad: template: .*offset"),
    (BaseResources, {"template": "{a}{b}", "name": "x"}, ValueError, "Bad: template: "),
    (BaseResources, {"template": 5}, TypeError, "Bad: template must be a str or an mcp.Resource"),
    (
        BaseResources,
        {"template": mcp.ResourceTemplate(uri_template="a:{x}", name="n"), "name": "m"},
        ValueError,
        "Bad: the ResourceTemplate has a name",
    ),
    (BaseResources, {"allow_unsafe_paths": 1}, TypeError, "Bad: allow_unsafe_paths must be a bool"),
]


@pytest.mark.parametrize(("base", "keywords", "error", "message"), BAD)
def test_wrong_keyword_names_class_and_keyword(
    base: Any, keywords: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        type("Bad", (base,), {}, **keywords)


@pytest.mark.parametrize(
    ("base", "hook", "takes"),
    [
        (BasePrompts, "list_prompts", "(self, cursor, channel)"),
        (BasePrompts, "find_prompt", "(self, name, channel)"),
        (BasePrompts, "get", "(self, name, arguments, channel)"),
        (BasePrompts, "complete", "(self, name, argument, context, channel)"),
        (BaseResources, "list_resources", "(self, cursor, channel)"),
        (BaseResources, "parse_uri", "(self, uri)"),
        (BaseResources, "read", "(self, target, channel)"),
        (BaseResources, "complete", "(self, argument, context, channel)"),
        (Extension, "tools", "(self, channel)"),
        (Extension, "prompts", "(self, channel)"),
        (Extension, "resources", "(self, channel)"),
    ],
)
def test_hook_with_wrong_parameters_is_refused(base: Any, hook: str, takes: str) -> None:
    def nothing(self: Any) -> None: ...

    with pytest.raises(TypeError) as caught:
        type("Bad", (base,), {hook: nothing})
    assert f"Bad.{hook} must take {takes}, got (self: " in str(caught.value)


def test_hook_that_takes_nothing_is_refused_a_parameter() -> None:
    def offers(self: Any, channel: Any) -> bool:
        return True

    with pytest.raises(TypeError, match=r"Bad.offers_tools must take \(self\), got \(self: "):
        type("Bad", (Extension,), {"offers_tools": offers})


@pytest.mark.parametrize(
    ("base", "hooks", "message"),
    [
        (BasePrompts, {"prefix": lambda self: None}, "Bad: prefix must be a str, got None"),
        (BaseResources, {"prefix": lambda self: b"a:"}, "Bad: prefix must be a str, got b'a:'"),
        (BasePrompts, {"cache_control": lambda self: None}, "Bad: cache_control: must be a pair"),
        (
            BaseResources,
            {"template": lambda self: "a:{x}"},
            r"Bad\.template must return an mcp\.ResourceTemplate or None, got 'a:\{x\}'",
        ),
    ],
)
def test_hook_that_gives_something_else_is_named_when_served(
    base: Any, hooks: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        serve(type("Bad", (base,), dict(hooks))())


def test_template_by_hand_that_cannot_be_matched_is_named_when_served() -> None:
    class Bad(BaseResources):
        def template(self) -> mcp.ResourceTemplate:
            return mcp.ResourceTemplate(uri_template="a:{x}{y}", name="bad")

    with pytest.raises(ValueError, match="Bad: template: "):
        serve(Bad())


@pytest.mark.parametrize(
    ("uri", "is_one"),
    [
        ("file:///a", True),
        ("a:", True),
        ("a+b-c.1:x", True),
        ("urn:isbn:1", True),
        ("note://ü", True),
        ("", False),
        ("a", False),
        (":a", False),
        ("1a:b", False),
        ("a b:c", False),
        ("a:b c", False),
        ("a:b\x00", False),
        ("a:b\n", False),
        ("ä:b", False),
    ],
)
def test_uri_has_a_scheme_and_no_spaces(uri: str, is_one: bool) -> None:
    assert (find_uri_fault(uri) is None) == is_one
