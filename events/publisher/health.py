"""Serve the probes of Kubernetes and the metrics over HTTP. Each request computes the answer anew.

Live: no thread died, every stream showed a sign of life (a list, a line, an orderly end) recently, and Redis has not
refused for as long. Ready: the lists are complete and stamped, and Redis does not refuse. A standby is ready when it
reaches the Lease. Otherwise a rolling update would wait for ever for a new publisher, which acquires the Lease only
when the old one ends.
"""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from prometheus_client import CONTENT_TYPE_LATEST

from berthmaster.redis.refusals import spell
from events.publisher.publisher import Publisher


class Verdict(NamedTuple):
    """The answer to a probe."""

    good: bool
    text: str


def live(publisher: Publisher) -> Verdict:
    """Liveness: False restarts the process, for a dead thread, a Redis that refuses for long, or a silent stream."""
    if publisher.parts.supervisor.failed.is_set():
        return Verdict(good=False, text="a thread died")
    if (refused := spell.lasts or 0.0) > publisher.parts.settings.watch.dead_after.total_seconds():
        return Verdict(good=False, text=f"Redis has refused for {refused:.0f} s: {', '.join(spell.answers)}")
    dead = [name for name, pulse in publisher.pulses() if not pulse.alive]
    return Verdict(not dead, f"no sign of life from: {', '.join(dead)}" if dead else "ok")


def ready(publisher: Publisher) -> Verdict:
    """Readiness: the active publisher is ready once it has stamped, a standby while it reaches the Lease."""
    if publisher.parts.supervisor.stop.is_set():
        return Verdict(good=False, text="stopping")
    if spell.lasts is not None:
        return Verdict(good=False, text=f"Redis refuses: {', '.join(spell.answers)}")
    if publisher.parts.lease.held:
        stamped = publisher.stamped
        return Verdict(stamped, "publishing" if stamped else "the first lists are not in")
    reached = publisher.election.reached
    return Verdict(reached, "standing by" if reached else "the Lease cannot be reached")


class Handler(BaseHTTPRequestHandler):
    """Answers /livez, /readyz and /metrics."""

    server: HealthServer

    def do_GET(self) -> None:
        """Answer one request."""
        publisher = self.server.publisher
        match self.path.partition("?")[0]:
            case "/livez":
                self.judge(live(publisher))
            case "/readyz":
                self.judge(ready(publisher))
            case "/metrics":
                for name, pulse in publisher.pulses():
                    publisher.parts.metrics.stream_age.labels(name).set(pulse.age)
                self.answer(200, publisher.parts.metrics.exposition(), CONTENT_TYPE_LATEST)
            case _:
                self.answer(404, b"/livez, /readyz or /metrics\n")

    def judge(self, verdict: Verdict) -> None:
        """Send a verdict: 200 or 503."""
        self.answer(200 if verdict.good else 503, f"{verdict.text}\n".encode())

    def answer(self, status: int, body: bytes, content_type: str = "text/plain; charset=utf-8") -> None:
        """Send a whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of http.server
        """Log nothing: probes come every few seconds."""


class HealthServer(ThreadingHTTPServer):
    """The HTTP server of the probes and metrics."""

    daemon_threads = True

    def __init__(self, host: str, port: int, publisher: Publisher) -> None:
        super().__init__((host, port), Handler)
        self.publisher = publisher

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a prober that hangs up; print any other exception, because it is a bug."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)
