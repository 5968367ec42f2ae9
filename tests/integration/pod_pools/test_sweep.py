"""What time brings to all pod pools: one that is broken does not keep the others waiting."""

from __future__ import annotations

import pytest
from redis import Redis

from tests.integration.pod_pools.conftest import MakePool
from workers.settings import WorkerSettings
from workers.tasks.pod_pools import sweep_pools
from workers.wiring.process import Services


@pytest.mark.row("SD-21", "SL-19", "SL-28")
def test_a_broken_pool_does_not_stop_the_others(make_pool: MakePool, redis: Redis, redis_url: str) -> None:
    pool = make_pool(minReplicas=1)
    pool.settle()
    pool.slots.submit("j", "plan", "apply", hold_ms=0)
    pool.slots.deliver_all()
    pool.finish_all()
    redis.sadd("berthmaster:podpools", "a/broken", "z/broken")
    for name in ("a/broken", "z/broken"):
        redis.hset(f"{{sp:{name}}}meta", "inc", pool.inc())
        redis.set(f"{{sp:{name}}}due", "not a sorted set")
    settings = WorkerSettings.model_validate(
        {"cluster": "test", "redis": {"url": redis_url}, "kubernetes": {"server": pool.url}}
    )
    sweep_pools(Services(settings))
    assert pool.slots.record("j").outcome == "expired"
