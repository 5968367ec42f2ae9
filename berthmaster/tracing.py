"""Traces from a watch event to the calls of AWS that it leads to, for who sets an endpoint of OpenTelemetry.

Off, which is the default, it is one look at a variable, and its packages need not be there. The context travels in the
header `traceparent` of the messages that ask for a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

HEADER: Final = "traceparent"
MISSING: Final = "tracing.endpoint is set, and the packages for it are missing: pip install 'berthmaster[tracing]'"
OFF: Final = nullcontext()
_tracers: list[Any] = []
"""The one of this process, once it was started."""


def start(endpoint: str, share: float, service: str) -> None:
    """Sends spans to `endpoint` (OTLP over HTTP) from now on, of that share of the traces. Call it once a process.

    Raises SystemExit where the packages are missing.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise SystemExit(MISSING) from None
    send_to(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)), share, service)


def send_to(processor: Any, share: float, service: str) -> None:
    """As `start`, to a processor of spans."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

    resource = Resource.create({"service.name": service})
    provider = TracerProvider(sampler=ParentBasedTraceIdRatio(share), resource=resource)
    provider.add_span_processor(processor)
    _tracers[:] = [provider.get_tracer("berthmaster")]


def stop() -> None:
    _tracers.clear()


def span(name: str, parent: str | None = None, **about: str) -> AbstractContextManager[Any]:
    """Around some work; `parent` is what came in the header of a message, else the span that is open now, if any."""
    if not _tracers:
        return OFF
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    above = TraceContextTextMapPropagator().extract({HEADER: parent}) if parent else None
    opened: AbstractContextManager[Any] = _tracers[0].start_as_current_span(name, context=above, attributes=about)
    return opened


def headers() -> Mapping[str, str]:
    """What a message that is made now carries; nothing outside of a span."""
    if not _tracers:
        return {}
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return {name: value for name, value in carrier.items() if name == HEADER}
