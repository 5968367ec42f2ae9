"""Sending hints through a broker that is not the Redis of the state.

A hint may be lost: the key is marked already, and a sweep repeats what nobody took. So an outage costs a bounded
time here and never an exception, which would end a run that has done its work.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import structlog
from kombu import Connection, Producer, Queue
from kombu.exceptions import OperationalError
from kombu.pools import producers

from events import routing
from workers import metrics

log = structlog.get_logger()
RETRY_POLICY = {"max_retries": 3, "interval_start": 0, "interval_step": 0.2, "interval_max": 0.5, "timeout": 5}
OPTIONS = {"socket_timeout": 5, "socket_connect_timeout": 5, "max_connections": 50}
UNREACHABLE = (OperationalError, OSError)
WAIT_FOR_PRODUCER = 5.0  # seconds; kombu's own default is to wait for ever


class Hints:
    """Callable with keys, as the workqueue wants it. Never raises for a broker that is away."""

    def __init__(self, url: str) -> None:
        self._connection = Connection(url, transport_options=OPTIONS)
        self._queue = Queue(routing.LATENCY, routing_key=routing.LATENCY)

    def __call__(self, keys: Sequence[str]) -> None:
        unsent = len(keys)
        try:
            with producers[self._connection].acquire(block=True, timeout=WAIT_FOR_PRODUCER) as producer:
                for key in keys:
                    self._send(producer, key)
                    unsent -= 1
        except UNREACHABLE as error:
            metrics.HINTS_UNSENT.inc(unsent)
            log.warning("hints_unsent", keys=unsent, error=str(error))

    def _send(self, producer: Producer, key: str) -> None:
        identity, task = str(uuid4()), routing.reconciler(key)
        embed = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
        producer.publish(
            ([key], {}, embed),
            routing_key=routing.LATENCY,
            exchange="",
            declare=[self._queue],
            serializer="json",
            headers=routing.headers(task, identity, (key,)),
            correlation_id=identity,
            retry=True,
            retry_policy=RETRY_POLICY,
        )
