"""Spans and metrics, as OpenTelemetry's own SDK sees them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
import trio
from opentelemetry import baggage, context, trace
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from trio.testing import wait_all_tasks_blocked

from genmcp import (
    Channel,
    EventBus,
    EventSubscriptions,
    InvalidParams,
    LimitExceeded,
    McpError,
    PromptRepo,
    ResourceRepo,
    StreamableHTTP,
    Suite,
    Tool,
    ToolError,
    mcp,
)
from genmcp.otel import OpenTelemetryObserver
from genmcp.testing import Client
from tests.transport.asgi_server import Connection

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT_ID = "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE_ID}-{PARENT_ID}-01"


@attrs.frozen
class Args:
    how: str = "ok"


@attrs.define
class Kit:
    """The SDK in memory, and an observer that reports to it."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader
    tracer_provider: TracerProvider
    meter_provider: MeterProvider

    @property
    def tracer(self) -> trace.Tracer:
        return self.tracer_provider.get_tracer("the application")

    def observer(self, **options: Any) -> OpenTelemetryObserver:
        return OpenTelemetryObserver(self.tracer_provider, self.meter_provider, **options)

    def app(self, **options: Any) -> StreamableHTTP:
        suite = Suite(
            server_name="s",
            server_version="0",
            tools=[Work(self.tracer), Blocking(self.tracer)],
            prompts=[Prompts],
            resources=[Files],
            subscription_handler=EventSubscriptions(EventBus()),
        )
        observers = [self.observer(**options)]
        return StreamableHTTP(suite, secret_key="a key for these tests", observers=observers)

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        """The ended spans by name, of which there must be one each."""
        ended = self.exporter.get_finished_spans()
        found = {span.name: span for span in ended}
        assert len(found) == len(ended)
        return found

    @property
    def span(self) -> ReadableSpan:
        [span] = self.exporter.get_finished_spans()
        return span

    def points(self, name: str) -> list[Any]:
        """The data points of a metric."""
        data = self.reader.get_metrics_data()
        if data is None:
            return []
        return [
            point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


@pytest.fixture
def kit() -> Iterator[Kit]:
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    # At exit, they would be shut down after the test-suite has closed its streams.
    tracer_provider = TracerProvider(shutdown_on_exit=False)
    tracer_provider.add_span_processor(SimpleSpanProcessor(exporter))
    meter_provider = MeterProvider([reader], shutdown_on_exit=False)
    yield Kit(exporter, reader, tracer_provider, meter_provider)
    meter_provider.shutdown()
    tracer_provider.shutdown()


class Work(Tool[Args], name="work", description="Opens spans of its own."):
    def __init__(self, tracer: trace.Tracer) -> None:
        self.tracer = tracer

    async def call(self, request: mcp.CallToolRequest[Args], channel: Channel) -> Any:
        match request.params.arguments.how:
            case "crash":
                raise RuntimeError("secret")
            case "tool_error":
                raise ToolError("no luck")
            case "refuse":
                raise InvalidParams("no such city")
            case "too often":
                raise LimitExceeded("x", setting="mine", retry_after_seconds=1)
            case "stream":
                await channel.start_stream()
                await trio.sleep_forever()
            case "baggage":
                return str(baggage.get_baggage("userId"))
            case "children":
                with self.tracer.start_as_current_span("in the handler"):
                    await trio.lowlevel.checkpoint()
                await trio.to_thread.run_sync(self._span, "in a thread")
                started = trio.Event()
                channel.start_soon(self._child, started)
                await started.wait()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._child, trio.Event(), "in a nursery")
        return "done"

    def _span(self, name: str) -> None:
        with self.tracer.start_as_current_span(name):
            pass

    async def _child(self, started: trio.Event, name: str = "in a task") -> None:
        self._span(name)
        started.set()


class Blocking(Tool[Args], name="blocking", description="A plain def, in a thread."):
    def __init__(self, tracer: trace.Tracer) -> None:
        self.tracer = tracer

    def call(self, request: mcp.CallToolRequest[Args], channel: Any) -> Any:
        with self.tracer.start_as_current_span("in the plain def"):
            channel.start_soon(self._child)
            return "done"

    async def _child(self) -> None:
        with self.tracer.start_as_current_span("started from the thread"):
            pass


