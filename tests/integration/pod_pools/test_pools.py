"""A pod pool follows its jobs and its pods: on both Kubernetes servers, a real Redis and the real scripts."""

from __future__ import annotations

from datetime import timedelta

import orjson
import pytest

from berthmaster.errors import StaleToken
from berthmaster.jobs.job import PoolLimits
from berthmaster.jobs.records import job_fields
from berthmaster.jobs.slot_ledger import NoSpecError
from berthmaster.jobs.submission import Submission
from tests.integration.pod_pools.conftest import MakePool
from tests.support.jobs.slot_world import Runner
from tests.support.pods.pod_pool_world import PodPoolWorld
from workers.pod_pools.decision_log import latest_decision


@pytest.mark.row("SD-07", "SL-18")
def test_a_job_starts_a_pool_from_zero_and_runs(make_pool: MakePool) -> None:
    pool = make_pool()
    pool.run()
    assert pool.pods() == []
    pool.slots.submit("j")
    pool.run()
    assert len(pool.pods()) == 1
    pool.settle()
    assert pool.slots.state("j") == "running"


@pytest.mark.row("SL-19")
def test_submissions_learn_from_the_pools_run_how_long_a_reservation_lasts(make_pool: MakePool) -> None:
    pool = make_pool()
    submission = Submission(id="j", pool=pool.slots.ledger.pool, task="work")
    with pytest.raises(NoSpecError):
        pool.slots.ledger.submit(submission.job())
    pool.run()
    assert hold_of(pool, "a") == timedelta(hours=24)
    pool.change(reservationTTL="90m")
    pool.run()
    assert hold_of(pool, "b") == timedelta(minutes=90)
    with pytest.raises(StaleToken):
        pool.slots.ledger.resize("1-late", None, 0, 9, 1, PoolLimits(timedelta(hours=1)))
    assert hold_of(pool, "c") == timedelta(minutes=90)
    pool.api.delete(f"{pool.path}/runners")
    pool.run()
    with pytest.raises(NoSpecError):
        pool.slots.ledger.submit(submission.job())


@pytest.mark.row("SD-34")
def test_submissions_learn_from_the_pools_run_how_long_jobs_may_wait_and_run(make_pool: MakePool) -> None:
    pool = make_pool(queueTimeout="10m", runTimeout="2h")
    pool.run()
    hold_of(pool, "a")
    pool.change(queueTimeout=None)
    pool.run()
    hold_of(pool, "b")
    limits = {job: (record.queue_ms, record.run_ms) for job in ("a", "b") if (record := pool.slots.record(job))}
    assert limits == {"a": (600_000, 7_200_000), "b": (None, 7_200_000)}


def hold_of(pool: PodPoolWorld, job: str) -> timedelta:
    """How long a reservation of the job lasts, which is submitted now."""
    pool.slots.ledger.submit(Submission(id=job, pool=pool.slots.ledger.pool, task="work").job())
    return timedelta(milliseconds=job_fields(orjson.dumps(pool.slots.stored("jobs")[job]))["hold_ms"])


