"""Traces from a watch event to the AWS calls that it leads to, if an OpenTelemetry endpoint is set.

Tracing is off by default: it then costs a look at one variable, and its packages need not be installed. The context
travels in the header `traceparent` of the messages that ask for a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

HEADER: Final = "traceparent"
MISSING: Final = "tracing.endpoint is set, and the packages for it are missing: pip install 'berthmaster[tracing]'"
OFF: Final = nullcontext()
_tracers: list[Any] = []
"""The tracer of this process, once it was started."""


def start(endpoint: str, share: float, service: str) -> None:
    """Send spans to `endpoint` (OTLP over HTTP) from now on, for that share of the traces. Call it once a process.

    Raises SystemExit if the packages are missing.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise SystemExit(MISSING) from None
    send_to(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)), share, service)


def send_to(processor: Any, share: float, service: str) -> None:
    """Send spans to `processor` from now on, of that share of the traces."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

    resource = Resource.create({"service.name": service})
    provider = TracerProvider(sampler=ParentBasedTraceIdRatio(share), resource=resource)
    provider.add_span_processor(processor)
    _tracers[:] = [provider.get_tracer("berthmaster")]


def stop() -> None:
    """Forget the tracers of this process."""
    _tracers.clear()


def span(name: str, parent: str | None = None, **about: str) -> AbstractContextManager[Any]:
    """Open a span around some work. `parent` comes from the header of a message; by default it is the open span, if
    any.
    """
    if not _tracers:
        return OFF
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    above = TraceContextTextMapPropagator().extract({HEADER: parent}) if parent else None
    opened: AbstractContextManager[Any] = _tracers[0].start_as_current_span(name, context=above, attributes=about)
    return opened


def headers() -> Mapping[str, str]:
    """Return the headers of a message that is sent now; empty outside of a span."""
    if not _tracers:
        return {}
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return {name: value for name, value in carrier.items() if name == HEADER}
