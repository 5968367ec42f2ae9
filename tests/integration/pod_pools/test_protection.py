"""Pods with work are protected from evictions and autoscalers, and idle ones are not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis

from domain.kubernetes.names import DO_NOT_DISRUPT, PROTECTED_BY, SAFE_TO_EVICT
from domain.pod_pools.protection import HONOURED
from events.protocol.pool_pod_changes import PoolPodChanges
from tests.fixtures.kube import Kube
from tests.integration.pod_pools.conftest import MakePool
from tests.support.claims.claim_shop import Shop
from tests.support.pods.pod_pool_world import TEMPLATE
from tests.support.pods.protected_pods import HOURS, busy, protected, writes_of
from workers.pod_pools.pod_cache import PodCache

Json = dict[str, Any]


@pytest.mark.row("KU-14")
def test_a_pod_is_written_once_for_any_number_of_jobs_that_follow_each_other(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=2, **HOURS)
    pool.settle()
    assert protected(pool) == set()
    pool.slots.submit("j0")
    pool.slots.deliver_all()
    (name,) = busy(pool)
    assert writes_of(pool) == [f"PATCH {pool.pod_path(name)}"]
    assert protected(pool) == {name}
    for number in range(1, 4):
        pool.finish_all()
        assert writes_of(pool, runs=2) == []
        pool.slots.submit(f"j{number}")
        pool.slots.deliver_all()
        assert writes_of(pool, runs=2) == []
    assert protected(pool) == {name}


@pytest.mark.row("KU-14")
def test_a_pod_without_work_is_exposed_by_one_write_after_the_cooldown(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1, **HOURS)
    pool.settle()
    pool.slots.submit("first")
    pool.settle(1)
    (name,) = protected(pool)
    pool.finish_all()
    pool.run()
    key, uid = f"{pool.slots.ledger.prefix}resting", pool.ledger_pods()[0].uid
    since: Any = pool.redis.hget(key, uid)
    assert since is not None
    pool.slots.submit("second")
    pool.slots.deliver_all()
    pool.run()
    assert pool.redis.hget(key, uid) is None, "it works again: the cooldown begins anew"
    pool.finish_all()
    pool.run()
    pool.redis.hset(key, uid, int(since) - 3_600_001)
    assert writes_of(pool, runs=2) == [f"PATCH {pool.pod_path(name)}"]
    assert protected(pool) == set()


@pytest.mark.row("KU-14")
def test_a_pod_rests_since_no_time_that_redis_has_not_reached(make_pool: MakePool) -> None:
    """Its clock went back: the pod would stay protected until it is as late again."""
    pool = make_pool(minReplicas=1, maxReplicas=1, **HOURS)
    pool.settle()
    pool.slots.submit("first")
    pool.settle(1)
    pool.finish_all()
    pool.run()
    key, uid = f"{pool.slots.ledger.prefix}resting", pool.ledger_pods()[0].uid
    since: Any = pool.redis.hget(key, uid)
    pool.redis.hset(key, uid, int(since) + 86_400_000)
    pool.run()
    again: Any = pool.redis.hget(key, uid)
    assert int(since) <= int(again) < int(since) + 86_400_000


@pytest.mark.row("KU-14")
def test_a_slot_that_is_reserved_for_a_person_is_work(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=2)
    pool.settle()
    pool.slots.submit("plan", "plan", "apply")
    pool.slots.deliver_all()
    pool.finish_all()
    assert pool.slots.state("plan") == "reserved"
    pool.settle()
    assert protected(pool) == busy(pool)
    assert len(busy(pool)) == 1


@pytest.mark.row("KU-14")
@pytest.mark.parametrize("list_every", [timedelta(0), timedelta(hours=1)])
def test_a_pod_keeps_the_annotations_of_its_template(make_pool: MakePool, list_every: timedelta) -> None:
    """Whether a run lists its pods or knows them."""
    template = {"metadata": {"annotations": {SAFE_TO_EVICT: "true"}}, **TEMPLATE}
    pool = make_pool(minReplicas=1, maxReplicas=1, template=template)
    pool.settle()
    pool.services = replace(pool.services, pod_cache=PodCache(PoolPodChanges(pool.redis), list_every))
    pool.run()
    pool.run()

    def notes() -> Json:
        (pod,) = pool.pods()
        return {key: value for key, value in pod["metadata"]["annotations"].items() if key in (*HONOURED, PROTECTED_BY)}

    pool.slots.submit("a")
    pool.settle(1)
    assert notes() == {SAFE_TO_EVICT: "true", DO_NOT_DISRUPT: "true", PROTECTED_BY: DO_NOT_DISRUPT}
    pool.finish_all()
    pool.settle(1)
    assert notes() == {SAFE_TO_EVICT: "true"}


@pytest.mark.row("KU-14")
@pytest.mark.parametrize("nonsense", ["soon", "-1", "9" * 40, "\x00"])
def test_a_record_of_rest_that_is_no_time_stops_nothing(make_pool: MakePool, nonsense: str) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1, **HOURS)
    pool.settle()
    pool.slots.submit("a")
    pool.settle(1)
    pool.finish_all()
    key, uid = f"{pool.slots.ledger.prefix}resting", pool.ledger_pods()[0].uid
    pool.redis.hset(key, uid, nonsense)
    pool.run()
    assert pool.redis.hget(key, uid).isdigit()  # type: ignore[union-attr]  # the client is synchronous
    assert len(protected(pool)) == 1


@pytest.mark.row("KU-14")
def test_a_claim_protects_its_pod_by_the_write_that_binds_it_and_the_end_of_its_drain_exposes_it(
    redis: Redis, kube: Kube, crds: None
) -> None:
    shop = Shop(redis, kube.api, kube.namespace, maxReplicas=1, **HOURS)
    shop.claim("c0")
    shop.settle(3)
    (pod,) = shop.held().values()
    assert protected(shop.pool) == {pod}
    assert writes_of(shop.pool, runs=2) == [], "the claim has done it"
    shop.delete("c0")
    shop.run("c0")
    assert protected(shop.pool) == {pod}, "its sessions end"
    shop.settle()
    assert protected(shop.pool) == set()
    assert shop.pool.names() == {pod}


@pytest.mark.row("KU-14")
def test_a_pod_that_a_claim_has_from_before_is_protected_by_its_pool(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.settle()
    (name,) = pool.names()
    labels = {"berthmaster.dev/phase": "Bound", "berthmaster.dev/claimed-by": "uid-claim"}
    pool.services.claims.remember(pool.namespace, "claim", "uid-claim", [], "run")
    pool.api.patch(pool.pod_path(name), {"metadata": {"labels": labels}})
    pool.run()
    pool.run()
    assert protected(pool) == {name}
