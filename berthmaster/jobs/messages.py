"""The message of a placed job: the client's own Celery task, on the queue of the pod that has a slot for the job.

The task's id is the attempt. A header names job, phase and attempt, so that the runner can ask whether it may start. A
lost message is sent again; the slot ledger refuses one that is late or repeated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, Self

from kombu import Connection, Producer, Queue
from kombu.pools import producers
from pydantic import BaseModel, ConfigDict, Field
from redis.exceptions import NoPermissionError

from berthmaster import routing
from berthmaster.broker.address import connection
from berthmaster.broker.sending import EMBED, OPTIONS, RETRY_POLICY, UNREACHABLE, WAIT_FOR_PRODUCER
from berthmaster.jobs.job import ATTEMPT, Job, Placed, WhenLost
from berthmaster.logger import get_logger
from berthmaster.names import is_uid
from berthmaster.redis.refusals import caused

log = get_logger(__name__)
HEADER: Final = "berthmaster"


class Body(BaseModel):
    """What a client wants to run: a task of the runner's application."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")

    task: str = Field(min_length=1, max_length=255)
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}

    def encoded(self) -> str:
        """Return the body as JSON."""
        return self.model_dump_json()

    @classmethod
    def decoded(cls, text: str) -> Self:
        """Decode a body. Raises ValueError or RecursionError. Pydantic reads less deep JSON than it writes."""
        return cls.model_validate(json.loads(text))


def queue_of(pool: str, pod: str) -> str:
    """Return the queue that only this pod reads; `pool` is namespace/name."""
    return f"{routing.runner_queues(pool)}{pod}"


def header_of(placed: Placed) -> dict[str, Any]:
    """Return the header that names the attempt, its phase, its pod's UID and the job."""
    job = placed.job
    asked = {
        "phases": job.phases,
        "serial_key": job.serial_key,
        "priority": job.priority,
        "hold_ms": job.hold_ms,
        "when_lost": job.when_lost.value,
        "body": job.body,
    }
    header = {"id": placed.id, "attempt": placed.attempt, "uid": placed.uid, "phase": placed.phase, "job": asked}
    return header | ({"limits": job.limits} if job.limits else {})  # older runners refuse a new field of `job`


def placed_of(header: dict[str, Any], pod: str = "") -> Placed:
    """Raises KeyError, TypeError or ValueError for a header that we did not write."""
    asked = header["job"]
    if not ATTEMPT.fullmatch(header["attempt"]) or not is_uid(header["uid"]):
        raise ValueError("attempt or uid of the header is not one that we wrote")
    when_lost = WhenLost(asked["when_lost"])
    typed = {"phases": tuple(asked["phases"]), "when_lost": when_lost}
    job = Job(header["id"], **asked | typed | header.get("limits", {}))
    return Placed(header["id"], header["attempt"], header["uid"], pod, header["phase"], job)


class JobSender:
    """Sends jobs to runners. Threads may share it; no method raises while the broker is away.

    The broker of runners is the Redis of the state, also where workers and clients have another: a runner reaches one
    server, as one user who is confined to the keys of its pool.
    """

    def __init__(self, broker: str | Connection, pool: str) -> None:
        """`broker`: an address of ours, or a connection of the application that sends."""
        self._connection = connection(broker, OPTIONS) if isinstance(broker, str) else broker
        self._pool = pool
        self.forbidden = False  # the broker has said that its user may not write a queue of the pool

    def send(self, placed: Iterable[Placed]) -> list[Placed]:
        """Send the messages. Returns those that could not be sent. An unreadable job does not stop the others."""
        left, unreadable = list(placed), list[Placed]()
        if not left:
            return []
        try:
            with producers[self._connection].acquire(block=True, timeout=WAIT_FOR_PRODUCER) as producer:
                while left:
                    if not self._published(producer, left[0]):
                        unreadable.append(left[0])
                    left.pop(0)
        except UNREACHABLE as error:
            self.forbidden |= caused(error, NoPermissionError)
        return [*unreadable, *left]

    def forget(self, pod: str) -> None:
        """Delete the queue of a pod that is gone, and kombu's record of the queue, which kombu itself never deletes."""
        queue = queue_of(self._pool, pod)
        with suppress(*UNREACHABLE), producers[self._connection].acquire(block=True, timeout=WAIT_FOR_PRODUCER) as some:
            some.channel.client.delete(queue, f"_kombu.binding.{queue}", f"_kombu.binding_permanent.{queue}")

    def _published(self, producer: Producer, placed: Placed) -> bool:
        """Publish one message. False: the body is not one that we wrote."""
        try:
            body = Body.decoded(placed.job.body)
        except (ValueError, RecursionError) as error:
            log.error("job_unreadable", pool=self._pool, job=placed.id, reason=type(error).__name__)  # not its secrets
            return False
        self._publish(producer, placed, body)
        return True

    def _publish(self, producer: Producer, placed: Placed, body: Body) -> None:
        queue = queue_of(self._pool, placed.pod)
        headers = routing.headers(body.task, placed.attempt, body.args) | {HEADER: header_of(placed)}
        producer.publish(
            (body.args, body.kwargs, EMBED),
            exchange="",
            routing_key=queue,
            declare=[Queue(queue, routing_key=queue)],
            serializer="json",
            headers=headers,
            correlation_id=placed.attempt,
            retry=True,
            retry_policy=RETRY_POLICY,
        )
