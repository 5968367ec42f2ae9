"""What goes wrong in a storm without any process ending: Redis answers "not now" for a while or begins another history,
clocks jump, and somebody sends messages that nobody can read.

Everything but the messages is undone a little later, as in `storm_faults`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import uuid4

import orjson
from redis import Redis, RedisError

from berthmaster.routing import QUEUES
from compose.sandbox.free_ports import free_port
from tests.support.faults.storm_faults import Faults

OUR_QUEUES: Final = sorted(set(QUEUES.values()))
SPELLS: Final = (0.5, 2.0, 6.0)
"""Seconds; the longest outlasts a retry of every process."""
JUMPS: Final = (-3600.0, -600.0, -90.0, 90.0, 600.0, 3600.0)
"""Seconds that a process's wall clock is wrong by."""
LEAPS: Final = (-600.0, -60.0, 60.0, 600.0)
"""Seconds that Redis's clock is wrong by."""
HEADERS: Final[tuple[dict[str, Any], ...]] = (
    {"shadow": [1, 2]},
    {"errbacks": [7]},
    {"callbacks": {"task": "ports.reconcile"}},
    {"eta": "never"},
    {"expires": {}},
    {"retries": "many"},
    {"timelimit": 3},
    {"id": {"a": 1}},
    {"task": ["ports.reconcile"]},
)
BODIES: Final[tuple[Any, ...]] = (
    [[], {}, 5],
    [[1, 2, 3], {}, {}],
    [["pod/../x"], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}],
    [[["deep"] * 50], {}, {}],
    {"no": "list"},
    "text",
    7,
)


class Spells:
    """`faults` undoes what is done here when its time is over."""

    def __init__(self, faults: Faults) -> None:
        self.faults, self.stack, self.chance = faults, faults.stack, faults.chance
        self.clocks = faults.system.clocks

    # ---- Redis

    def refuse_writes(self) -> None:
        """READONLY: it is the replica of a master that nobody reaches. Afterwards its history has another name."""
        self._tell(lambda redis: redis.replicaof("127.0.0.1", free_port()))
        self._undo(lambda redis: redis.replicaof("NO", "ONE"))

    def fill(self) -> None:
        """OOM."""
        self._tell(lambda redis: redis.config_set("maxmemory", 1))
        self._undo(lambda redis: redis.config_set("maxmemory", 0))

    def miss_replicas(self) -> None:
        """NOREPLICAS."""
        self._tell(lambda redis: redis.config_set("min-replicas-to-write", 1))
        self._undo(lambda redis: redis.config_set("min-replicas-to-write", 0))

    def change_history(self) -> None:
        """Another `master_replid`, while the process and its connections live."""
        with self._redis() as redis:
            redis.replicaof("127.0.0.1", free_port())
            redis.replicaof("NO", "ONE")

    def move_redis_clock(self) -> None:
        self._move("redis", self.chance.choice(LEAPS))

    # ---- processes

    def move_clock(self) -> None:
        self._move(self.chance.choice(sorted(self.clocks.keys() - {"redis"})), self.chance.choice(JUMPS))

    # ---- messages

    def send_odd_message(self) -> None:
        """For a task that exists, with a header or a body that makes no sense."""
        headers = {"lang": "py", "task": self.chance.choice(sorted(QUEUES)), "id": str(uuid4()), "root_id": None}
        headers |= {"parent_id": None, "group": None, "argsrepr": "", "kwargsrepr": ""}
        body: Any = [[], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}]
        if self.chance.random() < 0.5:
            headers |= self.chance.choice(HEADERS)
        else:
            body = self.chance.choice(BODIES)
        properties = {"correlation_id": str(uuid4()), "delivery_mode": 2, "delivery_tag": str(uuid4()), "priority": 0}
        properties |= {"delivery_info": {"exchange": "", "routing_key": ""}, "body_encoding": "utf-8"}
        kind = {"content-type": "application/json", "content-encoding": "utf-8"}
        message = {"body": orjson.dumps(body).decode(), "headers": headers, "properties": properties, **kind}
        with self._redis() as redis:
            redis.lpush(self.chance.choice(OUR_QUEUES), orjson.dumps(message))

    # ----

    def _move(self, name: str, seconds: float) -> None:
        self.clocks[name].move(seconds)
        self.faults.undo(self.chance.choice(SPELLS), lambda: self.clocks[name].move(0))

    def _tell(self, order: Callable[[Redis], object]) -> None:
        with self._redis() as redis:
            order(redis)

    def _undo(self, order: Callable[[Redis], object]) -> None:
        """A Redis that was restarted meanwhile has forgotten the order, and may be away at the moment."""
        self.faults.undo(self.chance.choice(SPELLS), lambda: self._tell(order))

    @contextmanager
    def _redis(self) -> Iterator[Redis]:
        with contextlib.suppress(RedisError), Redis.from_url(self.stack.redis.url) as redis:
            yield redis
