"""Sends tasks, and hints through a broker that is not the Redis of the state, without a Celery application.

A message may be lost: the request is in our own keys already, and a sweep repeats what nobody took. So an outage costs
a bounded time here and never raises: an exception would end a run that has done its work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from kombu import Producer, Queue
from kombu.exceptions import LimitExceeded, OperationalError
from kombu.pools import producers

from berthmaster import routing
from berthmaster.broker.address import connection, in_brief
from berthmaster.logger import get_logger
from berthmaster.metrics import UNSENT
from berthmaster.redis.refusals import warn

log = get_logger(__name__)
RETRY_POLICY = {"max_retries": 3, "interval_start": 0, "interval_step": 0.2, "interval_max": 0.5}
OPTIONS = {"socket_timeout": 5, "socket_connect_timeout": 5, "max_connections": 50}
UNREACHABLE = (OperationalError, LimitExceeded, OSError)
WAIT_FOR_PRODUCER = 5.0  # seconds; kombu's own default is to wait for ever
WAIT_FOR_CONFIRMATION = 5.0  # seconds; RabbitMQ confirms nothing while it is short of memory or disk
EMBED = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
Call = tuple[str, tuple[object, ...]]


class Sender:
    """A sender of tasks. Threads may share it. No method raises while the broker is away."""

    def __init__(self, url: str) -> None:
        self._connection = connection(url, OPTIONS)
        own: Any = self._connection  # kombu's types know no classes of exceptions
        self._errors: tuple[type[Exception], ...] = (*UNREACHABLE, *own.connection_errors, *own.channel_errors)

    def send(self, task: str, *args: object) -> bool:
        """Send a task to the queue that routing names for it. False: the task may not have been sent."""
        return self._send_all([(task, args)])

    def hints(self, hints: Sequence[str]) -> None:
        """Send the hints of these ids. Hints that the broker does not take are counted and logged."""
        self._send_all([(routing.QUEUE_DRAIN, (hint,)) for hint in hints])

    def _send_all(self, calls: Sequence[Call]) -> bool:
        unsent = len(calls)
        try:
            with producers[self._connection].acquire(block=True, timeout=WAIT_FOR_PRODUCER) as producer:
                for task, args in calls:
                    publish(producer, task, args)
                    unsent -= 1
        except self._errors as error:
            for task, _ in calls[len(calls) - unsent :]:
                UNSENT.labels(task).inc()
            warn(log, "tasks_unsent", error, number=unsent, error=in_brief(error))
        return not unsent


def publish(producer: Producer, task: str, args: tuple[object, ...]) -> None:
    """Send a message of Celery's protocol 2. A missing queue is created."""
    identity, queue = str(uuid4()), routing.QUEUES[task]
    producer.publish(
        (args, {}, EMBED),
        exchange="",
        routing_key=queue,
        declare=[Queue(queue, routing_key=queue)],
        serializer="json",
        headers=routing.headers(task, identity, args),
        correlation_id=identity,
        confirm_timeout=WAIT_FOR_CONFIRMATION,
        retry=True,
        retry_policy=RETRY_POLICY,
    )
