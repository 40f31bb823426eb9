"""The server that the conformance suite tests.

    python -m tests.conformance.server --port 0

It prints its URL and serves until it is stopped. Written as any server is, on the public
API. One server for all protocol versions.
"""

from __future__ import annotations

import argparse
import logging
from functools import partial

import trio

from genmcp import EventBus, EventSubscriptions, Suite, serve
from tests.conformance.asking_tools import ASKING_TOOLS
from tests.conformance.changing import ExtraTools, Lists, TriggerPromptChange, TriggerToolChange
from tests.conformance.content_tools import CONTENT_TOOLS
from tests.conformance.repos import Prompts, StaticResources, TemplateData, WatchedResource


def make_suite() -> Suite:
    bus = EventBus()
    lists = Lists(bus)
    return Suite(
        server_name="genmcp-conformance",
        server_version="1.0.0",
        tools=[*CONTENT_TOOLS, *ASKING_TOOLS, TriggerToolChange(lists), TriggerPromptChange(lists)],
        prompts=[Prompts(lists)],
        resources=[StaticResources, WatchedResource, TemplateData],
        extensions=[ExtraTools(lists)],
        subscription_handler=EventSubscriptions(bus),
    )


async def main(port: int) -> None:
    async with trio.open_nursery() as nursery:
        serving = partial(
            serve, make_suite(), port=port, handle_signals=True, legacy_stream_seconds=0.4
        )
        [url] = await nursery.start(serving)
        print(url, flush=True)  # noqa: T201 - what whoever started it waits for


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.server")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    trio.run(main, parser.parse_args().port)
