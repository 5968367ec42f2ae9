"""The rules of pods that close and open: the shortest history that breaks each, forced on the real run of a pool.

On both Kubernetes servers. A run stands still right before a request, others do their work, and it goes on.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from berthmaster.jobs.job import JobRecord
from domain.kubernetes.objects import Pod
from events.kube.api import Denied
from tests.integration.pod_pools.conftest import MakePool
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.faults.interruption import Killed
from tests.support.pods.meanwhile import PODS, fill, keep_terminating, let_go, live, pod_of, standing_still, states
from tests.support.pods.pod_pool_world import PodPoolWorld
from workers.kube.pool_pods import PoolPods


def two_pods_of_which_one_goes(make_pool: MakePool) -> PodPoolWorld:
    pool = make_pool(minReplicas=2, maxReplicas=2)
    pool.settle()
    pool.change(minReplicas=1)
    return pool


@pytest.mark.row("SL-05", "SD-18", "SD-01")
def test_a_pod_that_was_opened_again_is_not_deleted_by_who_had_fenced_it(make_pool: MakePool) -> None:
    """Rules rv, bump: the fence was taken over, the pod written and opened, and has a job."""
    pool = two_pods_of_which_one_goes(make_pool)

    def others(_: str) -> None:
        fill(pool)
        pool.run()
        assert states(pool) == ["running", "running"]

    standing_still(pool, "DELETE", others)
    assert len(live(pool)) == 2
    assert states(pool) == ["running", "running"]


@pytest.mark.row("SL-05", "SD-18")
def test_a_deletion_that_conflicts_asks_for_its_fence_again(make_pool: MakePool) -> None:
    """Rule order: live read, fence, deletion, each time. The pod was taken over and written, and is not open yet."""
    pool = two_pods_of_which_one_goes(make_pool)

    def others(name: str) -> None:
        pod = pod_of(pool, name)
        uid = pod["metadata"]["uid"]
        (entry,) = (p for p in pool.ledger_pods() if p.uid == uid)
        assert entry.view == "fenced"
        assert pool.slots.ledger.take_over(uid, entry.token, "sweep")
        assert PoolPods(pool.api, pool.namespace, "runners", {}).write(Pod(pod), "sweep")

    standing_still(pool, "DELETE", others)
    assert len(live(pool)) == 2
    (closed,) = (p for p in pool.ledger_pods() if p.view == "fenced")
    pool.slots.send(pool.slots.ledger.open(closed.uid, "sweep") or ())
    fill(pool)
    assert states(pool) == ["running", "running"]


@pytest.mark.row("SL-05", "SD-18")
def test_a_pod_that_got_a_job_between_the_look_and_the_fence_stays(make_pool: MakePool) -> None:
    """Field bug karpenter#3185: the pod was idle when it was read."""
    pool = two_pods_of_which_one_goes(make_pool)
    standing_still(pool, "GET", lambda _: fill(pool))
    assert len(live(pool)) == 2
    assert states(pool) == ["running", "running"]


@pytest.mark.row("SD-01", "SD-03", "SD-06", "SL-29")
def test_two_runs_that_each_remove_a_pod_leave_the_minimum(make_pool: MakePool) -> None:
    """Rule floor: each saw two pods, and another one of them is fenced by each."""
    pool = two_pods_of_which_one_goes(make_pool)

    def others(name: str) -> None:
        (other,) = (p for p in pool.ledger_pods() if p.name != name)
        assert pool.slots.ledger.fence(other.uid, "another run", 1) is None

    standing_still(pool, "GET", others)
    assert len(live(pool)) == 2
    assert pool.views() == ["fenced", "open"]


@pytest.mark.row("SD-18", "SL-18", "SL-28")
def test_a_fence_whose_run_died_is_lifted(make_pool: MakePool) -> None:
    """Rule lift: nobody else would ever open the pod again."""
    pool = two_pods_of_which_one_goes(make_pool)

    def die(_: str) -> None:
        raise Killed

    whole = pool.services
    pool.services = replace(whole, kube=InterposedKube(pool.api, "DELETE", PODS, die))
    with pytest.raises(Killed):
        pool.run()
    pool.services = whole
    assert pool.views() == ["fenced", "open"]
    fill(pool)
    assert sorted(states(pool)) == ["running", "waiting"]
    pool.lease_ends()
    pool.run()
    assert states(pool) == ["running", "running"]
    assert pool.views() == ["open", "open"]


def denied(_: str) -> None:
    raise Denied(403, "Forbidden", "pods may not be deleted here")