class Prompts(PromptRepo, prefix="greet"):
    def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Prompt(name="greet")]

    def get(self, name: str, arguments: dict[str, str], channel: Channel) -> Any:
        return "hello"


class Files(ResourceRepo, prefix="file:///"):
    def list_resources(self, cursor: Any, channel: Channel) -> Any:
        return []

    def read(self, uri: str, channel: Channel) -> Any:
        return "text"


async def ask(app: StreamableHTTP, method: str, params: Any = None, **meta: Any) -> Any:
    async with Client(app) as client:
        try:
            return await client.request(method, params, meta=meta)
        except McpError as error:
            return error


async def call(app: StreamableHTTP, how: str = "ok", tool: str = "work", **meta: Any) -> Any:
    return await ask(app, "tools/call", {"name": tool, "arguments": {"how": how}}, **meta)


# -- one span ----------------------------------------------------------------------


async def test_span_of_a_tool_call(kit: Kit) -> None:
    await call(kit.app())
    span = kit.span
    assert (span.name, span.kind) == ("tools/call work", SpanKind.SERVER)
    assert span.status.status_code is StatusCode.UNSET
    assert span.parent is None
    assert span.attributes is not None
    found = dict(span.attributes)
    assert found.pop("jsonrpc.request.id")
    assert found == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": mcp.PROTOCOL_VERSION,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "work",
        "genmcp.outcome": "ok",
    }
    assert not span.events
    assert span.instrumentation_scope is not None
    assert span.instrumentation_scope.name == "genmcp"


@pytest.mark.parametrize(
    ("method", "params", "name", "key", "value"),
    [
        ("prompts/get", {"name": "greet"}, "prompts/get greet", "gen_ai.prompt.name", "greet"),
        ("resources/read", {"uri": "file:///a"}, "resources/read", "mcp.resource.uri", "file:///a"),
        ("tools/call", {"name": "nope"}, "tools/call", "gen_ai.tool.name", "nope"),
        ("tools/list", {}, "tools/list", "genmcp.outcome", "ok"),
    ],
    ids=str,
)
async def test_name_has_a_target_only_if_there_are_few_of_them(
    kit: Kit, method: str, params: Any, *, name: str, key: str, value: str
) -> None:
    await ask(kit.app(), method, params)
    assert kit.span.name == name
    assert kit.span.attributes is not None
    assert kit.span.attributes[key] == value


@pytest.mark.parametrize(
    ("how", "outcome", "code", "error_type"),
    [
        ("crash", "crash", "-32603", "-32603"),
        ("tool_error", "tool_error", None, "tool_error"),
        ("refuse", "error", "-32602", "-32602"),
    ],
)
async def test_failure_has_its_type_and_none_of_its_words(
    kit: Kit, how: str, outcome: str, code: str | None, error_type: str
) -> None:
    answer = await call(kit.app(), how)
    span = kit.span
    assert span.attributes is not None
    assert span.attributes["genmcp.outcome"] == outcome
    assert span.attributes["error.type"] == error_type
    assert span.attributes.get("rpc.response.status_code") == code
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None
    assert not span.events
    error_id = span.attributes.get("genmcp.error_id")
    assert error_id == (answer.data["errorId"] if how == "crash" else None)
    assert "secret" not in span.to_json()


async def test_client_that_leaves_is_no_failure(kit: Kit) -> None:
    app = kit.app()
    async with Client(app) as client:
        params = {"name": "work", "arguments": {"how": "stream"}}
        async with client.open("tools/call", params):
            pass
    span = kit.span
    assert span.attributes is not None
    assert span.attributes["genmcp.outcome"] == "cancelled"
    assert "error.type" not in span.attributes
    assert span.status.status_code is StatusCode.UNSET


# -- traces ------------------------------------------------------------------------


