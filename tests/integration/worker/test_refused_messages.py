"""What becomes of messages whose acknowledgement, or whose repetition, Redis refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery
from celery.exceptions import Reject
from kombu import Connection
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from berthmaster.celery import transport_guard
from compose.sandbox.redis_server import RedisServer
from tests.support.faults.refusing import REAL
from workers.tasks.payloads import CheckedTask

QUEUE = "refused"


@pytest.fixture
def channel(server: RedisServer) -> Iterator[Any]:
    """It may have one message at a time, and has one."""
    transport_guard.install()
    with Connection(server.url) as connection:
        for word in ("first", "second"):
            connection.SimpleQueue(QUEUE).put(word)
        channel: Any = connection.channel()
        channel.basic_qos(0, 1, False)  # noqa: FBT003 - the signature of AMQP
        yield channel


def taken(channel: Any) -> Any:
    message = channel.basic_get(QUEUE)
    channel.qos.append(message, message.delivery_tag)
    return message


@pytest.mark.row("RD-22")
def test_a_refused_acknowledgement_leaves_no_worker_deaf_and_is_made_up_for(channel: Any, server: RedisServer) -> None:
    message = taken(channel)
    assert not channel.qos.can_consume()
    with REAL["NOREPLICAS"](server):
        message.ack()
        assert channel.qos.can_consume()
        assert unacknowledged(server) == 1
    assert channel.qos.can_consume()
    assert unacknowledged(server) == 0


@pytest.mark.row("RD-22")
def test_a_message_that_cannot_be_put_back_now_comes_back_after_the_visibility_timeout(
    channel: Any, server: RedisServer
) -> None:
    message = taken(channel)
    with REAL["OOM"](server):
        message.requeue()
        assert channel.qos.can_consume()
    assert unacknowledged(server) == 1


@pytest.mark.row("RD-22")
def test_a_task_whose_repetition_redis_refuses_goes_back_to_its_queue(server: RedisServer) -> None:
    app: Any = Celery("refused", broker=server.url, task_cls=CheckedTask)
    app.conf.task_publish_retry_policy = {"max_retries": 1, "interval_start": 0}

    @app.task(name="asked")
    def task() -> None:
        """Is not run."""

    task.push_request(id="1", args=(), kwargs={}, retries=0, called_directly=False, delivery_info={})
    with REAL["OOM"](server), pytest.raises(Reject) as rejected:
        task.retry(exc=RedisConnectionError("refused"), countdown=0)
    rejection: Any = rejected.value
    assert rejection.requeue


def unacknowledged(server: RedisServer) -> int:
    with Redis.from_url(server.url) as redis:
        return int(redis.hlen("unacked"))
