"""What a pool leaves behind in Redis when it is gone with its namespace: nothing, once nobody may ask for its jobs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis

from berthmaster.routing import pod_claim_key
from domain.kubernetes.objects import Pod
from domain.outcome import Settled, Wait
from events.kube.api import KubeApi
from events.protocol.claim_index import concerned
from tests.fixtures.kube import Kube
from tests.integration.pod_pools.conftest import MakePool
from tests.support.claims.claim_shop import Shop
from tests.support.faults.interruption import Killed
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.pods.warm import woken


def left(redis: Redis) -> list[str]:
    """Keys of pools and claims that do not go by themselves."""
    return sorted(key.decode() for key in redis.scan_iter("{[sc]*") if redis.ttl(key) == -1)


def gone(pool: PodPoolWorld) -> None:
    """The pool is deleted, and its pods end."""
    pool.api.delete(f"{pool.path}/runners")
    for name in pool.names():
        pool.end(name)


@pytest.mark.row("SL-20")
def test_of_a_pool_without_jobs_nothing_is_left(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=3, maxIdle=1)
    pool.settle()
    assert left(pool.redis)
    gone(pool)
    assert pool.run() == Settled()
    assert left(pool.redis) == []


@pytest.mark.row("SL-17", "SL-20")
def test_jobs_of_a_pool_that_is_gone_are_kept_while_they_wait_or_are_remembered(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.slots.submit("done", "plan")
    pool.settle()
    pool.finish_all()
    pool.slots.submit("late", "plan")
    gone(pool)
    assert isinstance(pool.run(), Wait)
    assert (pool.slots.state("done"), pool.slots.state("late")) == ("done", "waiting")
    pool.slots.ledger.cancel("late")
    assert isinstance(pool.run(), Wait)
    grown_old(pool)
    assert pool.run() == Settled()
    assert left(pool.redis) == []


@pytest.mark.row("SD-34")
def test_the_time_limits_of_jobs_of_a_pool_that_is_gone_go_on(make_pool: MakePool) -> None:
    """Its runs are an hour apart: that is no pause in which nobody looked."""
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.slots.submit("late", "plan", queue_ms=600_000)
    gone(pool)
    assert isinstance(pool.run(), Wait)
    hour, prefix = 3_600_000, pool.slots.ledger.prefix
    pool.redis.hincrby(f"{prefix}meta", "swept", -hour)
    pool.redis.zincrby(f"{prefix}limits", -hour, "late")
    assert isinstance(pool.run(), Wait)
    ended = pool.slots.ledger.record("late")
    assert ended is not None
    assert ended.outcome == "timed_out"


def grown_old(pool: PodPoolWorld) -> None:
    """Its jobs ended long ago."""
    key = f"{pool.slots.ledger.prefix}ended"
    jobs: Any = pool.redis.zrange(key, 0, -1)
    for job in jobs:
        pool.redis.zincrby(key, -2 * pool.services.remember / timedelta(milliseconds=1), job)


def test_a_late_run_for_a_pool_that_is_gone_forgets_nothing_of_the_one_that_was_made_anew(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1)
    pool.run()
    before = pool.redis.hgetall(f"{pool.slots.ledger.prefix}meta")
    assert not pool.slots.ledger.forget("1-late")
    assert pool.redis.hgetall(f"{pool.slots.ledger.prefix}meta") == before


@pytest.mark.row("WC-45")
def test_of_claims_that_were_removed_by_force_with_their_namespace_nothing_is_left(
    redis: Redis, kube: Kube, crds: None
) -> None:
    """Nobody comes for them: a run that had lost its lease wrote of them last."""
    shop = Shop(redis, kube.api, kube.namespace)
    shop.claim("c0", ownerName="ann")
    shop.settle(2)
    shop.claim("c1", selector={"size": "big"})
    shop.settle(2)
    remove_by_force(shop, "c0", "c1")
    gone(shop.pool)
    assert shop.pool.run() == Settled()
    assert left(redis) == []


def remove_by_force(shop: Shop, *names: str) -> None:
    for name in names:
        path = f"/apis/berthmaster.dev/v1alpha1/namespaces/{shop.namespace}/podclaims/{name}"
        shop.api.patch(path, {"metadata": {"finalizers": None}})
        shop.delete(name)


@pytest.mark.row("WC-45")
def test_a_pool_mends_the_index_of_claims_that_were_removed_by_force_every_few_minutes(
    redis: Redis, kube: Kube, crds: None
) -> None:
    shop = Shop(redis, kube.api, kube.namespace)
    shop.claim("c0", ownerName="ann")
    shop.settle(3)
    shop.claim("stays")
    shop.claim("c1", selector={"size": "big"})
    shop.settle(3)
    pod = shop.held()["c0"]
    remove_by_force(shop, "c0", "c1")
    shop.pool.run()
    assert shop.pool.api.get(shop.pool.pod_path(pod))["metadata"]["labels"]["berthmaster.dev/phase"] == "Bound"
    redis.set(f"{{claims:{shop.namespace}}}checked", 0)
    shop.pool.run()
    assert shop.pool.api.get(shop.pool.pod_path(pod))["metadata"]["labels"]["berthmaster.dev/phase"] == "Draining"
    assert [name for name, _ in shop.services.index.all(shop.namespace)] == ["stays"]
    assert shop.services.waiting.all(shop.namespace) == ()
    assert shop.held().keys() == {"stays"}


class Late(KubeApi):
    """A worker that has read its claim when something `happens`, and that dies before it writes that claim."""

    def __init__(self, api: KubeApi, happens: Callable[[], object]) -> None:
        super().__init__(api.connection, api.timeout, api.agent)
        self._happens = [happens]

    def request(self, method: str, path: str, *args: Any, **options: Any) -> dict[str, Any]:
        if method == "PATCH" and "/podclaims/" in path:
            raise Killed
        answer = super().request(method, path, *args, **options)
        if "/podclaims/" in path and self._happens:
            self._happens.pop()()
        return answer


@pytest.mark.row("WC-45", "EV-09")
def test_what_a_run_without_lease_takes_for_a_claim_that_is_gone_comes_back(
    redis: Redis, kube: Kube, crds: None
) -> None:
    """It remembers the claim after the run that forgot it, binds a pod, and dies."""
    shop = Shop(redis, kube.api, kube.namespace, maxIdle=0)
    shop.claim("c0")
    shop.settle(1)
    shop.pool.run()
    shop.kubelet()
    shop.pool.run()  # there is a pod now, and the claim has not run since

    def others() -> None:
        shop.leases_end()
        remove_by_force(shop, "c0")
        shop.run("c0")

    with pytest.raises(Killed):
        shop.run("c0", Late(shop.api, others))
    shop.leases_end()
    shop.pool.run()
    assert shop.phases() == ["Bound"]
    assert shop.services.index.all(shop.namespace)
    redis.set(f"{{claims:{shop.namespace}}}checked", 0)
    shop.pool.run()
    assert shop.phases() == ["Draining"]
    assert shop.services.index.all(shop.namespace) == set()


def overwritten(redis: Redis, kube: Kube) -> tuple[Shop, str]:
    """A claim with its pod; a late run has remembered the one of its name before it, and nobody knows it by now."""
    shop = Shop(redis, kube.api, kube.namespace)
    shop.claim("c0", ownerName="ann")
    shop.settle(3)
    shop.services.index.remember(shop.namespace, "c0", "uid-of-one-before-it", [], "run")
    redis.delete("{queue}dirty")
    return shop, shop.held()["c0"]


@pytest.mark.row("WC-45", "WC-18")
def test_a_pool_wakes_a_claim_that_has_its_pod_and_that_nobody_remembers(redis: Redis, kube: Kube, crds: None) -> None:
    shop, pod = overwritten(redis, kube)
    shop.pool.run()
    assert woken(shop.pool) == {pod_claim_key(shop.namespace, "c0")}
    shop.run("c0")
    reply = shop.api.get(shop.pool.pod_path(pod))
    assert concerned(redis, [Pod(reply)]) == {pod_claim_key(shop.namespace, "c0")}


@pytest.mark.row("WC-45", "WC-18")
def test_a_claim_whose_pod_is_gone_and_that_nobody_remembers_is_woken_every_few_minutes(
    redis: Redis, kube: Kube, crds: None
) -> None:
    shop, pod = overwritten(redis, kube)
    shop.pool.end(pod)
    shop.pool.run()
    assert woken(shop.pool) == set()
    redis.set(f"{{claims:{shop.namespace}}}checked", 0)
    shop.pool.run()
    assert woken(shop.pool) == {pod_claim_key(shop.namespace, "c0")}
    shop.settle(3)
    assert shop.held()["c0"] != pod
