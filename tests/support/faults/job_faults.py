"""What goes wrong in a storm of jobs: runners die, messages are lost and doubled, the pool shrinks and is renewed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any
from uuid import uuid4

import orjson
from redis import Redis

from berthmaster.routing import QUEUES
from events.kube.api import KubeApi
from tests.support.faults.storm_faults import Faults
from tests.support.jobs.runner_nodes import Node, RunnerNodes

OURS = sorted(set(QUEUES.values()))
REVISIONS = 3


class JobFaults:
    """`common` kills and restarts our own processes. `forgotten(attempts)` is told what no runner will ever tell."""

    def __init__(
        self, common: Faults, nodes: RunnerNodes, redis: Redis, pool: tuple[KubeApi, str, int],
        forgotten: Callable[[Iterable[str]], None],
    ) -> None:  # fmt: skip
        self.common, self.nodes, self.redis, self._forgotten = common, nodes, redis, forgotten
        self._api, self._path, self._most = pool
        self.chance: Random = common.chance

    # ---- runners

    def kill_node(self) -> None:
        """All its containers start again."""
        self._kill(self._node(), ())

    def lose_pods(self) -> None:
        """A part of a node's pods is evicted after it died."""
        node = self._node()
        self._kill(node, self.chance.sample(sorted(node.pods), -(-len(node.pods) // 3)))

    def _node(self) -> Node:
        return self.chance.choice(self.nodes.nodes)

    def _kill(self, node: Node, lost: Iterable[str]) -> None:
        if node.process:
            self._forgotten(self.nodes.kill(node, lost))
            self.common.undo(self.chance.choice([0.0, 1.0, 3.0]), lambda: self.nodes.launch(node))

    # ---- messages

    def lose_messages(self) -> None:
        for key in self._queues():
            self.redis.rpop(key)

    def double_messages(self) -> None:
        """Under another tag, as a broker delivers a message again."""
        for key in self._queues():
            for text in self._first(key):
                message = orjson.loads(text)
                message["properties"]["delivery_tag"] = str(uuid4())
                self.redis.lpush(key, orjson.dumps(message))

    def send_all_again(self) -> None:
        """As if every placed job had waited for long."""
        key = f"{{sp:{self.nodes.pool}}}sent"
        found: Any = self.redis.zrange(key, 0, -1)
        if found:
            self.redis.zadd(key, dict.fromkeys(found, 0), xx=True)

    def _queues(self) -> list[str]:
        found: Any = self.redis.keys("berthmaster.runner.*")
        full = [key.decode() for key in found]
        return [*self.chance.sample(sorted(full), min(3, len(full))), self.chance.choice(OURS)]

    def _first(self, key: str) -> list[bytes]:
        if self.redis.type(key) != b"list":
            return []
        found: Any = self.redis.lrange(key, 0, 0)
        return list(found)

    # ---- the pool

    def shrink(self) -> None:
        self._change(minReplicas=0, maxReplicas=max(1, self._most // self.chance.choice([2, 4])))
        self.common.undo(self.chance.choice([3.0, 6.0]), self.grow)

    def grow(self) -> None:
        self._change(minReplicas=self._most, maxReplicas=self._most)

    def shrink_to_one(self) -> None:
        self._change(minReplicas=0, maxReplicas=1)

    def renew(self) -> None:
        """Another template: every pod is replaced as soon as it is idle."""
        image = f"runner:{self.chance.randrange(REVISIONS)}"
        self._change(template={"spec": {"containers": [{"name": "runner", "image": image}]}})

    def _change(self, **spec: Any) -> None:
        self._api.patch(self._path, {"spec": spec})
