"""The disruption budget of a pool, and what the API server makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from redis import Redis

from domain.kubernetes.names import PROTECTED
from domain.pod_pools.protection import budget_spec
from events.kube.api import Denied, Unavailable
from tests.fixtures.kube import Kube
from tests.integration.pod_pools.conftest import MakePool
from tests.support.faults.interposed_kube import InterposedKube, RecordedKube
from tests.support.jobs.slot_recount import faults
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.pods.protected_pods import HOURS, budget, budgets, busy, protected, writes_of
from tests.support.waiting import eventually

Json = dict[str, Any]


@pytest.fixture
def real_pool(redis: Redis, kube_real: Kube, crds_real: None) -> Iterator[PodPoolWorld]:
    """Three pods and cooldowns of an hour, on a server with Kubernetes' own disruption controller."""
    pool = PodPoolWorld(redis, kube_real.api, kube_real.namespace, minReplicas=3, maxReplicas=3, **HOURS)
    yield pool
    assert faults(pool.slots) == []


def compare_again(pool: PodPoolWorld) -> None:
    """Let the time pass after which a budget is compared again."""
    assert pool.redis.delete(f"{pool.slots.ledger.prefix}budget")


def evicted(kube: Kube, pod: str) -> int:
    """Ask the server to evict the pod; the status of its answer."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": kube.namespace}}
    try:
        kube.api.create(f"{kube.path('pods', pod)}/eviction", body)
    except Unavailable as refusal:
        return refusal.status
    return 201


@pytest.mark.row("KU-14")
def test_a_pool_that_protects_has_a_budget_of_its_own_and_asks_for_it_rarely(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.run()
    created = budget(pool)
    assert created is not None
    assert created["spec"] == budget_spec("runners")
    (owner,) = created["metadata"]["ownerReferences"]
    assert owner["uid"] == pool.api.get(f"{pool.path}/runners")["metadata"]["uid"]
    pool.settle()
    kube = RecordedKube(pool.api)
    pool.services = replace(pool.services, kube=kube)
    pool.run()
    pool.run()
    assert [request for request in kube.sent if "poddisruptionbudgets" in request] == []


@pytest.mark.row("KU-14")
@pytest.mark.parametrize("change", ["deleted", "weakened"])
def test_a_budget_that_somebody_changes_is_made_anew(make_pool: MakePool, change: str) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.run()
    if change == "deleted":
        pool.api.delete(budgets(pool, "runners-protected"))
    else:
        pool.api.patch(budgets(pool, "runners-protected"), {"spec": {"minAvailable": 1}})
    compare_again(pool)
    pool.run()
    made = budget(pool)
    assert made is not None
    assert made["spec"] == budget_spec("runners")


@pytest.mark.row("KU-14", "HO-07")
def test_a_key_of_another_type_in_its_place_costs_one_comparison(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.run()
    key = f"{pool.slots.ledger.prefix}budget"
    pool.redis.delete(key)
    pool.redis.sadd(key, "somebody else's")
    pool.run()
    assert pool.redis.type(key) == b"string"


@pytest.mark.row("KU-14")
def test_a_pool_that_is_told_not_to_protect_exposes_its_pods_and_has_no_budget(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1, **HOURS)
    pool.settle()
    pool.slots.submit("a")
    pool.settle(1)
    assert protected(pool) == busy(pool) == pool.names()
    pool.change(protectWhileBusy=False)
    pool.run()
    assert (protected(pool), budget(pool)) == (set(), None)
    assert writes_of(pool, runs=2) == []
    pool.change(protectWhileBusy=True)
    pool.run()
    assert protected(pool) == busy(pool) == pool.names()
    assert budget(pool) is not None


@pytest.mark.row("KU-14")
def test_a_budget_of_another_stays_and_people_are_told(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    other = {"minAvailable": 1, "selector": {"matchLabels": {"app": "theirs"}}}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "runners-protected"}}
    pool.api.create(budgets(pool), body | {"spec": other})
    pool.settle()
    pool.change(protectWhileBusy=False)
    pool.run()
    left = budget(pool)
    assert left is not None
    assert left["spec"] == other
    assert [event["reason"] for event in pool.events()].count("BudgetOfAnother") == 1


@pytest.mark.row("KU-14", "KU-15")
def test_where_no_budget_may_be_written_the_pool_works_and_says_so(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    whole = pool.services

    def refuse(_: str) -> None:
        raise Denied(403, "Forbidden", "no right to create poddisruptionbudgets")

    pool.services = replace(whole, kube=InterposedKube(pool.api, "POST", "poddisruptionbudgets", refuse, times=100))
    pool.settle()
    pool.slots.submit("a")
    pool.settle(1)
    assert pool.slots.state("a") == "running"
    assert protected(pool) == pool.names()
    refused = {entry["type"]: entry["status"] for entry in pool.status()["conditions"]}
    assert refused["WritesAccepted"] == "False"
    pool.services = whole
    pool.run()
    assert budget(pool) is not None


@pytest.mark.row("KU-14")
def test_the_api_server_evicts_idle_pods_and_no_pod_with_work(real_pool: PodPoolWorld, kube_real: Kube) -> None:
    """As Kubernetes' own disruption controller counts. More pods have work than the pool's scale says."""
    real_pool.settle()
    for job in ("a", "b"):
        real_pool.slots.submit(job, "apply")
    real_pool.settle(1)
    real_pool.change(minReplicas=1)
    working = busy(real_pool)
    (idle,) = real_pool.names() - working

    def healthy() -> int:
        found = budget(real_pool)
        status: Json = (found or {}).get("status") or {}
        return int(status.get("currentHealthy", -1))

    eventually(lambda: healthy() == len(working) == 2, 60)
    assert [evicted(kube_real, name) for name in sorted(working)] == [429, 429]
    assert evicted(kube_real, idle) == 201
    real_pool.finish_all()
    real_pool.change(minReplicas=3, scaling={"downCooldown": "0s"})
    real_pool.run()
    assert protected(real_pool) == set()
    assert [evicted(kube_real, name) for name in sorted(working)] == [201, 201]


@pytest.mark.row("KU-14")
def test_a_pod_is_not_evicted_from_the_moment_in_which_it_is_written(real_pool: PodPoolWorld, kube_real: Kube) -> None:
    """Whatever the disruption controller has counted by then: the budget never allows any."""
    real_pool.settle()
    names = real_pool.names()
    for name in names:
        kube_real.api.patch(kube_real.path("pods", name), {"metadata": {"labels": {PROTECTED: "true"}}})
        assert evicted(kube_real, name) == 429
    assert real_pool.names() == names
