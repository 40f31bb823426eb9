"""The two ways a port is served, and which tests run over both."""

from __future__ import annotations

from pathlib import Path

import pytest

import genmcp.transport.http1.connection as http1_connection
import genmcp.transport.runner.connection as runner_connection
import genmcp.transport.serving as served
from tests.e2e import raw_http
from tests.e2e.tls import write_certificate

BOTH = {
    "test_browser_client",
    "test_limits",
    "test_official_client_oauth",
    "test_runner",
    "test_runner_requests",
    "test_runner_hostile",
    "test_runner_shutdown",
    "test_serve",
    "test_serve_shutdown",
    "test_official_client",
    "test_official_client_param_headers",
    "test_official_client_suite",
    "test_subscriptions_client",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = metafunc.module.__name__.rpartition(".")[2]
    if module in BOTH and metafunc.definition.get_closest_marker("asgi_only") is None:
        metafunc.parametrize("front", ["http1", "hypercorn"], indirect=True)


@pytest.fixture(autouse=True)
def front(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which server `raw_http.running` and `serve` run: our own, or Hypercorn's protocols."""
    native = request.module.__name__.rpartition(".")[2].startswith("test_http1_")
    name: str = getattr(request, "param", "http1" if native else "hypercorn")
    monkeypatch.setattr(raw_http, "front", name)
    if getattr(request, "param", None) == "hypercorn":
        # What `serve` runs where nothing else is asked for.
        monkeypatch.setattr(served, "_run_native", served._run_hypercorn)
    return name


@pytest.fixture
def unhurried_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whoever half-closes wait for an answer as long as a busy machine may need."""
    for module in (http1_connection, runner_connection):
        monkeypatch.setattr(module, "_HALF_CLOSED_SECONDS", raw_http.HANG_GUARD_SECONDS)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a PEM file with a key and a certificate of 127.0.0.1."""
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    write_certificate(path)
    return path
