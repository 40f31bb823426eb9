"""Spans and metrics of every call, for OpenTelemetry.

Layer: above `genmcp.telemetry`, whose `Observer` this is; nothing in genmcp imports it.
Needs the extra `otel`, which is the API of OpenTelemetry; where spans and metrics go is
for the application's SDK to say.

    from genmcp.otel import OpenTelemetryObserver

    app = StreamableHTTP(suite, observers=[OpenTelemetryObserver()])

Names and attributes are those of the OpenTelemetry semantic conventions for MCP, which
are still in development; what they have no name for begins with `genmcp.`.

Spec: basic/index#opentelemetry-trace-context
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

try:
    from opentelemetry import context, metrics, trace
    from opentelemetry.baggage.propagation import W3CBaggagePropagator
    from opentelemetry.propagators.composite import CompositePropagator
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError as error:
    raise ImportError(
        "genmcp.otel needs the OpenTelemetry API: pip install genmcp[otel]"
    ) from error

from genmcp.telemetry import (
    MAX_SHOWN,
    CallEnded,
    CallInfo,
    Observer,
    Outcome,
    RequestRefused,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from contextlib import AbstractContextManager

    from opentelemetry.context import Context
    from opentelemetry.propagators.textmap import TextMapPropagator

    Attributes = dict[str, str | int]

_BUCKETS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""The bounds of the histogram's buckets, in seconds, as the conventions want them."""

_TARGETS: Final = {
    "tools/call": "gen_ai.tool.name",
    "prompts/get": "gen_ai.prompt.name",
    "resources/read": "mcp.resource.uri",
}
"""Under which attribute each method has its target."""

_MAX_CHARACTERS: Final = {"traceparent": 256, "tracestate": 8_192, "baggage": 8_192}
"""Longer values are as good as absent: nobody sends them in earnest."""


class OpenTelemetryObserver(Observer):
    """A span and metrics for every call.

    One span of kind SERVER for each call, current while its handler runs: spans that the
    handler opens are its children, also in threads and in tasks it starts. The parent is
    what `traceparent` in the request's `_meta` names; without a good one it is the span
    that is current already, such as one of an instrumented ASGI server. A call that has
    both is linked to the latter.

    Metrics: `mcp.server.operation.duration` (a histogram of seconds, which also counts
    calls), `genmcp.server.active_streams` and `genmcp.server.refusals`.

    Args:
        tracer_provider: where spans go; the global one unless given.
        meter_provider: where metrics go; the global one unless given.
        propagator: reads `traceparent`, `tracestate` and `baggage` of a request. W3C's
            unless given; `CompositePropagator([])` believes no client.
    """

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
        *,
        propagator: TextMapPropagator | None = None,
    ) -> None:
        self._propagator = _make_propagator() if propagator is None else propagator
        self._spans: dict[CallInfo, trace.Span] = {}
        self._tracer = trace.get_tracer("genmcp", _find_version(), tracer_provider)
        meter = metrics.get_meter("genmcp", _find_version(), meter_provider)
        self._duration = meter.create_histogram(
            "mcp.server.operation.duration",
            unit="s",
            description="How long calls took, from the request to the last byte of its answer.",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )
        self._streams = meter.create_up_down_counter(
            "genmcp.server.active_streams",
            unit="{stream}",
            description="Calls that have sent something and go on.",
        )
        self._refusals = meter.create_counter(
            "genmcp.server.refusals",
            unit="{request}",
            description="Requests that were refused before they were a call.",
        )

    def call_started(self, call: CallInfo) -> AbstractContextManager[None]:
        """Open the call's span; see `Observer.call_started`."""
        ambient = context.get_current()
        parent = self._propagator.extract(_read_carrier(call), context=ambient)
        span = self._tracer.start_span(
            # Without the target, which may be any name a stranger makes up.
            call.method,
            context=parent,
            kind=trace.SpanKind.SERVER,
            attributes={
                **_describe_call(call, call.target),
                "jsonrpc.request.id": str(call.request_id)[:MAX_SHOWN],
            },
            links=_link_ambient(ambient, parent),
        )
        self._spans[call] = span
        return _current(trace.set_span_in_context(span, parent))

    def stream_opened(self, call: CallInfo) -> None:
        """Count the stream; see `Observer.stream_opened`."""
        self._streams.add(1, {"mcp.method.name": call.method})

    def stream_closed(self, call: CallInfo) -> None:
        """Count the stream no more; see `Observer.stream_closed`."""
        self._streams.add(-1, {"mcp.method.name": call.method})

    def call_ended(self, call: CallInfo, ended: CallEnded) -> None:
        """End the call's span and record how long it took; see `Observer.call_ended`."""
        end = _describe_end(ended)
        # It is missing where a processor of the application failed when it began.
        span = self._spans.pop(call, trace.INVALID_SPAN)
        if span.is_recording():
            if ended.served_target is not None:
                span.update_name(f"{call.method} {ended.served_target}")
            span.set_attributes(end)
            if ended.error_id is not None:
                span.set_attribute("genmcp.error_id", ended.error_id)
            if "error.type" in end:
                # Without a description: the message of an error may repeat arguments.
                span.set_status(trace.StatusCode.ERROR)
        # Of the names only those that exist, or strangers could make up series.
        series = _describe_call(call, ended.served_target)
        self._duration.record(ended.duration_seconds, series | end)
        span.end()

    def request_refused(self, refused: RequestRefused) -> None:
        """Count the refusal; see `Observer.request_refused`."""
        self._refusals.add(
            1,
            {
                "genmcp.refusal.reason": refused.reason.value,
                "http.response.status_code": refused.status,
                "rpc.response.status_code": str(refused.code),
            },
        )


def _make_propagator() -> TextMapPropagator:
    # Not the global one: what these keys hold is for the protocol to say, not for
    # whatever headers the application uses elsewhere.
    return CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()])


def _find_version() -> str:
    try:
        return version("genmcp")
    except PackageNotFoundError:
        return ""


def _read_carrier(call: CallInfo) -> Mapping[str, str]:
    """Return what the propagator may read: values that could be headers, the others absent."""
    return {
        key: value
        for key, value in call.trace.items()
        if value.isascii() and value.isprintable() and len(value) <= _MAX_CHARACTERS[key]
    }


def _link_ambient(ambient: Context, parent: Context) -> list[trace.Link]:
    outer = trace.get_current_span(ambient).get_span_context()
    inner = trace.get_current_span(parent).get_span_context()
    return [trace.Link(outer)] if outer.is_valid and outer != inner else []


@contextmanager
def _current(inside: Context) -> Generator[None]:
    token = context.attach(inside)
    try:
        yield
    finally:
        context.detach(token)


def _describe_call(call: CallInfo, target: str | None) -> Attributes:
    attributes: Attributes = {
        "mcp.method.name": call.method,
        "mcp.protocol.version": call.protocol_version,
    }
    if call.method == "tools/call":
        attributes["gen_ai.operation.name"] = "execute_tool"
    if call.method in _TARGETS and target is not None:
        attributes[_TARGETS[call.method]] = target
    return attributes


def _describe_end(ended: CallEnded) -> Attributes:
    attributes: Attributes = {"genmcp.outcome": ended.outcome.value}
    if ended.reason is not None:
        attributes["genmcp.refusal.reason"] = ended.reason.value
    if ended.code is not None:
        attributes["rpc.response.status_code"] = attributes["error.type"] = str(ended.code)
    elif ended.outcome is Outcome.TOOL_ERROR:
        attributes["error.type"] = "tool_error"
    return attributes
