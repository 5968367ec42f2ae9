"""A small fleet in Redis, as the pages of Flower show it: the real ledgers, without workers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
from redis import Redis

from berthmaster.events import STREAM_FIELD
from berthmaster.routing import EVENTS_STREAM
from domain.pod_pools.decision import Decision
from domain.pod_pools.signals import PodTotals, PoolSignals
from domain.ports.entry import EntryState
from tests.support.jobs.slot_world import SlotWorld
from tests.support.ports.builders import active_pool, load_balancer, pool_spec
from tests.support.ports.live_pool import LivePool
from workers.pod_pools.decision_log import record
from workers.scale_up.pool_config import PoolConfig
from workers.stores.claims.index import ClaimIndex
from workers.stores.claims.shown import record_of
from workers.stores.pool_names import PodPoolNames, PoolNames

PORTS = 20
POOL = "ci/runners"


class ShownFleet:
    """Port pool `arena` with two load balancers of 20 ports, pod pool `ci/runners`, and some claims."""

    def __init__(self, redis: Redis) -> None:
        self.redis = redis
        self.ports = self.port_pool("arena", 2)
        self.jobs = SlotWorld(redis, POOL)
        PodPoolNames(redis).add(POOL)
        self.claims = ClaimIndex(redis)
        self.claim("games/one", "Bound")

    def port_pool(self, name: str, lbs: int, ports: int = PORTS) -> LivePool:
        spec = pool_spec(end_port=30000 + ports - 1)
        pool = active_pool(self.redis, name, lbs=[], size=ports)
        balancers = [load_balancer(n, name=f"{name}-lb-{n}", capacity=ports) for n in range(lbs)]
        pool.configure(balancers, config=PoolConfig(f"uid-of-{name}", 1, spec).encoded())
        PoolNames(self.redis).add(name)
        return pool

    def bind(self, owner: str, ports: int = 1) -> None:
        """Allocate ports to a pod, and record that they are bound."""
        entries = self.ports.allocate(owner, ports)
        bound = [replace(entry, state=EntryState.BOUND, target="10.0.0.1:7777") for entry in entries]
        self.ports.run(owner).record(entries[0].uid, bound)

    def decide(self, reason: str, size: int, change: int = 0) -> None:
        """Record a decision about the pod pool."""
        record(self.jobs.ledger, Decision(change, reason), size, PoolSignals(PodTotals(open=size)), [None])

    def claim(self, name: str, phase: str, claim_set: str = "", **status: Any) -> None:
        """Record the status of a claim (namespace/name), as its run does."""
        record = record_of({"phase": phase, **status}, claim_set)
        namespace, _, short = name.partition("/")
        assert self.claims.shows(namespace, short, f"uid-of-{short}", record, "run-1", None)

    def event(self, kind: str, subject: str, message: str = "") -> None:
        """Append an event to the stream."""
        document: dict[str, Any] = {
            "specversion": "1.0",
            "id": f"{kind}-{subject}",
            "source": "/berthmaster/worker",
            "type": f"dev.berthmaster.{kind}",
            "subject": subject,
            "time": "2026-01-01T00:00:00Z",
            "datacontenttype": "application/json",
            "data": {"key": subject, "message": message},
        }
        self.redis.xadd(EVENTS_STREAM, {STREAM_FIELD: orjson.dumps(document)})