async def test_trace_of_the_caller_goes_on(kit: Kit) -> None:
    await call(kit.app(), traceparent=TRACEPARENT, tracestate="rojo=1,congo=2")
    span = kit.span
    assert span.context is not None
    assert span.parent is not None
    assert span.parent.is_remote
    assert trace.format_trace_id(span.context.trace_id) == TRACE_ID
    assert trace.format_span_id(span.parent.span_id) == PARENT_ID
    assert span.context.trace_state.get("congo") == "2"
    assert not span.links


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "nonsense",
        7,
        None,
        [TRACEPARENT],
        f"ff-{TRACE_ID}-{PARENT_ID}-01",
        f"00-{'0' * 32}-{PARENT_ID}-01",
        f"00-{TRACE_ID}-{'0' * 16}-01",
        f"{TRACEPARENT}\n",
        f"00-{TRACE_ID}-{PARENT_ID}-01-{'x' * 5000}",
        TRACEPARENT.replace("4", "٤"),
    ],
    ids=lambda value: repr(value)[:60],
)
async def test_bad_traceparent_is_as_good_as_none(
    kit: Kit, bad: Any, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await call(kit.app(), traceparent=bad, tracestate="a=b")
    assert answer["content"][0]["text"] == "done"
    assert kit.span.parent is None
    assert caplog.text == ""


async def test_bad_tracestate_leaves_the_parent(kit: Kit) -> None:
    await call(kit.app(), traceparent=TRACEPARENT, tracestate="no\nstate")
    assert kit.span.parent is not None


@pytest.mark.parametrize(
    ("given", "seen"),
    [("userId=alice", "alice"), ("userId=a\nb", "None"), (7, "None"), ("x" * 9000, "None")],
    ids=["good", "control character", "number", "endless"],
)
async def test_baggage_is_there_for_the_handler(kit: Kit, given: Any, seen: str) -> None:
    answer = await call(kit.app(), "baggage", baggage=given)
    assert answer["content"][0]["text"] == seen


async def test_propagator_of_nothing_believes_no_client(kit: Kit) -> None:
    app = kit.app(propagator=CompositePropagator([]))
    answer = await call(app, "baggage", traceparent=TRACEPARENT, baggage="userId=alice")
    assert answer["content"][0]["text"] == "None"
    assert kit.span.parent is None


async def test_span_around_the_application_is_the_parent(kit: Kit) -> None:
    with kit.tracer.start_as_current_span("http"):
        await call(kit.app())
    spans = kit.spans
    inner, outer = spans["tools/call work"], spans["http"]
    assert inner.parent == outer.context
    assert not inner.links


async def test_span_around_the_application_is_linked_where_the_caller_has_one(kit: Kit) -> None:
    with kit.tracer.start_as_current_span("http"):
        await call(kit.app(), traceparent=TRACEPARENT)
    spans = kit.spans
    inner, outer = spans["tools/call work"], spans["http"]
    assert inner.parent is not None
    assert trace.format_span_id(inner.parent.span_id) == PARENT_ID
    assert [link.context for link in inner.links] == [outer.context]


async def test_spans_of_the_handler_are_children_wherever_they_are_opened(kit: Kit) -> None:
    app = kit.app()
    await call(app, "children", traceparent=TRACEPARENT)
    await call(app, tool="blocking", traceparent=TRACEPARENT)
    spans = kit.spans
    work, blocking = spans.pop("tools/call work"), spans.pop("tools/call blocking")
    plain = spans["in the plain def"]
    expected = {
        "in the handler": work,
        "in a thread": work,
        "in a task": work,
        "in a nursery": work,
        "in the plain def": blocking,
        "started from the thread": plain,
    }
    assert {name: span.parent for name, span in spans.items()} == {
        name: parent.context for name, parent in expected.items()
    }


async def test_calls_at_the_same_time_do_not_mix(kit: Kit) -> None:
    app = kit.app()
    async with trio.open_nursery() as nursery:
        for number in range(1, 6):
            parent = f"00-{number:032x}-{number:016x}-01"

            async def one(parent: str = parent) -> None:
                await call(app, "children", traceparent=parent)

            nursery.start_soon(one)
    ended = kit.exporter.get_finished_spans()
    by_id = {span.context.span_id: span for span in ended if span.context is not None}
    children = [span for span in ended if span.name == "in a task"]
    assert len(children) == 5
    for child in children:
        assert child.parent is not None
        parent_span = by_id[child.parent.span_id]
        assert parent_span.parent is not None
        assert parent_span.parent.span_id == parent_span.parent.trace_id
    assert not trace.get_current_span().get_span_context().is_valid


async def test_nothing_is_current_after_a_call(kit: Kit) -> None:
    app = kit.app()
    before = context.get_current()
    await call(app, traceparent=TRACEPARENT, baggage="userId=alice")
    assert context.get_current() == before


async def test_without_an_sdk_calls_work(kit: Kit) -> None:
    suite = Suite(server_name="s", server_version="0", tools=[Work(kit.tracer)])
    app = StreamableHTTP(suite, secret_key="k" * 32, observers=[OpenTelemetryObserver()])
    answer = await call(app, traceparent=TRACEPARENT)
    assert answer["content"][0]["text"] == "done"


class Failing(SpanProcessor):
    """A processor of the application that is broken."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        raise ValueError("broken")


async def test_processor_that_fails_costs_the_span_only(kit: Kit) -> None:
    kit.tracer_provider.add_span_processor(Failing())
    answer = await call(kit.app())
    assert answer["content"][0]["text"] == "done"
    [point] = kit.points("mcp.server.operation.duration")
    assert point.count == 1


# -- metrics -----------------------------------------------------------------------


async def test_duration_of_calls_by_tool_and_outcome(kit: Kit) -> None:
    app = kit.app()
    for how in ("ok", "ok", "crash", "tool_error"):
        await call(app, how)
    points = {
        point.attributes["genmcp.outcome"]: point
        for point in kit.points("mcp.server.operation.duration")
    }
    assert {outcome: point.count for outcome, point in points.items()} == {
        "ok": 2,
        "crash": 1,
        "tool_error": 1,
    }
    assert points["ok"].attributes == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": mcp.PROTOCOL_VERSION,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "work",
        "genmcp.outcome": "ok",
    }
    assert points["crash"].attributes["error.type"] == "-32603"
    assert points["ok"].explicit_bounds[:3] == (0.01, 0.02, 0.05)


async def test_duration_is_in_seconds(kit: Kit, autojump_clock: trio.testing.MockClock) -> None:
    app = kit.app()
    async with Client(app) as client:
        params = {"name": "work", "arguments": {"how": "stream"}}
        async with client.open("tools/call", params):
            await trio.sleep(9)
    [point] = kit.points("mcp.server.operation.duration")
    assert point.sum == pytest.approx(9, abs=0.1)


async def test_strangers_make_up_no_series(kit: Kit) -> None:
    app = kit.app()
    for number in range(20):
        await call(app, tool=f"made-up-{number}")
        await ask(app, "prompts/get", {"name": f"greet-{number}"})
        await ask(app, "resources/read", {"uri": f"file:///{number}"})
        await ask(app, f"made/up-{number}")
    assert len(kit.points("mcp.server.operation.duration")) == 3
    [refused] = kit.points("genmcp.server.refusals")
    assert refused.value == 20
    assert refused.attributes == {
        "genmcp.refusal.reason": "method",
        "http.response.status_code": 404,
        "rpc.response.status_code": "-32601",
    }


async def test_open_streams_are_counted_up_and_down(kit: Kit) -> None:
    app = kit.app()
    async with Client(app) as client:
        params = {"name": "work", "arguments": {"how": "stream"}}
        async with (
            client.open("tools/call", params) as one,
            client.open("tools/call", params) as other,
        ):
            await anext(aiter(one.response))
            await anext(aiter(other.response))
            await wait_all_tasks_blocked()
            [point] = kit.points("genmcp.server.active_streams")
            assert (point.value, point.attributes) == (2, {"mcp.method.name": "tools/call"})
    [point] = kit.points("genmcp.server.active_streams")
    assert point.value == 0


async def test_refusals_are_counted_by_reason(kit: Kit) -> None:
    app = kit.app()
    for body in (b"{", b"{", b"[]"):
        await Connection(body).run(app)
    points = kit.points("genmcp.server.refusals")
    assert {point.attributes["genmcp.refusal.reason"]: point.value for point in points} == {
        "parse": 2,
        "invalid_request": 1,
    }


async def test_refusal_inside_a_call_has_its_reason(kit: Kit) -> None:
    await call(kit.app(), "too often")
    assert kit.span.attributes is not None
    assert kit.span.attributes["genmcp.refusal.reason"] == "limit"
    [point] = kit.points("mcp.server.operation.duration")
    assert point.attributes["genmcp.refusal.reason"] == "limit"
    assert point.attributes["error.type"] == "-32600"
    assert kit.points("genmcp.server.refusals") == []


# -- without the extra -------------------------------------------------------------


def test_without_the_extra_the_import_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "import genmcp\n"
        "assert 'genmcp.otel' not in sys.modules\n"
        "try: import genmcp.otel\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "pip install genmcp[otel]" in done.stdout
