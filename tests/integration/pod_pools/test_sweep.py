"""What time brings to all pod pools: one that is broken does not keep the others waiting."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from prometheus_client import REGISTRY
from redis import Redis

from berthmaster.errors import StaleToken
from berthmaster.routing import EVENTS_STREAM
from tests.integration.pod_pools.conftest import MakePool
from tests.support.ready_keys import ready_keys
from workers.settings import WorkerSettings
from workers.tasks.pod_pools import sweep_pools, touch_pools
from workers.wiring.process import Services


def far_in_the_future(redis: Redis, outbox: str) -> None:
    redis.xadd(outbox, {"job": "x", "phases": "plan"}, id="9999999999999999-0")


def no_stream(redis: Redis, outbox: str) -> None:
    redis.set(outbox, "no stream")


def no_events(redis: Redis, outbox: str) -> None:
    redis.xadd(outbox, {"job": "x", "phases": "plan"})
    redis.set(EVENTS_STREAM, "no stream")


@pytest.mark.row("EV-32")
@pytest.mark.parametrize("work", [sweep_pools, touch_pools])
def test_a_tick_of_pools_is_kept_before_each(redis_url: str, redis: Redis, work: Callable[..., None]) -> None:
    """Rule tick-kept."""
    settings = WorkerSettings.model_validate(
        {"cluster": "test", "redis": {"url": redis_url}, "kubernetes": {"server": "http://127.0.0.1:1"}}
    )
    redis.sadd("berthmaster:podpools", "a/one", "a/other")
    parts, kept = Services(settings), list[timedelta]()

    def keep(at_least: timedelta) -> None:
        kept.append(at_least)
        if len(kept) == 2:
            raise StaleToken("another worker has acquired the tick")

    with pytest.raises(StaleToken):
        work(parts, keep)
    assert len(ready_keys(redis)) == 1


@pytest.mark.row("SD-21", "SL-19", "SL-28", "EV-31", "SD-34")
@pytest.mark.parametrize("harm", [far_in_the_future, no_stream, no_events])
def test_a_broken_pool_or_outbox_does_not_stop_the_sweep(
    make_pool: MakePool, redis: Redis, redis_url: str, harm: Callable[[Redis, str], None]
) -> None:
    pool = make_pool(minReplicas=1)
    pool.settle()
    pool.slots.submit("j", "plan", "apply", hold_ms=0)
    pool.slots.deliver_all()
    pool.finish_all()
    pool.slots.submit("late", "apply", queue_ms=0)
    redis.sadd("berthmaster:podpools", "a/broken", "z/broken")
    for name in ("a/broken", "z/broken"):
        redis.hset(f"{{sp:{name}}}meta", "inc", pool.inc())
        redis.set(f"{{sp:{name}}}due", "not a sorted set")
    harm(redis, f"{pool.slots.ledger.prefix}outbox")
    settings = WorkerSettings.model_validate(
        {"cluster": "test", "redis": {"url": redis_url}, "kubernetes": {"server": pool.url}}
    )
    sweep_pools(Services(settings))
    assert [pool.slots.record(job).outcome for job in ("j", "late")] == ["expired", "timed_out"]
    labels = {limit: {"pool": pool.slots.ledger.pool, "limit": limit} for limit in ("reservation", "queue")}
    assert all(REGISTRY.get_sample_value("berthmaster_jobs_over_time_total", names) for names in labels.values())
