"""What a pool takes for demand, and what it makes of wrong or missing numbers: with the real ledger as its sensor."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from redis.exceptions import TimeoutError as RedisTimeoutError

from berthmaster.jobs.job import slot_class
from berthmaster.jobs.slot_ledger import SlotLedger
from events.kube.api import KubeApi, Unavailable
from tests.integration.pod_pools.conftest import MakePool
from tests.support.pods.pod_pool_world import PodPoolWorld
from workers.cli.job_words import explain_job, reason
from workers.pod_pools.decision_log import latest_decision


def ticks(pool: PodPoolWorld, count: int = 5) -> int:
    """So many, of which each may act at once; the pods there are then."""
    for _ in range(count):
        pool.run()
        pool.kubelet()
        pool.slots.deliver_all()
    return len(pool.pods())


@pytest.mark.row("SD-11")
def test_ten_jobs_behind_one_key_let_no_pool_grow(make_pool: MakePool) -> None:
    """One of them runs in the only slot that takes them, and the others could start in no further one."""
    pool = make_pool(minReplicas=1, maxReplicas=5)
    pool.settle()
    for n in range(10):
        pool.slots.submit(f"j{n}", "apply", serial_key="w")
    assert ticks(pool) == 1
    kept = latest_decision(pool.slots.ledger)
    assert kept
    assert kept.inputs["waiting"] == {}


@pytest.mark.row("SD-11", "SL-24")
def test_a_job_whose_key_is_free_again_is_demand(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=5)
    pool.settle()
    for n in range(3):
        pool.slots.submit(f"j{n}", "apply", serial_key="w")
    pool.slots.deliver_all()
    for n in range(3):
        assert pool.slots.state(f"j{n}") == "running"
        pool.finish_all()
        pool.slots.deliver_all()
    assert [pool.slots.record(f"j{n}").outcome for n in range(3)] == ["succeeded"] * 3


def loses(pool: PodPoolWorld, uid: str, plan: str) -> None:
    """The container of a runner restarts without its spool: its next report does not list the plan."""
    runner = pool.slots.runners[uid]
    pool.slots.beat(uid)
    job, phase, _ = runner.held.pop(plan)
    del runner.ended[plan]
    pool.slots.excused.add(f"{job} {phase}")
    pool.slots.beat(uid)


@pytest.mark.row("SD-08")
@pytest.mark.parametrize(("most", "pods"), [(1, 1), (2, 2), (4, 3)])
@pytest.mark.parametrize("taken", [False, True], ids=["a slot fits", "no slot fits"])
def test_a_confirmed_job_that_loses_its_slot_adds_one_step_of_pods_unless_another_slot_fits(
    make_pool: MakePool, most: int, pods: int, taken: bool
) -> None:
    """A confirmed job keeps its slot until its runner has lost the plan. A more urgent job may get the slot then."""
    scaling = {"upCooldown": "0s", "downCooldown": "0s", "upAbove": 1, "step": 2}
    pool = make_pool(minReplicas=1, maxReplicas=most, slots=[{}, {}, {"accepts": ["plan"]}], scaling=scaling)
    pool.layout = (slot_class([]), slot_class([]), slot_class(["plan"]))
    pool.settle()
    (uid,) = pool.slots.runners
    plan = pool.slots.planned("deploy", uid, serial_key="w", priority=5)
    pool.slots.submit("holder", "apply", serial_key="w")
    pool.slots.deliver_all()
    assert pool.slots.confirm("deploy", plan)
    assert pool.slots.state("deploy") == "confirmed"
    if taken:
        pool.slots.submit("urgent", "build", priority=0)
    loses(pool, uid, plan)
    assert pool.slots.state("deploy") == ("waiting" if taken else "placed")
    assert pool.slots.record("deploy").phase == "plan"
    pool.run()
    kept = latest_decision(pool.slots.ledger)
    assert kept
    assert kept.inputs["waiting"] == ({"apply,plan": 1} if taken else {})
    assert len(pool.pods()) == (pods if taken else 1)
    assert not taken or kept.reason.startswith("1 waiting without a fitting slot")


@pytest.mark.row("SD-30")
@pytest.mark.parametrize(("kinds", "have"), [(["plan"], "slots take plan"), ([], "its pods have no slots")])
def test_a_job_that_no_slot_takes_lets_no_pool_grow_and_keeps_no_pod(
    make_pool: MakePool, kinds: list[str], have: str
) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=4, slots=[{"accepts": [kind]} for kind in kinds])
    pool.layout = tuple(slot_class([kind]) for kind in kinds)
    pool.settle()
    pool.slots.submit("j", "deploy")
    assert ticks(pool) == 1
    told = explain_job(pool.slots.ledger, "j")
    assert told
    assert reason(told) == f"no slot of the pool takes deploy: {have}; cancel it, or change the pool"
    pool.change(minReplicas=0)
    assert ticks(pool) == 0
    assert pool.status()["reason"].endswith("; 1 job waits that no slot takes: deploy")
    assert (pool.status()["desiredReplicas"], pool.status()["waiting"]) == (0, 1)
    pool.change(slots=[{}])
    pool.layout = (slot_class([]),)
    ticks(pool)
    assert pool.slots.state("j") == "running"


@pytest.mark.row("SD-30", "SD-25")
def test_a_pod_of_an_older_revision_still_takes_what_no_new_pod_does(make_pool: MakePool) -> None:
    quick = {"upCooldown": "0s", "downCooldown": "0s", "upAbove": 1}
    pool = make_pool(minReplicas=1, maxReplicas=4, slots=[{}], scaling=quick)
    pool.layout = (slot_class([]),)
    pool.settle()
    pool.slots.submit("first", "plan")
    pool.slots.deliver_all()
    pool.slots.submit("second", "deploy")
    pool.change(slots=[{"accepts": ["plan"]}])
    assert ticks(pool) == 1
    told = explain_job(pool.slots.ledger, "second")
    assert told
    assert reason(told) == "waits for a slot that takes deploy: 0 before it, 0 slots idle"
    pool.finish_all()
    pool.slots.deliver_all()
    assert pool.slots.state("second") == "running"


@pytest.mark.row("SD-13")
def test_a_job_that_waits_for_a_person_is_no_demand_beyond_its_slot(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=5)
    pool.settle()
    pool.slots.submit("j", "plan", "apply")
    pool.slots.deliver_all()
    pool.finish_all()
    assert pool.slots.state("j") == "reserved"
    assert ticks(pool) == 1
    kept = latest_decision(pool.slots.ledger)
    assert kept
    assert (kept.change, kept.reason) == (0, "1 slot reserved")


@pytest.mark.row("SD-12", "SD-14")
def test_jobs_that_wait_are_counted_by_kind_and_keep_the_pods(make_pool: MakePool) -> None:
    """A build fits no slot but the first: the plan slots are idle and no use to it."""
    pool = make_pool(minReplicas=1, maxReplicas=2)
    pool.settle()
    for n in range(3):
        pool.slots.submit(f"b{n}", "build")
    pool.run()
    kept = latest_decision(pool.slots.ledger)
    assert kept
    assert (kept.change, kept.inputs["waiting"]) == (1, {"build": 2})
    assert ticks(pool) == 2
    pool.change(minReplicas=0)
    assert ticks(pool) == 2
    assert pool.slots.count("used") == 2


@pytest.mark.row("SD-12", "SL-31")
def test_demand_is_counted_from_slots_and_jobs_each_time(make_pool: MakePool) -> None:
    """Field bug ARC#4397: a counter that is off by 15, and then wiped, changes nothing."""
    pool = make_pool(minReplicas=2, maxReplicas=5)
    pool.settle()
    pool.change(minReplicas=1)
    meta = f"{pool.slots.ledger.prefix}meta"
    for name in ("used", "reserved", "waiting"):
        pool.redis.hincrby(meta, name, 15)
    assert ticks(pool) == 1
    pool.redis.hdel(meta, "used", "reserved", "waiting")
    pool.slots.submit("j")
    assert ticks(pool) == 1
    assert pool.slots.state("j") == "running"


