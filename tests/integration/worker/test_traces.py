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
def test_a_task_is_a_span_of_the_trace_that_its_message_names(make_fleet: Callable[[], Fleet], pool: str) -> None:
    with collecting() as (endpoint, found):
        own = {
            "BERTHMASTER_TRACING__ENDPOINT": endpoint,
            "BERTHMASTER_CELERY__POOL": pool,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }
        fleet = make_fleet().start(workers=1, beats=1, **own)
        message = orjson.loads(routing.hint("pod/games/a"))
        message["headers"][tracing.HEADER] = f"00-{TRACE}-{SENDER}-01"
        fleet.redis.lpush(routing.LATENCY, orjson.dumps(message))
        spans = eventually(lambda: [span for span in found if span.trace_id.hex() == TRACE])
        assert [(span.name, span.parent_span_id.hex()) for span in spans] == [("ports.reconcile", SENDER)]
        assert [span.name for span in found if span.name == "queue.tick"] == []
