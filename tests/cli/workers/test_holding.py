"""What a supervisor holds for its workers, and what it lets nobody else have."""

from __future__ import annotations

import socket

import pytest

from genmcp.cli.workers import holding as module
from genmcp.cli.workers.holding import holding
from genmcp.transport.port_config import PortConfig

SHARED = pytest.mark.skipif(not module._SHARES_OUT, reason="here nobody shares out connections")


def can_connect(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@SHARED
async def test_a_port_is_held_for_workers_to_bind_and_not_listened_at() -> None:
    async with holding(PortConfig(port=0)) as held:
        assert held.port is not None
        assert held.descriptors == ()
        assert not can_connect(held.port)
        with socket.socket() as worker, socket.socket() as stranger:
            with pytest.raises(OSError, match="in use"):
                stranger.bind(("127.0.0.1", held.port))
            worker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            worker.bind(("127.0.0.1", held.port))
            worker.listen()
            assert can_connect(held.port)
    with socket.socket() as later:
        later.bind(("127.0.0.1", held.port))


@SHARED
async def test_a_port_that_others_share_is_not_held() -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(OSError, match="in use"):
            async with holding(PortConfig(port=other.getsockname()[1])):
                pass


async def test_elsewhere_the_supervisor_listens_and_hands_the_socket_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_SHARES_OUT", False)
    async with holding(PortConfig(port=0)) as held:
        assert held.port is None
        [descriptor] = held.descriptors
        with socket.socket(fileno=socket.dup(descriptor)) as worker:
            port = worker.getsockname()[1]
            assert worker.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            held.close()
            assert can_connect(port)
        assert not can_connect(port)


async def test_a_unix_socket_is_handed_on_and_removed_at_the_end(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("at") / "x.sock"
    async with holding(PortConfig(unix_socket=path)) as held:
        assert held.port is None
        assert len(held.descriptors) == 1
        held.close()
        assert path.is_socket()
    assert not path.exists()
