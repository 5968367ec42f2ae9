"""Helpers for a pool of warm pods without runners: growth, cooldowns, waiting claims and wakes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.claims.pod_request import PodRequest
from tests.support.pods.meanwhile import live
from tests.support.pods.pod_pool_world import PodPoolWorld
from workers.stores.claims.waiting import WaitingClaim
from workers.stores.slots.claimable import page


def grow(pool: PodPoolWorld) -> None:
    """Run the pool until it is settled. Every pod becomes ready, and terminating pods go."""
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
    """End the cooldowns of the pool."""
    pool.redis.hdel(f"{pool.slots.ledger.prefix}meta", "up", "down")


def waits(
    world: PodPoolWorld,
    uid: str,
    since: str = "2026-01-01",
    pool: str | None = "runners",
    selector: Mapping[str, str] | None = None,
) -> None:
    """Let a claim wait, whose name is its UID: nominated to this pool, and content with a pod of any pool."""
    claim = WaitingClaim(uid, uid, since, pool, PodRequest(selector=selector or {}))
    world.services.waiting.put(world.namespace, claim)


def offered(pool: PodPoolWorld) -> list[str]:
    return [pod.name for pod in page(pool.slots.ledger, "", 0, 50)]


def stands(pool: PodPoolWorld) -> dict[str, int]:
    """The pods of the status by category, without zeros."""
    assert len(live(pool)) <= pool.status()["replicas"]
    return {name: count for name, count in pool.status()["pods"].items() if count}


def woken(pool: PodPoolWorld) -> set[str]:
    """Keys of the claims that were woken."""
    keys: Any = pool.redis.hkeys("{queue}dirty")
    return {key.decode() for key in keys if key.startswith(b"podclaim/")}
