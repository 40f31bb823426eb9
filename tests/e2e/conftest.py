"""The two ways a port is served, and which tests run over both."""

from __future__ import annotations

import pytest

from tests.e2e import raw_http

BOTH = {"test_runner", "test_runner_requests", "test_runner_hostile", "test_runner_shutdown"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = metafunc.module.__name__.rpartition(".")[2]
    if module in BOTH and metafunc.definition.get_closest_marker("asgi_only") is None:
        metafunc.parametrize("front", ["http1", "hypercorn"], indirect=True)


@pytest.fixture(autouse=True)
def front(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which server `raw_http.running` runs: our own, or Hypercorn's protocols."""
    native = request.module.__name__.rpartition(".")[2].startswith("test_http1_")
    name: str = getattr(request, "param", "http1" if native else "hypercorn")
    monkeypatch.setattr(raw_http, "front", name)
    return name
