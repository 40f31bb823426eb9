"""Resource repositories: what an author subclasses to offer resources.

Layer: providers. This is the author's side; `genmcp.suite.resources` calls the hooks.
What the wire calls a resource is `genmcp.mcp.v2607.Resource`; how a template is
matched is in `uri_template`.

Spec: server/resources
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from genmcp.errors import NotFound
from genmcp.mcp import v2607 as mcp
from genmcp.outcome import Error, InputRequired
from genmcp.providers.repo import C, Repo, Suggestions, check_signatures
from genmcp.providers.repo_page import RepoList
from genmcp.providers.tool_keywords import own_description

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from genmcp.providers.uri_template import UriTemplate

ReadReply: TypeAlias = mcp.ReadResourceResult | str | bytes | InputRequired | Error
"""What `read` may return. A `str` or `bytes` is the contents of the URI that was read."""

ResourcePage: TypeAlias = Sequence[mcp.Resource] | tuple[Sequence[mcp.Resource], Any]
"""What `list_resources` may return: resources, or resources and the next cursor."""

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20\x7f]*\Z")
_HOOKS: Final = {
    "list_resources": ("cursor", "channel"),
    "parse_uri": ("uri",),
    "read": ("target", "channel"),
    "complete": ("argument", "context", "channel"),
}


class ResourceRepo(Repo[C]):
    """Serves resources: all whose URIs begin with its prefix.

    Hooks with a channel are `async def`, or a plain `def`, which runs in a worker
    thread and gets a `BlockingChannel`; the parameter tells the type checker:
    `ResourceRepo[BlockingChannel]`. Configuration lives in the instance: give a
    Suite the class, or an instance. One instance serves all calls, at the same time.

    Class keywords, each generating one hook that can be written by hand instead:

    Args:
        prefix: what the URIs of its resources begin with. Default: `""`, all URIs.
        template: a URI template (RFC 6570) its resources are read by, as a `str`
            or a whole `mcp.ResourceTemplate`. `genmcp.providers.uri_template` says
            what can be matched. It must begin with the prefix.
        name: the name of a template given as a `str`. The class docstring is its
            description.
        allow_unsafe_paths: whether values with `..` segments, NUL or an absolute
            path match the template; `read` must then check them.
        cache_control: `("public" or "private", milliseconds or timedelta)`, for the
            lists of resources and templates, and for what is read.
        requires: the client capabilities without which `read` cannot do, as
            `mcp.ClientCapabilities` or in wire form: `{"elicitation": {"form": {}}}`.
            A client that lacks one is answered with -32021.
        required_scopes: the scopes an access token must have for `read` and `complete`, and to
            subscribe to what is here,
            besides those of the endpoint's `Authorization`. A request with a token that
            lacks one is answered with 403 and names them all.

    Raises:
        TypeError, ValueError: naming the class and the keyword.

    Spec: server/resources
    """

    _class_template: ClassVar[tuple[mcp.ResourceTemplate, UriTemplate] | None] = None

    def __init_subclass__(
        cls,
        *,
        template: str | mcp.ResourceTemplate | None = None,
        name: str | None = None,
        allow_unsafe_paths: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        if allow_unsafe_paths is not None:
            # It turns a protection off: what is merely truthy does not.
            if not isinstance(allow_unsafe_paths, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(
                    f"{cls.__qualname__}: allow_unsafe_paths must be a bool, "
                    f"got {allow_unsafe_paths!r}"
                )
            cls.declare("allow_unsafe_paths", allow_unsafe_paths)
        if template is not None:
            cls.declare("template", _read_template(cls, template, name))
        elif name is not None:
            raise ValueError(f"{cls.__qualname__}: name= is the name of a template=, give both")
        cls._class_template = cls._parse(cls._declared.get("template"))
        check_signatures(cls, _HOOKS)

    # -- what there is -----------------------------------------------------------

    def template(self) -> mcp.ResourceTemplate | None:
        """Return the template that resources are read by, or `None` for none.

        Asked once, when the repository is put into a Suite.

        Spec: server/resources#resource-templates
        """
        declared: mcp.ResourceTemplate | None = self._declared.get("template")
        return declared

    @abstractmethod
    def list_resources(self, cursor: Any, channel: C) -> ResourcePage | Awaitable[ResourcePage]:
        """Return the resources this caller may read, in a steady order.

        Those of a template need not be listed. Either all of them, or a page of them
        and a cursor of your own for the next: any JSON value, `None` after the last
        page. It travels with the client, sealed, and comes back as `cursor` in
        another request, perhaps in another process; `cursor` is `None` for the first
        page. A long page is cut to the size the Suite wants, and then asked for again.

        What is listed may depend on who is calling, and must not depend on the
        connection or on what was called before.

        Spec: server/resources#listing-resources
        """

    # -- what is in it -----------------------------------------------------------

    def parse_uri(self, uri: str) -> str | Mapping[str, Any]:
        """Turn a URI that begins with the prefix into what `read` gets.

        By default the template's variables by name, if there is a template, and else
        the URI itself. A repository whose template does not match all it serves
        overrides this. Runs on the event loop and must not block.

        Raises:
            NotFound, ValueError: the URI is none of this repository's. Wire form:
                -32602 with `data.uri`.
        """
        template = self.uri_template()
        if template is None:
            return uri
        values = template.match(uri)
        if values is None:
            raise NotFound
        return values

    # By position only, so that an override may call it `uri` or `variables`.
    @abstractmethod
    def read(self, target: Any, channel: C, /) -> ReadReply | Awaitable[ReadReply]:
        """Return what one resource holds.

        `target` is what `parse_uri` made of the URI: the template's variables as a
        mapping, or the URI.

        Return a `ReadResourceResult` (built with `mcp.read_resource_result`) with at
        least one entry, or its text or bytes alone; `InputRequired` to ask the client,
        whose answers are then in `channel.answers`; `Error` for a JSON-RPC error.

        Raises:
            NotFound: there is no such resource. Wire form: -32602 with `data.uri`.
            McpError: the answer is this JSON-RPC error.

        Any other exception is masked as -32603 with an error id and logged.

        Cancellation: when the client goes away, the next checkpoint raises
        `trio.Cancelled`.

        Spec: server/resources#reading-resources
        """

    def complete(
        self, argument: mcp.CompletionArgument, context: dict[str, str], channel: C
    ) -> Suggestions | Awaitable[Suggestions]:
        """Suggest values for a variable of the template that the user is typing.

        Best first. Overriding it is what brings the `completions` capability. Of more
        than 100 suggestions the first 100 go out, with the number of all. They are
        shown to whoever asks: suggest only what this caller may know.

        Args:
            argument: the variable's `name`, and its `value` as typed so far.
            context: what the user has already chosen for other variables.
            channel: the call's channel.

        Spec: server/utilities/completion
        """
        return ()

    def completes(self) -> bool:
        """See `Repo.completes`."""
        return type(self).complete is not ResourceRepo.complete

    # -- compiled, for the suite -------------------------------------------------

    def uri_template(self) -> UriTemplate | None:
        """Return the template, parsed. Raises as `described_template`."""
        return None if (known := self._known_template()) is None else known[1]

    def described_template(self) -> mcp.ResourceTemplate | None:
        """Return the template as it is listed.

        Raises:
            TypeError: the hook `template` gave something else.
            ValueError: it cannot be matched; the message names the class.
        """
        return None if (known := self._known_template()) is None else known[0]

    def _known_template(self) -> tuple[mcp.ResourceTemplate, UriTemplate] | None:
        if type(self).template is ResourceRepo.template:
            return type(self)._class_template
        # A hand-written hook may depend on the instance, so it is asked once for
        # each. Past `__setattr__`, because the author's class may be frozen.
        if "_template" not in self.__dict__:
            object.__setattr__(self, "_template", self._parse(self.template()))
        known: tuple[mcp.ResourceTemplate, UriTemplate] | None = self.__dict__["_template"]
        return known

    @classmethod
    def _parse(cls, described: Any) -> tuple[mcp.ResourceTemplate, UriTemplate] | None:
        if described is None:
            return None
        if not isinstance(described, mcp.ResourceTemplate):
            raise TypeError(
                f"{cls.__qualname__}.template must return an mcp.ResourceTemplate or None, "
                f"got {described!r}"
            )
        # At the top, all that templates are read and matched with would be there for every
        # server. A repository that has one comes by here when it is defined, or given a Suite.
        from genmcp.providers.uri_template import UriTemplate  # noqa: PLC0415

        unsafe: bool = cls._declared.get("allow_unsafe_paths", False)
        try:
            parsed = UriTemplate.parse(described.uri_template, allow_unsafe_paths=unsafe)
        except ValueError as error:
            raise ValueError(f"{cls.__qualname__}: template: {error}") from error
        return described, parsed


ResourceRepoSource: TypeAlias = ResourceRepo[Any] | type[ResourceRepo[Any]]
"""A repository of resources, or its class, which is then made without arguments."""


def resource_list(repo: ResourceRepo[Any], prefix: str) -> RepoList[mcp.Resource]:
    """Return the list that `repo` gives."""
    return RepoList(
        repo,
        prefix,
        repo.list_resources,
        mcp.Resource,
        lambda resource: resource.uri,
        find_uri_fault,
    )


def find_uri_fault(uri: str) -> str | None:
    """Say what a resource's URI must be, if `uri` is not that.

    Spec: server/resources#custom-uri-schemes
    """
    if _URI.match(uri):
        return None
    return "a URI: a scheme, a colon, and no spaces or control characters"


def _read_template(
    cls: type, template: str | mcp.ResourceTemplate, name: str | None
) -> mcp.ResourceTemplate:
    match template:
        case mcp.ResourceTemplate() if name is None:
            return template
        case mcp.ResourceTemplate():
            raise ValueError(f"{cls.__qualname__}: the ResourceTemplate has a name; drop name=")
        case str() if isinstance(name, str) and name.strip():
            return mcp.ResourceTemplate(
                uri_template=template, name=name, description=own_description(cls)
            )
        case str():
            raise ValueError(
                f"{cls.__qualname__}: a template given as a str needs name=; "
                "or give an mcp.ResourceTemplate"
            )
        case _:
            raise TypeError(
                f"{cls.__qualname__}: template must be a str or an mcp.ResourceTemplate, "
                f"got {template!r}"
            )
