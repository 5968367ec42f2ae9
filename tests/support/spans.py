"""Spans of this process, kept in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from berthmaster import tracing


class Spans:
    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        tracing.send_to(SimpleSpanProcessor(self._kept), 1.0, "test")

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._kept.get_finished_spans() if span.name.startswith(name)]


@contextmanager
def spans() -> Iterator[Spans]:
    try:
        yield Spans()
    finally:
        tracing.stop()


def trace_of(span: ReadableSpan) -> str:
    return f"{span.context.trace_id:032x}"


def above(span: ReadableSpan) -> str:
    """Its parent, '' for none."""
    return f"{span.parent.span_id:016x}" if span.parent else ""


def id_of(span: ReadableSpan) -> str:
    return f"{span.context.span_id:016x}"
