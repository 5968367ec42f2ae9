"""A pool of warm pods without runners: time passes, claims wait, and what is warm."""

from __future__ import annotations

from typing import Any

from tests.support.pods.meanwhile import live
from tests.support.pods.pod_pool_world import PodPoolWorld
from workers.stores.claims.waiting import WaitingClaim
from workers.stores.slots.claimable import page


def grow(pool: PodPoolWorld) -> None:
    """Until nothing more comes of it: every pod becomes ready, those that end are gone."""
    for _ in range(4):
        pool.run()
        for pod in pool.pods():
            name = pod["metadata"]["name"]
            if "deletionTimestamp" in pod["metadata"]:
                pool.end(name)
            else:
                pool.ready(name, "True")
    pool.run()


def cool(pool: PodPoolWorld) -> None:
    """Its cooldowns are over."""
    pool.redis.hdel(f"{pool.slots.ledger.prefix}meta", "up", "down")


def waits(world: PodPoolWorld, uid: str, since: str = "2026-01-01", **fields: Any) -> None:
    """A claim, called by its UID, is nominated to the pool unless said otherwise."""
    claim = WaitingClaim(uid, uid, since, **{"pool": "runners"} | fields)
    world.services.waiting.put(world.namespace, claim)


def offered(pool: PodPoolWorld) -> list[str]:
    return [pod.name for pod in page(pool.slots.ledger, "", 0, 50)]


def stands(pool: PodPoolWorld) -> dict[str, int]:
    """Pods of its status, those that are none left out."""
    assert len(live(pool)) <= pool.status()["replicas"]
    return {name: count for name, count in pool.status()["pods"].items() if count}


def woken(pool: PodPoolWorld) -> set[str]:
    """Keys of claims that somebody touched."""
    keys: Any = pool.redis.hkeys("{queue}dirty")
    return {key.decode() for key in keys if key.startswith(b"podclaim/")}