class Failing(KubeApi):
    """Request number `at` is not answered; `after`: it was done before."""

    def __init__(self, api: KubeApi, at: int, after: bool) -> None:
        super().__init__(api.connection, api.timeout, api.agent)
        self.at, self.after, self.asked = at, after, 0

    def request(self, *args: Any, **options: Any) -> dict[str, Any]:
        number, self.asked = self.asked, self.asked + 1
        if number != self.at:
            return super().request(*args, **options)
        if self.after:
            super().request(*args, **options)
        raise Unavailable(500, "InternalError", "etcd: request timed out")


@pytest.mark.row("SD-20", "SL-05", "SL-28")
@pytest.mark.parametrize("after", [False, True], ids=["not done", "done"])
def test_whichever_call_of_kubernetes_fails_no_pod_with_work_goes_and_the_pool_recovers(
    make_pool: MakePool, after: bool
) -> None:
    """Field bug agones#4162: nothing is scaled by what could not be read, and no restart is needed."""
    pool = make_pool(minReplicas=3, maxReplicas=3)
    pool.settle()
    pool.slots.submit("j", "apply")
    pool.slots.deliver_all()
    uid = pool.slots.record("j").uid
    whole = pool.services
    for at in range(12):
        pool.change(minReplicas=at % 3)
        pool.services = replace(whole, kube=Failing(pool.api, at, after))
        pool.run()
        pool.services = whole
        pool.lease_ends()
        pool.kubelet()
        assert uid in {pod["metadata"]["uid"] for pod in pool.pods() if "deletionTimestamp" not in pod["metadata"]}
    pool.change(minReplicas=2)
    assert ticks(pool) >= 2
    assert set(pool.views()) == {"open"}
    assert (pool.slots.state("j"), pool.slots.record("j").uid) == ("running", uid)


class Unheard(SlotLedger):
    """The answer of script number `at` is lost."""

    def __init__(self, pool: PodPoolWorld, at: int) -> None:
        super().__init__(pool.redis, pool.slots.scripts, pool.slots.ledger.pool)
        self._left = at

    def call(self, script: str, *args: Any) -> list[Any]:
        answer = super().call(script, *args)
        self._left -= 1
        if self._left == -1:
            raise RedisTimeoutError("no answer")
        return answer


def _given(ledger: SlotLedger, pool: str) -> SlotLedger:
    assert pool == ledger.pool
    return ledger


@pytest.mark.row("SD-20", "SL-28")
def test_a_redis_that_does_not_answer_in_the_middle_of_a_run_closes_nothing_for_good(make_pool: MakePool) -> None:
    """Each script of the ledger in turn is done, and its answer lost."""
    pool = make_pool(minReplicas=2, maxReplicas=4)
    pool.settle()
    pool.slots.submit("j", "apply")
    pool.slots.deliver_all()
    whole = pool.services
    for at in range(10):
        pool.change(minReplicas=1 + at % 2, maxReplicas=3 + at % 2)
        unheard = Unheard(pool, at)
        pool.services = replace(whole, ledger=partial(_given, unheard))
        pool.run()
        pool.services = whole
        pool.lease_ends()
        pool.kubelet()
        assert pool.slots.state("j") == "running"
    pool.change(minReplicas=2)
    assert ticks(pool) >= 2
    assert set(pool.views()) == {"open"}
