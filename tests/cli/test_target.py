"""What `module:attribute` may name, and what is said when it names nothing."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from genmcp.cli import main
from genmcp.cli.target import UsageError, cut_traceback, load_server
from genmcp.suite import Suite
from genmcp.transport.asgi import StreamableHTTP

APP = """
from genmcp import StreamableHTTP, Suite

def make():
    return Suite(server_name="made", server_version="1")

def make_with(name, *, more):
    return make()

def make_nothing():
    return None

async def make_later():
    return make()

class Own(Suite):
    def __init__(self):
        super().__init__(server_name="own", server_version="1")

class Holder:
    inner = make()

suite = make()
endpoint = StreamableHTTP(suite, path="/own", secret_key="k" * 32)
number = 42
numbers = list(range(10_000))

def make_numbers():
    return numbers
"""


@pytest.fixture(autouse=True)
def clean_imports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Let each test import as a process of its own would, in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def app(tmp_path: Path) -> str:
    (tmp_path / "some_app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "inner.py").write_text(APP, encoding="utf-8")
    return "some_app"


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("some_app:suite", "made"),
        ("some_app:make", "made"),
        ("some_app:Own", "own"),
        ("some_app:Holder.inner", "made"),
        ("package.inner:suite", "made"),
        ("some_app.py:suite", "made"),
        ("./package/inner.py:Own", "own"),
    ],
)
def test_a_server_is_found(app: str, target: str, name: str) -> None:
    server = load_server(target)
    assert isinstance(server, Suite)
    assert server.server_name == name


def test_a_ready_endpoint_is_a_server(app: str) -> None:
    server = load_server("some_app:endpoint")
    assert isinstance(server, StreamableHTTP)
    assert server.path == "/own"


def test_a_file_is_imported_whatever_other_module_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "trio.py").write_text(APP, encoding="utf-8")
    before = sys.modules["trio"]
    assert isinstance(load_server("trio.py:suite"), Suite)
    assert sys.modules["trio"] is before


def test_a_file_may_import_what_lies_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "beside.py").write_text(APP, encoding="utf-8")
    (folder / "main.py").write_text("from beside import suite", encoding="utf-8")
    assert isinstance(load_server("elsewhere/main.py:suite"), Suite)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("some_app", "module:attribute"),
        ("some_app.py", "module:attribute, such as some_app.py:suite"),
        ("some_app:", "module:attribute, such as some_app:suite"),
        (":suite", "module:attribute"),
        ("http+unix://mcp.sock/mcp", "is a URL; genmcp tools and call take those with http"),
        ("no_such_app:suite", "no module 'no_such_app'"),
        ("no_such.app:suite", "no module 'no_such'"),
        ("some_app.part:suite", "no module 'some_app.part'"),
        ("some-app:suite", "'some-app' is no module name"),
        (".some_app:suite", "'.some_app' is no module name"),
        ("missing.py:suite", "no file missing.py"),
        ("package/missing.py:suite", "no file package/missing.py"),
        ("some_app:sweet", "has no 'sweet'; did you mean suite or endpoint?"),
        ("some_app:suite.more", "has no 'suite.more'"),
        ("some_app:number", "42; it should be a server"),
        ("some_app:numbers", "is [0, 1, 2, 3, 4, 5, ...]; it should be a server"),
        ("some_app:make_numbers", "returned [0, 1, 2, 3, 4, 5, ...], which is no server"),
        ("some_app:Holder", "class Holder, which is no server"),
        ("some_app:make_with", "missing a required argument: 'name'"),
        ("some_app:make_nothing", "returned None, which is no server"),
        ("some_app:make_later", "async function"),
    ],
)
def test_a_mistake_is_said_in_one_sentence(app: str, target: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_server(target)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("import no_such_dependency", ModuleNotFoundError),
        ("from json import no_such_name", ImportError),
        ("1 / 0", ZeroDivisionError),
        ("def (:", SyntaxError),
        ("def suite(): raise AttributeError('inside')", AttributeError),
        ("def suite(): raise TypeError('inside')", TypeError),
    ],
)
def test_what_the_module_itself_raises_comes_out_as_it_is(
    tmp_path: Path, text: str, error: type[Exception]
) -> None:
    (tmp_path / "broken_app.py").write_text(text, encoding="utf-8")
    with pytest.raises(error):
        load_server("broken_app:suite")


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        ("def fail():\n    1 / 0\nfail()", ["<module>", "fail"]),
        ("import no_such_dependency", ["<module>"]),
        ("def suite():\n    raise TypeError", ["suite"]),
        ("def (:", []),
    ],
)
@pytest.mark.parametrize("target", ["broken_app:suite", "broken_app.py:suite"])
def test_traceback_begins_in_the_module(
    tmp_path: Path, text: str, functions: list[str], target: str
) -> None:
    (tmp_path / "broken_app.py").write_text(text, encoding="utf-8")
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which, is the test above
        load_server(target)
    assert cut_traceback(caught.value)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [Path(frame.filename).name for frame in frames] == ["broken_app.py"] * len(functions)
    assert [frame.name for frame in frames] == functions


def test_other_tracebacks_are_left_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        _ = 1 / 0
    before = caught.value.__traceback__
    assert not cut_traceback(caught.value)
    assert caught.value.__traceback__ is before


def test_command_shows_the_traceback_of_the_module_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken_app.py").write_text("raise RuntimeError('boom')", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["genmcp", "tools", str(tmp_path / "broken_app.py:suite")])
    assert main() == 1
    said = capsys.readouterr().err
    assert said.count("  File ") == 1
    assert said.endswith("RuntimeError: boom\n")
