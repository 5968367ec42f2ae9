"""Where the hints' queue may be: in the Redis of the state, or elsewhere. Both are a FIFO of messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from redis import Redis

from berthmaster import routing
from events.workqueue import Workqueue


class Message(NamedTuple):
    task: str
    argument: Any  # the id of a hint


def read(raw: bytes) -> Message:
    message = orjson.loads(raw)
    return Message(message["headers"]["task"], orjson.loads(message["body"])[0][0])


class Here:
    """Scripts push to the list of the broker themselves."""

    def __init__(self, redis: Redis) -> None:
        self.redis = redis

    def workqueue(self) -> Workqueue:
        return Workqueue(self.redis, hint_queue=routing.LATENCY)

    def send(self, raw: bytes) -> None:
        self.redis.lpush(routing.LATENCY, raw)

    def pop(self) -> Message | None:
        raw: Any = self.redis.rpop(routing.LATENCY)
        return read(raw) if raw else None

    def waiting(self) -> list[Message]:
        """Oldest first."""
        raws: Any = self.redis.lrange(routing.LATENCY, 0, -1)
        return [read(raw) for raw in reversed(raws)]

    def lose_all(self) -> None:
        self.redis.delete(routing.LATENCY)


class Elsewhere:
    """Hints are published after the script; `down` makes that fail, as a process that dies between the two would."""

    def __init__(self, redis: Redis) -> None:
        self.redis, self.down = redis, False
        self._messages: deque[bytes] = deque()

    def workqueue(self) -> Workqueue:
        return Workqueue(self.redis, publish=self.publish)

    def publish(self, hints: Sequence[str]) -> None:
        if self.down:
            raise ConnectionError("the broker is away")
        self._messages.extend(routing.hint(hint) for hint in hints)

    def send(self, raw: bytes) -> None:
        self._messages.append(raw)

    def pop(self) -> Message | None:
        return read(self._messages.popleft()) if self._messages else None

    def waiting(self) -> list[Message]:
        return [read(raw) for raw in self._messages]

    def lose_all(self) -> None:
        self._messages.clear()
