"""Schedules and freezes of a pool, on both Kubernetes servers: the clock is the API server's, and the test sets it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from domain.outcome import Settled, Wait
from tests.integration.pod_pools.conftest import MakePool
from tests.support.claims.claimant import Claimant
from tests.support.pods.meanwhile import live
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.pods.scheduled_pool import HOUR, ScheduledPool
from tests.support.pods.warm import cool, grow, offered, stands, waits
from workers.cli.job_words import inputs
from workers.cli.jobs import steps
from workers.pod_pools.decision_log import latest_decision
from workers.pod_pools.explain import dry_run

OLD = "999h"
"""No pod is too old, whatever the clock says."""
SECOND = timedelta(seconds=1)
NEWER: dict[str, Any] = {"spec": {"containers": [{"name": "runner", "image": "runner:2"}]}}


def scheduled(make_pool: MakePool, **spec: Any) -> ScheduledPool:
    return ScheduledPool(make_pool(**{"slots": [], "readyTimeout": OLD, "drainTimeout": OLD} | spec))


def shrink(pool: PodPoolWorld, rounds: int = 6) -> None:
    """Let the pool become as small as it can be."""
    for _ in range(rounds):
        cool(pool)
        grow(pool)


@pytest.mark.row("SD-36")
@pytest.mark.parametrize("field", ["minReplicas", "maxIdle"])
def test_a_pool_grows_when_a_schedule_begins_and_shrinks_when_it_has_ended(make_pool: MakePool, field: str) -> None:
    world, effects = scheduled(make_pool, **{field: 1}), dict[str, Any]({field: 4})
    pool = world.pool
    pool.change(schedules=[world.schedule(**effects)])
    grow(pool)
    assert len(live(pool)) == 1
    world.go_to(world.start - SECOND)
    assert pool.run() == Wait(SECOND, "a schedule begins or ends"), "nobody asks again and again"
    assert len(live(pool)) == 1

    world.go_to(world.start)
    assert pool.run() == Wait(HOUR, "a schedule begins or ends")
    assert len(live(pool)) == pool.status()["desiredReplicas"] == 4, "in one run, and without a cooldown"
    grow(pool)
    shrink(pool)
    assert len(live(pool)) == 4

    world.go_to(world.start + HOUR)
    cool(pool)
    pool.run()
    assert len(live(pool)) == 3, "by one step after each cooldown, as always"
    shrink(pool)
    assert len(live(pool)) == 1


@pytest.mark.row("SD-36")
def test_a_pool_says_which_schedule_is_in_effect_and_which_comes_next(make_pool: MakePool) -> None:
    world = scheduled(make_pool)
    pool = world.pool
    assert pool.run() == Settled()
    assert world.condition() is None
    pool.change(schedules=[world.schedule(minReplicas=2), world.schedule("night", freeze=True, duration="3h")])
    pool.run()
    start, end = (f"{time:%Y-%m-%d %H:%M} UTC" for time in (world.start, world.start + HOUR))
    coming = f"next: schedule office from {start}: minReplicas 2"
    assert world.condition() == {"status": "True", "reason": "NotInEffect", "message": coming}
    world.go_to(world.start)
    pool.run()
    condition = world.condition()
    assert condition
    assert condition["reason"] == "InEffect"
    assert condition["message"].startswith(f"schedule office until {end}: minReplicas 2; schedule night until ")
    assert pool.status()["reason"].endswith(condition["message"])
    version = pool.api.get(f"{pool.path}/runners")["metadata"]["resourceVersion"]
    world.go_to(world.start + HOUR / 2)
    grow(pool)
    pool.run()
    settled = pool.api.get(f"{pool.path}/runners")["metadata"]["resourceVersion"]
    world.go_to(world.start + HOUR - SECOND)
    pool.run()
    assert version != settled == pool.api.get(f"{pool.path}/runners")["metadata"]["resourceVersion"]
    reasons = [event["reason"] for event in pool.events() if event["reason"].startswith("Schedules")]
    assert sorted(reasons) == ["SchedulesInEffect", "SchedulesNotInEffect"]


@pytest.mark.row("SD-36")
def test_no_schedule_asks_for_more_pods_than_the_maximum(make_pool: MakePool) -> None:
    world = scheduled(make_pool, maxReplicas=3)
    world.pool.change(schedules=[world.schedule(minReplicas=9), world.schedule("warm", maxIdle=9)])
    world.go_to(world.start)
    grow(world.pool)
    assert len(live(world.pool)) == 3
    assert world.pool.status()["conditions"][0]["type"] == "Valid"


@pytest.mark.row("SD-23")
def test_a_freeze_keeps_idle_pods_and_what_they_were_made_from(make_pool: MakePool) -> None:
    world = scheduled(make_pool, maxIdle=3, maxReplicas=3)
    pool = world.pool
    pool.change(schedules=[world.schedule("release", freeze=True)])
    grow(pool)
    before = live(pool)
    world.go_to(world.start)
    pool.change(maxIdle=1)
    shrink(pool)
    assert live(pool) == before
    assert pool.status()["reason"].startswith("3 idle pods, 2 too many, which the freeze keeps; schedule release until")
    pool.change(template=NEWER)
    shrink(pool)
    assert live(pool) == before
    words = "0 pods are warm or booting, maxIdle is 1; at most 3 pods, 3 exist; schedule release until"
    assert pool.status()["reason"].startswith(words)
    pool.change(maxReplicas=2)
    shrink(pool)
    assert live(pool) == before

    world.go_to(world.start + HOUR)
    shrink(pool)
    assert len(live(pool)) == 1
    assert not live(pool) & before


@pytest.mark.row("SD-23")
def test_a_freeze_replaces_pods_that_are_of_no_use(make_pool: MakePool) -> None:
    world = scheduled(make_pool, maxIdle=3)
    pool = world.pool
    pool.change(schedules=[world.schedule("release", freeze=True)])
    grow(pool)
    world.go_to(world.start)
    gone, failed, _ = sorted(live(pool))
    pool.end(gone)
    pool.api.patch(f"{pool.pod_path(failed)}/status", {"status": {"phase": "Failed"}})
    grow(pool)
    assert stands(pool) == {"open": 3, "idle": 3}
    assert not {gone, failed} & live(pool)


@pytest.mark.row("SD-23")
def test_in_a_freeze_claims_get_pods_and_give_them_back(make_pool: MakePool) -> None:
    world = scheduled(make_pool, maxIdle=1, maxReplicas=4, recycle="delete", drainTimeout="0s", minDrain="0s")
    pool = world.pool
    pool.change(schedules=[world.schedule("release", freeze=True)])
    grow(pool)
    world.go_to(world.start)
    claimant = Claimant(pool)
    assert claimant.take()
    grow(pool)
    assert stands(pool) == {"open": 1, "idle": 1, "claimed": 1}
    assert claimant.give_back()
    for _ in range(3):
        world.go_to(world.clock.time + SECOND)
        grow(pool)
    assert claimant.pod not in live(pool), "it is no idle pod"


@pytest.mark.row("SD-23")
def test_claims_find_warm_pods_also_where_the_template_changes_in_a_freeze(make_pool: MakePool) -> None:
    world = scheduled(make_pool, maxIdle=2, maxReplicas=5)
    pool = world.pool
    pool.change(schedules=[world.schedule("release", freeze=True)])
    grow(pool)
    before = live(pool)
    world.go_to(world.start)
    pool.change(template=NEWER)
    grow(pool)
    assert before < live(pool)
    assert len(live(pool)) == 4
    assert set(offered(pool)) == live(pool) - before, "claims take pods of the present template only"
    waits(pool, "claim-1")
    waits(pool, "claim-2")
    grow(pool)
    assert before < live(pool)
    assert len(live(pool)) == 4, "there are two for them"


@pytest.mark.row("SD-23")
def test_a_claim_gets_a_pod_beside_outdated_ones_that_a_freeze_keeps(make_pool: MakePool) -> None:
    """It takes none of them, so that they are no reason to create none."""
    world = scheduled(make_pool, maxReplicas=5)
    pool = world.pool
    pool.change(minReplicas=2, schedules=[world.schedule("release", freeze=True)])
    grow(pool)
    before = live(pool)
    world.go_to(world.start)
    pool.change(minReplicas=0, template=NEWER)
    grow(pool)
    assert (live(pool), offered(pool)) == (before, [])
    waits(pool, "claim-1")
    grow(pool)
    assert before < live(pool)
    assert len(live(pool)) == 3
    assert set(offered(pool)) == live(pool) - before


@pytest.mark.row("SD-37")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cron": "0 25 * * *"}, "spec.schedules[1].cron: 0 25 * * * is no cron expression: Bad hour"),
        ({"timeZone": "Europe/Berlim"}, "spec.schedules[1].timeZone: no time zone is called Europe/Berlim"),
    ],
)
def test_a_schedule_that_cannot_be_read_removes_nothing_and_stops_nothing(
    make_pool: MakePool, changes: dict[str, str], words: str
) -> None:
    world = scheduled(make_pool, maxIdle=2)
    pool = world.pool
    grow(pool)
    before = live(pool)
    pool.change(maxIdle=1, schedules=[world.schedule(minReplicas=1), world.schedule("b", maxIdle=9) | changes])
    shrink(pool)
    assert live(pool) == before
    condition = world.condition()
    assert condition
    assert (condition["status"], condition["reason"]) == ("False", "Invalid")
    assert condition["message"] == f"{words}. Until then no idle pod is removed or replaced"
    assert "SchedulesInvalid" in {event["reason"] for event in pool.events() if event["type"] == "Warning"}
    pool.change(maxIdle=4)
    grow(pool)
    assert len(live(pool)) == 4
    pool.change(maxIdle=1, schedules=[world.schedule(minReplicas=1)])
    shrink(pool)
    assert len(live(pool)) == 1


@pytest.mark.row("SD-36")
def test_runners_stay_for_a_schedule_and_keep_their_jobs_when_it_ends(make_pool: MakePool) -> None:
    """The same for slots: the pool for jobs."""
    world = ScheduledPool(make_pool(minReplicas=1, readyTimeout=OLD))
    pool = world.pool
    pool.change(schedules=[world.schedule(minReplicas=3)])
    world.go_to(world.start)
    pool.settle()
    assert len(live(pool)) == 3
    pool.slots.submit("j", "apply")
    pool.slots.deliver_all()
    (busy,) = (pod.name for pod in pool.ledger_pods() if pod.busy)
    world.go_to(world.start + HOUR)
    for _ in range(6):
        cool(pool)
        pool.settle(1)
    assert live(pool) == {busy}


@pytest.mark.row("SD-36", "SD-23")
def test_explain_names_the_schedules_and_what_they_keep(make_pool: MakePool) -> None:
    world = scheduled(make_pool, maxIdle=2, maxReplicas=2)
    pool = world.pool
    pool.change(
        schedules=[world.schedule("release", freeze=True), world.schedule("day", minReplicas=2, cron="0 0 29 2 *")]
    )
    grow(pool)
    world.go_to(world.start)
    pool.change(template=NEWER, maxIdle=1)
    plan = dry_run(pool.services, f"{pool.namespace}/runners")
    assert plan
    assert (plan.steps, plan.create, plan.remove) == ((), 0, ())
    now, later = plan.schedules
    assert now == f"schedule release until {world.start + HOUR:%Y-%m-%d %H:%M} UTC: freeze"
    assert later.startswith("schedule day from 20")
    assert list(steps(plan))[-4:-2] == [f"schedules: {line}" for line in plan.schedules]
    pool.run()
    decision = latest_decision(pool.slots.ledger)
    assert decision
    assert f"schedules: {now}; {later}" in inputs(decision.inputs)
