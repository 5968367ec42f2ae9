"""A pool that is deleted while it has jobs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from berthmaster.jobs.runner_ledger import NotVerified
from domain.kubernetes.names import POOL
from domain.outcome import Settled, Wait
from tests.integration.pod_pools.conftest import MakePool
from tests.integration.pod_pools.test_left_over import grown_old
from tests.support.faults.interposed_kube import RecordedKube
from tests.support.pods.meanwhile import keep_terminating, let_go
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.pods.warm import grow
from workers.pod_pools.deletion import RETRY_AFTER

WAITS = Wait(timedelta(hours=1), "jobs wait for the pool, or are remembered")


def with_jobs(make_pool: MakePool) -> PodPoolWorld:
    """One pod: `plan` is reserved on it, `work` runs, `late` waits."""
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.slots.submit("plan", "plan", "apply")
    pool.slots.submit("work", "plan")
    pool.settle()
    uid = pool.slots.record("plan").uid
    attempt = pool.slots.record("plan").attempt
    pool.slots.end(uid, attempt)
    pool.slots.tell(uid, attempt)
    pool.slots.submit("late", "apply")
    assert [pool.slots.state(job) for job in ("plan", "work", "late")] == ["reserved", "running", "waiting"]
    return pool


@pytest.mark.row("SL-17", "SL-20", "SL-22")
def test_jobs_of_a_deleted_pool_are_on_no_pod_that_is_not_there(make_pool: MakePool) -> None:
    pool = with_jobs(make_pool)
    (name,) = pool.names()
    pool.api.delete(f"{pool.path}/runners")
    pool.end(name)
    assert pool.run() == WAITS
    pool.slots.submit("new", "plan")
    assert pool.ledger_pods() == ()
    assert {job: pool.slots.state(job) for job in ("plan", "work", "late", "new")} == dict.fromkeys(
        ("plan", "work", "late", "new"), "waiting"
    )
    assert pool.forgotten == [name]


@pytest.mark.row("SL-20")
def test_the_pods_of_a_deleted_pool_take_no_job_while_they_end_and_are_looked_at_until_they_are_gone(
    make_pool: MakePool,
) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.settle()
    (pod,) = pool.pods()
    keep = {"metadata": {"finalizers": ["example.com/slow"], "ownerReferences": None}}
    pool.api.patch(pool.pod_path(pod["metadata"]["name"]), keep)
    pool.api.delete(f"{pool.path}/runners")
    assert isinstance(pool.run(), Wait)
    pool.slots.submit("new", "plan")
    assert pool.slots.state("new") == "waiting"
    pool.api.patch(pool.pod_path(pod["metadata"]["name"]), {"metadata": {"finalizers": None}})
    pool.end(pod["metadata"]["name"])
    assert pool.run() == WAITS


@pytest.mark.row("SL-20", "WC-50")
def test_a_deleted_pool_lists_its_pods_once_a_run_and_reads_those_alone_that_the_list_lacks(
    make_pool: MakePool,
) -> None:
    pool = make_pool(maxIdle=6, maxReplicas=6, slots=[])
    grow(pool)
    gone, unlabelled, *others = sorted(pool.names())
    for name in (unlabelled, *others):
        pool.api.patch(pool.pod_path(name), {"metadata": {"ownerReferences": None}})
    pool.api.patch(pool.pod_path(unlabelled), {"metadata": {"labels": {POOL: None}}})
    pool.api.delete(f"{pool.path}/runners")
    pool.end(gone)
    kube = RecordedKube(pool.api)
    pool.services = replace(pool.services, kube=kube, pod_writes=3)
    assert pool.run() == Wait(RETRY_AFTER, "5 pods of the pool are still there")
    asked = [request.partition("?")[0] for request in kube.sent if "/pods" in request]
    assert asked[0] == f"GET {pool.pod_path('')}".rstrip("/")
    assert sorted(asked[1:]) == sorted(f"GET {pool.pod_path(name)}" for name in (gone, unlabelled))
    assert {entry.view for entry in pool.ledger_pods()} == {"ending"}


@pytest.mark.row("SL-17")
def test_a_pool_that_is_made_again_runs_what_waited(make_pool: MakePool) -> None:
    pool = with_jobs(make_pool)
    (name,) = pool.names()
    spec = pool.api.get(f"{pool.path}/runners")
    pool.api.delete(f"{pool.path}/runners")
    pool.end(name)
    pool.run()
    again = {key: spec[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "runners"}}
    pool.api.create(pool.path, again)
    pool.settle()
    assert sorted(pool.slots.state(job) for job in ("plan", "work", "late")) == ["running", "running", "waiting"]


def restarted(pool: PodPoolWorld) -> None:
    """Redis has its data, and is another."""
    pool.redis.hset(f"{pool.slots.ledger.prefix}meta", mapping={"inc": "another", "seen": "another"})


@pytest.mark.row("SL-13", "SL-16", "SL-20")
def test_a_job_of_a_deleted_pool_can_be_cancelled_and_forgotten_after_a_restart_of_redis(make_pool: MakePool) -> None:
    pool = with_jobs(make_pool)
    (name,) = pool.names()
    pool.api.delete(f"{pool.path}/runners")
    pool.end(name)
    restarted(pool)
    assert pool.run() == WAITS
    for job in ("plan", "work", "late"):
        pool.slots.ledger.cancel(job)
        assert pool.slots.state(job) == "done"
    grown_old(pool)
    assert pool.run() == Settled()


@pytest.mark.row("SL-13", "SL-20")
def test_nothing_is_granted_for_a_deleted_pool_after_a_restart_of_redis_while_it_has_pods(make_pool: MakePool) -> None:
    """Their runners may report yet."""
    pool = with_jobs(make_pool)
    (name,) = pool.names()
    keep_terminating(pool, name)
    pool.api.delete(f"{pool.path}/runners")
    restarted(pool)
    assert isinstance(pool.run(), Wait)
    with pytest.raises(NotVerified):
        pool.slots.ledger.cancel("work")
    let_go(pool, name)
    pool.end(name)
    assert pool.run() == WAITS
    pool.slots.ledger.cancel("work")
    assert pool.slots.state("work") == "done"
