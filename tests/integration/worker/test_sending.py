"""What workers send themselves arrives, as Celery stores it."""

from __future__ import annotations

import orjson
from redis import Redis

from events import routing
from workers.sending import Sender


def test_a_task_lies_in_its_queue_once_it_was_sent(redis: Redis, redis_url: str) -> None:
    Sender(redis_url).send(routing.POOLS_SCALE_UP, "arena", "7", "token")
    sent = [orjson.loads(text) for text in redis.lrange(routing.MAINTENANCE, 0, -1)]
    assert [message["headers"]["task"] for message in sent] == [routing.POOLS_SCALE_UP]
    assert sent[0]["properties"]["delivery_info"]["routing_key"] == routing.MAINTENANCE


def test_hints_lie_in_the_queue_of_hints(redis: Redis, redis_url: str) -> None:
    Sender(redis_url).hints(["pod/games/a", "portpool/arena"])
    sent = [orjson.loads(text)["headers"]["task"] for text in redis.lrange(routing.LATENCY, 0, -1)]
    assert sorted(sent) == [routing.POOLS_RECONCILE, routing.PORTS_RECONCILE]


def test_a_broker_that_is_away_raises_nothing() -> None:
    Sender("redis://127.0.0.1:1/0").send(routing.QUEUE_TICK)