@pytest.mark.row("SD-18", "SD-20", "SL-28", "SL-18")
def test_a_pool_whose_pods_cannot_be_deleted_still_does_its_jobs(make_pool: MakePool) -> None:
    """Rule lift: every deletion is refused, by a webhook or for want of a right."""
    pool = two_pods_of_which_one_goes(make_pool)
    pool.services = replace(pool.services, kube=InterposedKube(pool.api, "DELETE", PODS, denied, times=1000))
    for _ in range(3):
        pool.run()
    assert len(live(pool)) == 2
    fill(pool)
    pool.run()
    assert states(pool) == ["running", "running"]
    assert pool.views() == ["open", "open"]


@pytest.mark.row("SL-28", "SL-18", "SL-21")
def test_a_pod_that_cannot_be_removed_does_not_keep_the_pool_from_growing(make_pool: MakePool) -> None:
    """Rule lift: of pods that are of no use any more."""
    pool = make_pool(maxReplicas=2)
    pool.slots.submit("j0")
    pool.settle()
    (name,) = pool.names()
    pool.api.patch(f"{pool.pod_path(name)}/status", {"status": {"phase": "Failed"}})
    pool.services = replace(pool.services, kube=InterposedKube(pool.api, "DELETE", PODS, denied, times=1000))
    pool.run()
    pool.slots.submit("j1")
    pool.run()
    assert len(pool.pods()) == 2
    pool.kubelet()
    pool.run()
    assert pool.slots.state("j1") == "placed"


@pytest.mark.row("SL-05", "SL-20", "SD-18")
@pytest.mark.parametrize("when", ["before the list", "after the list"])
def test_a_pod_that_terminates_is_not_opened_by_the_report_of_its_runner(make_pool: MakePool, when: str) -> None:
    """Rule register: it has reported, and goes."""
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.run()
    (name,) = pool.names()
    keep_terminating(pool, name)
    pool.kubelet()
    pool.slots.submit("j")
    if when == "before the list":
        pool.api.delete(pool.pod_path(name))
        pool.run()
    else:
        standing_still(pool, "PATCH", lambda _: pool.api.delete(pool.pod_path(name)))
    pool.kubelet_reports()
    pool.run()
    assert "deletionTimestamp" in pod_of(pool, name)["metadata"]
    assert pool.views() != ["open"]
    assert pool.slots.state("j") == "waiting"
    let_go(pool, name)


def with_a_running_job(pool: PodPoolWorld) -> tuple[JobRecord, str]:
    """The job j, as it was placed, and the name of its pod."""
    pool.settle()
    placed = pool.slots.submit("j", "plan")
    pool.slots.deliver_all()
    (name,) = (p["metadata"]["name"] for p in pool.pods() if p["metadata"]["uid"] == placed.uid)
    return placed, name


@pytest.mark.row("SL-22", "SL-11", "SL-21")
def test_the_jobs_of_a_silent_runner_are_placed_when_its_pod_is_gone_and_not_before(make_pool: MakePool) -> None:
    """Rule gone: the runner may only be cut off, and go on. Field bug ARC#3821: requeued once."""
    pool = make_pool(minReplicas=2, maxReplicas=3)
    first, name = with_a_running_job(pool)
    keep_terminating(pool, name)
    pool.fall_silent(first.uid)
    for _ in range(3):
        pool.run()
        pool.kubelet_reports()
        pool.slots.deliver_all()
    assert "deletionTimestamp" in pod_of(pool, name)["metadata"]
    assert (pool.slots.record("j").uid, pool.slots.state("j")) == (first.uid, "running")
    let_go(pool, name)
    pool.end(name)
    for _ in range(3):
        pool.run()
        pool.slots.deliver_all()
    second = pool.slots.record("j")
    assert (second.state, second.uid not in ("", first.uid)) == ("running", True)
    assert sum("j" in pod.slots for pod in pool.ledger_pods()) == 1


@pytest.mark.row("SL-22", "HO-07")
def test_a_pod_that_goes_after_its_record_was_lost_loses_its_jobs(make_pool: MakePool) -> None:
    """Rule onpods: no runner reports the pod any more, and the ledger has it no more."""
    pool = make_pool(minReplicas=2, maxReplicas=3)
    first, name = with_a_running_job(pool)
    pool.slots.redis.hdel(f"{pool.slots.ledger.prefix}pods", first.uid)
    pool.end(name)
    for _ in range(3):
        pool.run()
        pool.slots.deliver_all()
    second = pool.slots.record("j")
    assert (second.state, second.uid not in ("", first.uid)) == ("running", True)