@pytest.mark.row("SL-12")
def test_a_run_of_the_pool_leaves_a_fresh_assignment_alone(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.settle()
    placed = pool.slots.submit("j")
    pool.run()
    pool.kubelet()
    pool.run()
    assert pool.slots.record("j") == placed
    assert pool.slots.count("used") == 1


@pytest.mark.row("SD-15")
def test_pods_that_boot_are_not_created_again(make_pool: MakePool) -> None:
    pool = make_pool()
    for n in range(3):
        pool.slots.submit(f"j{n}")
    for _ in range(5):
        pool.run()
    assert len(pool.pods()) == 1


@pytest.mark.row("SD-06", "SD-04")
def test_a_pool_grows_to_its_maximum_and_back_to_its_minimum(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=3)
    for n in range(30):
        pool.slots.submit(f"j{n}")
    pool.settle(8)
    assert (len(pool.pods()), pool.slots.count("used")) == (3, 9)
    while pool.slots.count("used"):
        pool.finish_all()
        pool.slots.deliver_all()
    pool.settle(12)
    assert len(pool.pods()) == 1
    assert pool.views() == ["open"]


@pytest.mark.row("SD-04", "SD-01")
def test_a_pool_that_grows_keeps_the_idle_pods_that_it_has(make_pool: MakePool) -> None:
    """Their runners were told of other slots than the pool has now."""
    pool = make_pool(minReplicas=3, maxReplicas=9, slots=[{"accepts": ["apply"]}])
    pool.run()
    for meta in (pod["metadata"] for pod in pool.pods()):
        pool.slots.runners[meta["uid"]] = Runner(meta["uid"], (",plan,",), pod=meta["name"])
    pool.settle()
    before = pool.names()
    pool.change(minReplicas=0)
    pool.slots.submit("j", "apply")  # which none of their slots takes
    pool.run()
    live = {pod["metadata"]["name"] for pod in pool.pods() if "deletionTimestamp" not in pod["metadata"]}
    assert (len(live), live & before) == (4, before)


@pytest.mark.row("SD-01", "SD-02", "SL-05")
def test_no_pod_with_a_job_or_a_reservation_is_deleted(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=3, maxReplicas=3)
    pool.settle()
    pool.slots.submit("runs")
    pool.slots.submit("held", "plan", "apply")
    pool.slots.deliver_all()
    used = {pod.name for pod in pool.ledger_pods() if pod.busy}
    pool.change(minReplicas=0, maxReplicas=1)
    pool.settle(6)
    assert used <= pool.names()
    assert len(pool.pods()) == len(used)


@pytest.mark.row("SD-01", "SD-03", "SL-05")
def test_of_five_pods_only_the_idle_ones_go_and_the_rest_when_they_are_idle(make_pool: MakePool) -> None:
    """Field bug keda#2900: one slot in three is busy, and the pool shall have one pod."""
    pool = make_pool(minReplicas=5, maxReplicas=5)
    pool.settle()
    for n in range(2):
        pool.slots.submit(f"j{n}", "apply")
    pool.slots.deliver_all()
    busy = {pod.name for pod in pool.ledger_pods() if pod.busy}
    pool.change(minReplicas=0, maxReplicas=1)
    pool.settle(6)
    assert pool.names() == busy
    assert len(busy) == 2
    assert (pool.status()["replicas"], pool.status()["desiredReplicas"]) == (2, 1)
    pool.finish_all()
    pool.settle(6)
    assert len(pool.names()) <= 1


@pytest.mark.row("SL-22", "SL-21")
def test_a_pod_that_is_gone_gives_its_job_to_another(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=2)
    pool.settle()
    pool.slots.submit("j")
    pool.slots.deliver_all()
    (busy,) = [pod for pod in pool.pods() if pod["metadata"]["uid"] == pool.slots.record("j").uid]
    pool.end(busy["metadata"]["name"])
    pool.settle()
    assert pool.slots.state("j") == "running"
    assert pool.slots.record("j").uid != busy["metadata"]["uid"]
    assert len(pool.pods()) == 2
    assert pool.forgotten == [busy["metadata"]["name"]]


@pytest.mark.row("SL-20")
def test_a_pod_that_is_not_ready_gets_no_new_job_and_comes_back(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.settle()
    (pod,) = pool.pods()
    pool.ready(pod["metadata"]["name"], "False")
    pool.run()
    assert pool.slots.submit("j").state == "waiting"
    pool.ready(pod["metadata"]["name"], "True")
    pool.run()
    assert pool.slots.state("j") == "placed"


@pytest.mark.row("SL-20", "SL-22")
def test_a_runner_that_is_silent_for_long_is_replaced_and_its_job_runs_elsewhere(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1)
    pool.settle()
    pool.slots.submit("j")
    pool.slots.deliver_all()
    (uid,) = pool.slots.runners
    pool.fall_silent(uid)
    pool.run()
    assert all("deletionTimestamp" in p["metadata"] for p in pool.pods() if p["metadata"]["uid"] == uid)
    pool.settle()
    assert pool.slots.record("j").uid not in ("", uid)
    messages = [e["message"] for e in pool.events() if e["reason"] == "PodRemoved"]
    assert [": its runner is silent for " in message for message in messages] == [True]


@pytest.mark.row("SD-25", "SL-05")
def test_a_new_template_replaces_idle_pods_at_once_and_busy_ones_when_they_are_free(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=4)
    pool.settle()
    old = pool.names()
    pool.slots.submit("j")
    pool.slots.deliver_all()
    containers = [{"name": "runner", "image": "runner:2"}]
    pool.change(template={"spec": {"containers": containers}})
    pool.settle()
    assert len(pool.names() & old) == 1
    assert pool.slots.state("j") == "running"
    pool.finish_all()
    pool.settle()
    assert pool.names() & old == set()
    assert {pod["spec"]["containers"][0]["image"] for pod in pool.pods()} == {"runner:2"}


@pytest.mark.row("SD-20", "SL-13", "SD-18")
def test_a_flushed_redis_deletes_nothing_and_goes_on(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=5)
    pool.settle()
    pool.slots.submit("j")
    pool.slots.submit("held", "plan", "apply")
    pool.slots.deliver_all()
    before = pool.names()
    pool.redis.flushall()
    pool.claim()
    pool.run()
    assert pool.names() == before
    pool.settle()
    assert pool.names() >= before
    assert pool.slots.state("j") == "running"


@pytest.mark.row("SL-30")
def test_pods_have_names_of_their_own(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=40, maxReplicas=40)
    pool.run()
    assert len(pool.names()) == 40


@pytest.mark.row("SD-29")
def test_a_decision_is_kept_with_what_it_was_made_from_and_a_change_is_told(make_pool: MakePool) -> None:
    pool = make_pool(maxReplicas=1)
    pool.slots.submit("j")
    pool.run()
    kept = latest_decision(pool.slots.ledger)
    assert kept
    assert (kept.change, kept.reason, kept.size) == (1, "no pods and 1 waiting", 1)
    assert kept.inputs["waiting"] == {"plan": 1}
    assert [(e["reason"], e["message"]) for e in pool.events()] == [("ScaledUp", "to 1 pod: no pods and 1 waiting")]
    pool.settle()
    kept = latest_decision(pool.slots.ledger)
    assert kept
    assert (kept.change, kept.reason) == (0, "1 slot in use")


@pytest.mark.row("SD-29", "SL-31")
def test_the_status_says_what_there_is_and_why(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1)
    pool.settle()
    pool.slots.submit("j")
    pool.slots.deliver_all()
    pool.run()
    status = pool.status()
    assert (status["replicas"], status["readyReplicas"], status["desiredReplicas"]) == (1, 1, 1)
    assert status["slots"] == {"total": 3, "used": 1, "reserved": 0, "idle": 2}
    assert status["reason"] == "1 slot in use"
