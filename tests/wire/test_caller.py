from __future__ import annotations

from typing import Any

import attrs
import pytest

from genmcp.access import Access
from genmcp.caller import Caller, read_caller
from genmcp.mcp import v2607 as mcp
from genmcp.wire.messages import decode_request

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": mcp.PROTOCOL_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def test_what_is_read_is_what_the_class_would_make() -> None:
    request = decode_request("tools/list", {"_meta": META})
    capabilities = mcp.ClientCapabilities()
    made = Caller(
        request_id=1,
        protocol_version=mcp.PROTOCOL_VERSION,
        client_capabilities=capabilities,
        meta=META,
    )
    read = read_caller(1, request, META)
    assert read == made
    assert vars(read).keys() == vars(made).keys() == attrs.fields_dict(Caller).keys()
    assert read.assigns is not read_caller(2, request, META).assigns


def test_an_access_names_the_principal() -> None:
    request = decode_request("tools/list", {"_meta": META})
    access = Access(subject="ada", audiences=["here"])
    read = read_caller(1, request, META, access=access, client_address="192.0.2.1")
    assert (read.principal, read.access, read.client_address) == ("ada", access, "192.0.2.1")


@pytest.mark.parametrize("method", mcp.REQUESTS)
def test_every_request_has_nothing_but_its_parameters(method: str) -> None:
    """Which is all that `decode_request` gives one."""
    cls: Any = mcp.REQUESTS[method]
    assert list(attrs.fields_dict(cls)) == ["params"]
