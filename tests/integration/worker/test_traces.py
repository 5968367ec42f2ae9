"""A real worker sends spans of the tasks that it runs, to the trace that their messages name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import orjson
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from berthmaster import routing, tracing
from tests.integration.worker.fleet import Fleet
from tests.support.waiting import eventually

TRACE, SENDER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
OTHER = "1af7651916cd43dd8448eb211c80319c"


class Collector(BaseHTTPRequestHandler):
    """Keeps what is sent to it."""

    found: list[Any]

    def do_POST(self) -> None:
        told = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
        self.found += [each for one in told.resource_spans for scope in one.scope_spans for each in scope.spans]
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of http.server
        """Nothing."""


@contextmanager
def collecting() -> Iterator[tuple[str, list[Any]]]:
    found: list[Any] = []
    server = HTTPServer(("127.0.0.1", 0), type("Own", (Collector,), {"found": found}))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/traces", found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_run_is_a_span_of_the_trace_of_who_asked_for_it(make_fleet: Callable[[], Fleet], pool: str) -> None:
    with collecting() as (endpoint, found):
        own = {
            "BERTHMASTER_TRACING__ENDPOINT": endpoint,
            "BERTHMASTER_CELERY__POOL": pool,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }
        fleet = make_fleet().start(workers=1, beats=1, **own)
        for trace, ask in ((TRACE, as_the_publisher), (OTHER, as_a_service)):
            ask(fleet, f"00-{trace}-{SENDER}-01")
            spans = eventually(lambda of=trace: [span for span in found if span.trace_id.hex() == of])  # type: ignore[misc]  # mypy infers no lambda with a default
            assert [(span.name, span.parent_span_id.hex()) for span in spans] == [("ports.reconcile", SENDER)]
        assert [span.name for span in found if span.name in ("queue.tick", "queue.drain")] == []


def as_the_publisher(fleet: Fleet, trace: str) -> None:
    """A span of its own process was open when it marked the key."""
    fleet.redis.hset("{queue}traces", "pod/games/a", trace)
    fleet.mark("pod/games/a")


def as_a_service(fleet: Fleet, trace: str) -> None:
    asked = ("pod/games/b", True)
    message = orjson.loads(routing.message(routing.PORTS_RECONCILE, *asked))
    message["headers"][tracing.HEADER] = trace
    fleet.redis.lpush(routing.LATENCY, orjson.dumps(message))
