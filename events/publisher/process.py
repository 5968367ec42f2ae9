"""The publisher's process: build its parts, run its threads, end in order.

SIGTERM loses nothing: the batch in hand is finished, then the Lease is released. A second publisher acquires it at its
next try, and its list finds whatever changed in between.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from functools import partial
from threading import Event
from typing import Any, Final
from uuid import uuid4

import structlog
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from berthmaster import routing, tracing
from berthmaster.redis.identity import Identity
from berthmaster.redis.incarnation import connect
from berthmaster.redis.unusable import UNUSABLE
from events.grace import end_within
from events.kube.api import NO_ACCOUNT, KubeApi
from events.protocol.event_stream import EventStream
from events.publisher.election import Election
from events.publisher.health import HealthServer
from events.publisher.lease import Lease
from events.publisher.metrics import Metrics
from events.publisher.publisher import Publisher
from events.publisher.supervise import Supervisor
from events.publisher.term import Parts
from events.settings import Misconfigured, ProcessSettings, settings_of
from events.workqueue import Workqueue

log = structlog.get_logger(__name__)

PATIENCE: Final[dict[str, Any]] = {"socket_timeout": 5, "socket_connect_timeout": 3, "retry": Retry(NoBackoff(), 1)}
"""Seconds. One retry, for connections that the server closed; a longer wait must notice `stop`."""
AGENT: Final = "berthmaster-publisher"
MISUSE: Final = 2
SPARE: Final = 5.0
POLL: Final = 0.1
"""Seconds between two looks of the health server at whether it should end."""


def workqueue(settings: ProcessSettings, redis: Redis) -> Workqueue:
    """Return the workqueue. If broker and state are one Redis, the script that marks a key sends its hint as well."""
    if settings.broker.url in (None, settings.redis.url):
        return Workqueue(redis, hint_queue=routing.LATENCY)
    from berthmaster.broker.sending import Sender  # here: few publishers need the client of the broker

    return Workqueue(redis, publish=Sender(str(settings.broker.url)).hints)


def identity() -> str:
    """Return an identity unique to this start of the process: a Lease of an earlier start is not ours."""
    return f"{os.environ.get('HOSTNAME') or socket.gethostname()}-{uuid4().hex[:8]}"


class Process:
    """A publisher with all its parts built and none started. Call `run` once."""

    def __init__(self, settings: ProcessSettings, stop: Event) -> None:
        """Build the parts and bind the health port. A caller sets `stop` to end the process."""
        self.settings, self.stop, self.resigning = settings, stop, Event()
        self.supervisor, self.metrics = Supervisor(stop), Metrics()
        kube = KubeApi.connect(settings.kubernetes, AGENT)
        redis = connect(settings.redis.url, Identity(settings.cluster), **PATIENCE)
        self.lease = Lease(kube, settings.publisher.lease, identity())
        self.election = Election(self.lease, self.metrics, self.resigning)
        queue = workqueue(settings, redis)
        parts = Parts(
            kube,
            redis,
            queue,
            self.lease,
            settings.publisher,
            self.metrics,
            self.supervisor,
            EventStream(settings.stream),
            settings.cluster,
            settings.redis,
        )
        self.publisher = Publisher(parts, self.election)
        self.health = HealthServer(settings.publisher.health_host, settings.publisher.health_port, self.publisher)

    def run(self) -> int:
        """Run until `stop` is set or a thread dies; return the exit status."""
        self.supervisor.start("health", partial(self.health.serve_forever, POLL))
        election = self.supervisor.start("election", self.election.run)
        work = self.supervisor.start("publisher", self.publisher.run)
        log.info("publisher_started", identity=self.lease.identity, health_port=self.health.server_address[1])
        self.stop.wait()
        work.join(self.settings.publisher.grace.total_seconds() + 1)
        self.resigning.set()
        election.join(self.settings.kubernetes.request_timeout.total_seconds())
        self.election.resign()
        self.health.shutdown()
        self.health.server_close()
        self.publisher.parts.redis.close()
        self.publisher.parts.kube.close()
        log.info("publisher_stopped", failed=self.supervisor.failed.is_set())
        if refusal := self.publisher.refusal:
            sys.stderr.write(f"{refusal}\n")
            return UNUSABLE
        return int(self.supervisor.failed.is_set())


def stop_on_signals(within: float) -> Event:
    """Return an event that SIGTERM and SIGINT set. The process ends by force `within` seconds after the first of them.

    A handler that set the event could wait for ever for a lock of the event that its own thread holds.
    """
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    end_within(within, stop.set)
    return stop


def longest_stop(settings: ProcessSettings) -> float:
    """Return seconds: the batch in hand, the election's last call, the release of the Lease, and a reserve."""
    return settings.publisher.grace.total_seconds() + 2 * settings.kubernetes.request_timeout.total_seconds() + SPARE


def main() -> int:
    """Run one publisher and return its exit status; MISUSE if a setting is wrong."""
    configure_logs()
    try:
        settings = settings_of(ProcessSettings)
    except Misconfigured as error:
        sys.stderr.write(f"{error}\n")
        return MISUSE
    if settings.tracing.endpoint:
        tracing.start(settings.tracing.endpoint, settings.tracing.share, "berthmaster-publisher")
    try:
        stop = stop_on_signals(longest_stop(settings))
        process = Process(settings, stop)
    except NO_ACCOUNT as error:
        sys.stderr.write(f"neither BERTHMASTER_KUBERNETES__SERVER nor a kubeconfig nor an account to use: {error}\n")
        return MISUSE
    return process.run()


def configure_logs() -> None:
    """Log one JSON object a line to standard output."""
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
