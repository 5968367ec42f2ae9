"""The publisher's process: builds its parts, runs its threads, ends in order.

SIGTERM loses nothing: the batch in hand is finished, then the Lease is given back, so that a second publisher takes
over at its next look and finds by its list whatever happened in between.
"""

from __future__ import annotations

import os
import signal
import socket
from threading import Event
from uuid import uuid4

import structlog
from redis import Redis

from events import routing
from events.election import Election
from events.health import HealthServer
from events.incarnation import connect
from events.kube_api import KubeApi
from events.lease import Lease
from events.metrics import Metrics
from events.publisher import Publisher
from events.settings import ProcessSettings
from events.supervise import Supervisor
from events.term import Parts
from events.workqueue import Workqueue, push

log = structlog.get_logger(__name__)


def workqueue(settings: ProcessSettings, redis: Redis) -> Workqueue:
    """Where broker and state are one Redis, the script that marks a key sends its hint as well."""
    if settings.broker.url in (None, settings.redis.url):
        return Workqueue(redis, hint_queue=routing.LATENCY)
    return Workqueue(redis, publish=push(Redis.from_url(str(settings.broker.url))))


def identity() -> str:
    """Of this start of this process: what an earlier one held is not ours."""
    return f"{os.environ.get('HOSTNAME') or socket.gethostname()}-{uuid4().hex[:8]}"


def build(settings: ProcessSettings, stop: Event) -> tuple[Publisher, Event]:
    """The publisher, and the event that ends its election (after its last batch, so not `stop`)."""
    kube, metrics, resigned = KubeApi.connect(settings.kubernetes), Metrics(), Event()
    redis = connect(settings.redis.url, socket_timeout=5, socket_connect_timeout=3)
    lease = Lease(kube, settings.publisher.lease, identity())
    parts = Parts(kube, redis, workqueue(settings, redis), lease, settings.publisher, metrics, Supervisor(stop))
    return Publisher(parts, Election(lease, metrics, resigned)), resigned


def run(settings: ProcessSettings, stop: Event) -> int:
    """Until `stop` is set or a thread dies; returns the exit status."""
    publisher, resigned = build(settings, stop)
    supervisor = publisher.parts.supervisor
    health = HealthServer(settings.publisher.health_host, settings.publisher.health_port, publisher)
    supervisor.start("health", health.serve_forever)
    election = supervisor.start("election", publisher.election.run)
    work = supervisor.start("publisher", publisher.run)
    log.info("publisher_started", identity=publisher.parts.lease.identity, health_port=health.server_address[1])
    stop.wait()
    work.join(settings.publisher.grace.total_seconds() + 1)
    resigned.set()
    election.join(settings.kubernetes.request_timeout.total_seconds())
    publisher.election.resign()
    health.shutdown()
    log.info("publisher_stopped", failed=supervisor.failed.is_set())
    return int(supervisor.failed.is_set())


def stop_on_signals() -> Event:
    """Set by SIGTERM and SIGINT."""
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def main() -> int:
    configure_logs()
    return run(ProcessSettings(), stop_on_signals())


def configure_logs() -> None:
    """One JSON object a line on standard output."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        cache_logger_on_first_use=True,
    )
