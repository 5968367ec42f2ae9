"""The rules after Redis is lost, on the real run of a pod pool and both Kubernetes servers."""

from __future__ import annotations

import pytest

from domain.kubernetes.names import OPENED
from tests.integration.pod_pools.conftest import MakePool
from tests.support.pods.meanwhile import AfterList, fill, live, meanwhile, standing_still, states
from tests.support.pods.pod_pool_world import PodPoolWorld


@pytest.mark.row("SL-05", "SL-13", "SD-18")
def test_a_deletion_from_before_the_loss_of_redis_conflicts(make_pool: MakePool) -> None:
    """Rule write: the fence is lost with Redis, the pod opens anew, and has a job when the old run goes on."""
    pool = make_pool(minReplicas=2, maxReplicas=2)
    pool.settle()
    pool.change(minReplicas=1)

    def others(_: str) -> None:
        pool.redis.flushall()
        pool.claim()
        pool.run()
        fill(pool)
        pool.kubelet_reports()
        pool.run()
        assert states(pool) == ["running", "running"]

    standing_still(pool, "DELETE", others)
    assert len(live(pool)) == 2
    assert states(pool) == ["running", "running"]


@pytest.mark.row("SL-13", "SL-11", "SL-29")
def test_a_run_that_listed_pods_before_the_loss_of_redis_does_not_end_the_verification(make_pool: MakePool) -> None:
    """Rule gate: the pod that it does not know runs a job, which nobody may place before that pod has reported."""
    pool = make_pool(minReplicas=1, maxReplicas=2)
    pool.settle()
    (old,) = pool.slots.runners.keys()

    def others(_: str) -> None:
        pool.change(minReplicas=2)
        for _round in range(4):
            pool.lease_ends()
            pool.run()
            pool.kubelet()
        assert pool.slots.ledger.quarantine(old)
        fill(pool, 1)
        assert states(pool, 1) == ["running"]
        pool.redis.flushall()
        pool.claim()

    meanwhile(pool, others, lambda happens: AfterList(pool.api, happens))
    pool.slots.submit("j0", "apply")
    for _ in range(2):
        pool.slots.beat(old)
    pool.slots.send(pool.slots.ledger.open(old) or ())
    pool.slots.deliver_all()
    assert [uid for uid, runner in pool.slots.runners.items() if runner.running] == [new(pool, old)]
    pool.settle()
    assert (states(pool, 1), pool.slots.record("j0").uid) == (["running"], new(pool, old))


def new(pool: PodPoolWorld, old: str) -> str:
    (uid,) = pool.slots.runners.keys() - {old}
    return uid


@pytest.mark.row("SL-13", "SL-29", "EV-10")
def test_a_pod_that_was_never_opened_keeps_no_job_waiting_after_a_loss_of_redis(make_pool: MakePool) -> None:
    """Nothing was placed there: its image may not be pulled, and it may never report."""
    pool = make_pool(minReplicas=1, maxReplicas=2)
    pool.settle()
    (old,) = pool.slots.runners.keys()
    pool.change(minReplicas=2)
    pool.run()
    assert len(live(pool)) == 2
    pool.redis.flushall()
    pool.claim()
    for _ in range(3):
        pool.run()
        pool.slots.beat(old)
    pool.slots.submit("j0", "apply")
    pool.slots.deliver_all()
    assert pool.slots.record("j0").uid == old


@pytest.mark.row("SL-13", "SL-29")
def test_a_pod_that_was_opened_once_is_waited_for_after_a_loss_of_redis(make_pool: MakePool) -> None:
    """Also where somebody took its annotation off: it has the label of a phase."""
    pool = make_pool(minReplicas=2, maxReplicas=2)
    pool.settle()
    reporting, silent = pool.slots.runners
    (name,) = (pod["metadata"]["name"] for pod in pool.pods() if pod["metadata"]["uid"] == silent)
    pool.api.patch(pool.pod_path(name), {"metadata": {"annotations": {OPENED: None}}})
    pool.redis.flushall()
    pool.claim()
    for _ in range(3):
        pool.run()
        pool.slots.beat(reporting)
    pool.slots.submit("j0", "apply")
    pool.slots.deliver_all()
    assert pool.slots.record("j0").uid == ""
