"""What clients have sent to workers, as the broker has it."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import orjson
from redis import Redis

from berthmaster import routing


def sent_tasks(redis: Redis) -> list[list[Any]]:
    """Task and arguments of each message in the queue of requests, the latest first."""
    messages: Any = redis.lrange(routing.JOBS, 0, -1)
    documents = [orjson.loads(message) for message in messages]
    return [[document["headers"]["task"], *orjson.loads(b64decode(document["body"]))[0]] for document in documents]
