"""Pods that claims give back: drained before anybody else has them, on both Kubernetes servers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.kubernetes.names import DRAIN, GIVEN_BACK, PHASE, SESSIONS
from domain.outcome import Wait
from tests.integration.pod_pools.conftest import MakePool
from tests.support.claims.claimant import Claimant
from tests.support.pods.meanwhile import fill, live, standing_still, states
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.pods.warm import grow, offered
from workers.pod_pools.explain import dry_run

LONG_AGO = 3600.0


def given_back(make_pool: MakePool, ago: float = 20, **spec: Any) -> Claimant:
    """A pool of one pod, which a claim had until `ago` seconds ago."""
    pool = make_pool(**{"maxIdle": 1, "maxReplicas": 1, "slots": []} | spec)
    grow(pool)
    claimant = Claimant(pool)
    assert claimant.take()
    grow(pool)
    assert claimant.give_back(ago=ago)
    return claimant


def notes(claimant: Claimant) -> dict[str, str]:
    annotations: dict[str, str] = claimant.look()["metadata"].get("annotations") or {}
    return annotations


def answers(claimant: Claimant, sessions: int, drain: str = "drain-1") -> None:
    """What the workload says."""
    patch = {"metadata": {"annotations": {SESSIONS: f"{sessions} {drain}"}}}
    claimant.pool.api.patch(claimant.pool.pod_path(claimant.pod), patch)


def stage(claimant: Claimant) -> str:
    return str(claimant.labels[PHASE])


@pytest.mark.row("WC-21", "WC-02")
def test_a_pod_without_sessions_is_warm_again_after_its_drain(make_pool: MakePool) -> None:
    claimant = given_back(make_pool, ago=0)
    pool = claimant.pool
    outcome = pool.run()
    assert isinstance(outcome, Wait)
    assert timedelta(0) < outcome.for_ <= timedelta(seconds=15)
    assert (DRAIN in notes(claimant), pool.views()) == (False, ["claimed"]), "not before minDrain is over"
    claimant.look()
    assert claimant.give_back(ago=20)
    outcome = pool.run()
    assert isinstance(outcome, Wait)
    assert outcome.for_ > timedelta(minutes=4)
    assert notes(claimant)[DRAIN] == "drain-1"
    answers(claimant, 2)
    pool.run()
    assert (stage(claimant), offered(pool)) == ("Draining", [])
    answers(claimant, 0)
    pool.run()
    assert (stage(claimant), offered(pool), live(pool)) == ("Idle", [claimant.pod], {claimant.pod})
    assert not {DRAIN, GIVEN_BACK, SESSIONS} & notes(claimant).keys()
    assert Claimant(pool, "claim-2").take()


@pytest.mark.row("WC-21")
def test_a_dry_run_says_what_becomes_of_a_drain_and_does_nothing(make_pool: MakePool) -> None:
    claimant = given_back(make_pool)
    pool = claimant.pool
    said = []
    for sessions in (None, 2, 0):
        if sessions is not None:
            answers(claimant, sessions)
        plan = dry_run(pool.services, f"{pool.namespace}/runners")
        assert plan
        said += [words for _, words in plan.steps]
        pool.run()
    assert said == ["drains: is asked, 0 sessions", "drains: waits, 2 sessions", "drains: is warm again, 0 sessions"]


@pytest.mark.row("WC-23", "WC-22")
@pytest.mark.parametrize("answer", ["", "none", "0", "-1 drain-1", "0 drain-0", "1 drain-1"])
def test_what_was_not_measured_for_this_drain_is_not_idle(make_pool: MakePool, answer: str) -> None:
    """Rule ask: when the time is over the pod is replaced."""
    claimant = given_back(make_pool, drainTimeout="1m")
    pool = claimant.pool
    pool.run()
    claimant.look()
    assert claimant.write({}, {SESSIONS: answer or None})
    for _ in range(3):
        pool.run()
    assert (stage(claimant), pool.views()) == ("Draining", ["claimed"])
    claimant.look()
    claimant.write({}, {GIVEN_BACK: f"drain-1 {(datetime.now(UTC) - timedelta(minutes=2)).isoformat()}"})
    pool.run()
    assert stage(claimant) == "Terminating"
    grow(pool)
    assert claimant.pod not in live(pool)
    assert len(offered(pool)) == 1


@pytest.mark.row("WC-21", "WC-23")
def test_an_answer_from_before_the_question_does_not_count(make_pool: MakePool) -> None:
    """Rule settle: sessions that were just opened are counted only after minDrain, and once."""
    claimant = given_back(make_pool, ago=0)
    answers(claimant, 0)
    claimant.pool.run()
    claimant.pool.run()
    assert stage(claimant) == "Draining"


@pytest.mark.row("WC-24", "WC-26")
def test_a_pod_that_has_started_anew_during_its_drain_is_never_handed_out(make_pool: MakePool) -> None:
    """Whatever its report says: it is of a process that is gone."""
    claimant = given_back(make_pool)
    pool = claimant.pool
    pool.run()
    answers(claimant, 3)
    status = pool.api.get(pool.pod_path(claimant.pod))["status"]
    started = {"running": {"startedAt": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}}
    container = {
        "name": "runner",
        "state": started,
        "ready": True,
        "restartCount": 1,
        "image": "i",
        "imageID": "i",
    }
    pool.api.patch(f"{pool.pod_path(claimant.pod)}/status", {"status": status | {"containerStatuses": [container]}})
    pool.run()
    assert stage(claimant) == "Terminating"
    pool.run()
    assert claimant.pod not in live(pool)


@pytest.mark.row("WC-26")
@pytest.mark.parametrize("why", ["recycle", "outdated", "not ready"])
def test_a_pod_that_nobody_shall_have_again_is_replaced(make_pool: MakePool, why: str) -> None:
    spec: dict[str, Any] = {"recycle": "delete"} if why == "recycle" else {}
    claimant = given_back(make_pool, **spec)
    pool = claimant.pool
    pool.run()
    assert stage(claimant) == "Draining"
    if why == "outdated":
        pool.change(template={"spec": {"containers": [{"name": "runner", "image": "runner:2"}]}})
    if why == "not ready":
        pool.ready(claimant.pod, "False")
    else:
        answers(claimant, 0)
    pool.run()
    assert stage(claimant) == "Terminating"
    grow(pool)
    assert claimant.pod not in live(pool)
    assert len(offered(pool)) == 1


@pytest.mark.row("WC-25", "WC-22")
def test_when_several_drains_are_over_each_ends_in_its_way_at_once(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=3, maxReplicas=3, slots=[])
    grow(pool)
    broken, done, late = (Claimant(pool, f"claim-{n}") for n in range(3))
    for claimant, ago in ((late, LONG_AGO), (done, LONG_AGO), (broken, 20.0)):
        assert claimant.take()
        assert claimant.give_back(ago=ago)
    claimants = (broken, done, late)
    done.look()
    done.write({}, {DRAIN: "drain-1", SESSIONS: "0 drain-1"})
    pool.ready(broken.pod, "False")
    pool.run()
    pool.run()
    assert [claimant.pod in live(pool) for claimant in claimants] == [False, True, False]
    assert stage(done) == "Idle"


@pytest.mark.row("WC-36", "WC-21")
def test_a_pod_that_came_back_is_too_many_after_the_cooldown_only(make_pool: MakePool) -> None:
    claimant = given_back(make_pool, maxReplicas=2, scaling={"downCooldown": "1h"})
    pool = claimant.pool
    grow(pool)
    assert len(live(pool)) == 2
    answers(claimant, 0)
    for _ in range(3):
        pool.run()
    assert len(offered(pool)) == len(live(pool)) == 2


@pytest.mark.row("WC-21", "WC-02")
def test_a_drain_by_hand_gets_an_id_of_its_own(make_pool: MakePool) -> None:
    claimant = given_back(make_pool)
    claimant.look()
    assert claimant.write({}, {GIVEN_BACK: None})
    claimant.pool.run()
    assert notes(claimant)[GIVEN_BACK].count(" ") == 1
    assert stage(claimant) == "Draining"


def claimed_again(claimant: Claimant) -> None:
    """Another run has ended the drain, and another claim has the pod."""
    claimant.pool.run()
    assert Claimant(claimant.pool, "claim-2", owner="bob").take()


def given_back_again(claimant: Claimant) -> None:
    claimed_again(claimant)
    again = Claimant(claimant.pool, "claim-2", pod=claimant.pod)
    assert again.give_back("drain-2", ago=20)


@pytest.mark.row("WC-02", "WC-38", "WC-21")
@pytest.mark.parametrize(("happens", "then"), [(claimed_again, "Bound"), (given_back_again, "Draining")])
def test_a_run_that_wakes_up_late_ends_no_drain(
    make_pool: MakePool, happens: Callable[[Claimant], None], then: str
) -> None:
    """Rules rv, ask: it has read that the sessions of that drain are over, and stands still before its write."""
    claimant = given_back(make_pool)
    claimant.pool.run()
    answers(claimant, 0)
    standing_still(claimant.pool, "PATCH", lambda _: happens(lifted(claimant)))
    assert stage(claimant) == then
    claimant.pool.run()
    assert claimant.pool.views() == ["claimed"]


def lifted(claimant: Claimant) -> Claimant:
    """The other run finds the pod closed by the first, and takes it over."""
    claimant.pool.run()
    return claimant


@pytest.mark.row("WC-38", "WC-06")
def test_a_pod_whose_drain_has_ended_in_kubernetes_only_is_opened_by_the_next_run(make_pool: MakePool) -> None:
    """Rules bump, lift: the run died between the pod and the ledger."""
    claimant = given_back(make_pool)
    pool = claimant.pool
    pool.run()
    answers(claimant, 0)
    (uid,) = (pod.uid for pod in pool.ledger_pods())
    assert pool.slots.ledger.take_over(uid, "claim-1", "a run/drained")
    claimant.look()
    assert claimant.write({PHASE: "Idle"}, {DRAIN: None, GIVEN_BACK: None, SESSIONS: None})
    pool.run()
    pool.run()
    assert (pool.views(), offered(pool)) == (["open"], [claimant.pod])


@pytest.mark.row("WC-21", "SL-18")
def test_jobs_run_on_a_pod_that_has_drained(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.settle()
    claimant = Claimant(pool)
    assert claimant.take()
    fill(pool, 1)
    assert claimant.give_back(ago=20)
    pool.run()
    assert states(pool, 1) == ["waiting"]
    answers(claimant, 0)
    pool.run()
    assert states(pool, 1) == ["running"]


def test_a_cordoned_pod_drains_when_that_is_over(make_pool: MakePool) -> None:
    claimant = given_back(make_pool, ago=LONG_AGO)
    pool: PodPoolWorld = claimant.pool
    claimant.look()
    assert claimant.write({}, {"berthmaster.dev/cordon": "true"})
    pool.run()
    assert stage(claimant) == "Draining"
    claimant.look()
    assert claimant.write({}, {"berthmaster.dev/cordon": None})
    pool.run()
    assert stage(claimant) == "Terminating"


@pytest.mark.row("WC-23")
@pytest.mark.parametrize("stamp", ["x 2026-11-28", "x 2026-11-28T12:00:00", "x never", "x"])
def test_a_drain_of_an_unreadable_time_begins_anew(make_pool: MakePool, stamp: str) -> None:
    claimant = given_back(make_pool)
    claimant.look()
    assert claimant.write({}, {GIVEN_BACK: stamp})
    claimant.pool.run()
    claimant.look()
    began = datetime.fromisoformat(notes(claimant)[GIVEN_BACK].partition(" ")[2])
    assert began.tzinfo
    assert stage(claimant) == "Draining"
