"""The maths of the autoscaler, row by row."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.pod_pools.decision import decide, demand, size_after_claims
from domain.pod_pools.signals import Accepts, PodTotals, PoolSignals
from tests.support.pods.pool_signals import NOW, PLAN, THREE, change, idle, policy, signals


@pytest.mark.row("SD-04")
@pytest.mark.parametrize(("pods", "used", "more"), [(1, 3, 1), (1, 2, 0), (5, 12, 0), (5, 13, 1)])
def test_above_four_fifths_one_pod_comes_and_at_four_fifths_none(pods: int, used: int, more: int) -> None:
    assert change(signals(pods, used=used)) == more


@pytest.mark.row("SD-05", "SD-06")
def test_idle_pods_go_one_at_a_time_down_to_the_minimum() -> None:
    assert change(signals(3, idle=idle(3)), min_pods=1) == -1
    assert change(signals(1, idle=idle(1)), min_pods=1) == 0


@pytest.mark.row("SD-05", "SD-02")
@pytest.mark.parametrize("work", [{"used": 1}, {"reserved": 1}])
def test_nothing_goes_while_a_slot_is_used_or_reserved_where_the_pool_says_so(work: dict[str, int]) -> None:
    held = decide(signals(10, **work), policy(hold_while_busy=True), NOW)
    assert (held.change, held.reason) == (0, "1 slot in use" if "used" in work else "1 slot reserved")
    assert change(signals(10, idle=idle(10)), hold_while_busy=True) == -1


@pytest.mark.row("WC-36", "WC-37")
@pytest.mark.parametrize(
    ("there", "more"),
    [
        ({}, 3),
        ({"opened": 2, "free": 2}, 1),
        ({"opened": 3, "free": 1}, 2),
        ({"opened": 3, "free": 3}, 0),
        ({"opened": 1, "free": 1, "booting": 2}, 0),
        ({"opened": 1, "free": 1, "booting": 2, "claims": 2}, 2),
        ({"opened": 3, "free": 2, "claimed": 6}, 1),
        ({"opened": 3, "free": 1, "claimed": 6}, 1),
        ({"opened": 3, "free": 1, "claimed": 7}, 0),
    ],
)
def test_warm_pods_are_made_at_once_as_far_as_the_maximum_goes(there: dict[str, int], more: int) -> None:
    left = dict(there)
    claims = left.pop("claims", 0)
    pods = PodTotals(open=left.pop("opened", 0), **left)
    what = PoolSignals(pods=pods, claims=claims, used=pods.open - pods.free, last_up=NOW)
    assert change(what, max_idle=3) == more


@pytest.mark.row("WC-36", "WC-39")
def test_warm_pods_too_many_go_after_the_cooldown_and_never_while_claims_wait() -> None:
    what = PoolSignals(pods=PodTotals(open=5, free=5), idle=idle(5))
    assert change(what, max_idle=3) == -1
    assert change(what, max_idle=5) == 0
    assert change(replace(what, last_down=NOW), max_idle=3) == 0
    assert change(replace(what, claims=1), max_idle=3) == 0


@pytest.mark.row("WC-36", "WC-09")
@pytest.mark.parametrize(
    ("size", "there", "claims", "rules", "left"),
    [
        (3, 2, 0, {"max_idle": 3}, 3),  # one was taken: it is made anew
        (1, 0, 0, {}, 0),  # it is not
        (1, 0, 1, {}, 0),  # another claim waits: that is one pod, not two
        (2, 2, 1, {}, 1),
        (2, 1, 0, {"min_pods": 2}, 2),
        (3, 5, 2, {"max_idle": 3}, 3),
    ],
)
def test_what_claims_took_is_made_anew_only_where_it_is_wanted(
    size: int, there: int, claims: int, rules: dict[str, int], left: int
) -> None:
    what = PoolSignals(pods=PodTotals(open=there), claims=claims)
    assert size_after_claims(what, policy(**rules), size, there) == left
    assert size_after_claims(replace(what, used=1), policy(**rules), size, there) == size


@pytest.mark.row("SD-06")
@pytest.mark.parametrize(("exists", "more"), [(9, 1), (10, 0), (12, 0)])
def test_the_maximum_is_never_exceeded(exists: int, more: int) -> None:
    assert change(signals(exists, used=3 * exists)) == more


@pytest.mark.row("SD-06")
@pytest.mark.parametrize("kind", ["claimed", "draining"])
def test_pods_that_give_no_slots_count_against_the_maximum(kind: str) -> None:
    full = replace(signals(1, used=3), pods=PodTotals(open=1, **{kind: 9}))
    assert change(full) == 0
    assert "at most 10 pods, 10 exist" in decide(full, policy(), NOW).reason


@pytest.mark.row("SD-07")
def test_one_waiting_job_starts_a_pool_from_zero_whatever_the_cooldown() -> None:
    assert change(signals(waiting={"plan": 1}, last_up=NOW), up_cooldown=timedelta(hours=1)) == 1


@pytest.mark.row("SD-08", "SD-12")
@pytest.mark.parametrize(
    ("there", "more"),
    [
        (signals(1, used=1, idle={PLAN: 2}), 2),
        (signals(3, used=3, idle={PLAN: 6}), 1),
        (signals(4, used=4, idle={PLAN: 8}), 0),
        (signals(1, idle=idle(1)), 0),
        (signals(1, 1, used=1, idle={PLAN: 2}), 0),
    ],
    ids=["no slot fits", "one below the maximum", "at the maximum", "an idle slot fits", "a booting pod's slot fits"],
)
def test_an_apply_without_a_fitting_slot_adds_one_step_of_pods(there: PoolSignals, more: int) -> None:
    assert change(replace(there, waiting={"apply,plan": 1}), step=2, max_pods=4) == more


@pytest.mark.row("SD-09", "SL-01")
@pytest.mark.parametrize(("slots", "pods"), [(THREE, 2), ((None,), 4), ((None,) * 5, 1)])
def test_reservations_keep_the_pods_that_they_need(slots: tuple[Accepts, ...], pods: int) -> None:
    assert change(signals(reserved=4), slots=slots) == pods


@pytest.mark.row("SD-10")
def test_a_reservation_does_not_keep_a_pool_from_growing() -> None:
    assert change(signals(1, used=2, reserved=1)) == 1


@pytest.mark.row("SD-12")
def test_queued_work_beyond_the_slots_is_demand() -> None:
    assert change(signals(1, idle=idle(1), waiting={"plan": 3})) == 0
    assert change(signals(1, idle=idle(1), waiting={"plan": 4})) == 1


@pytest.mark.row("SD-14")
def test_nothing_goes_while_unblocked_work_waits() -> None:
    assert change(signals(5, idle=idle(5), waiting={"plan": 1})) == 0


@pytest.mark.row("SD-11", "SD-13")
def test_work_behind_a_lock_or_a_person_is_no_demand() -> None:
    """The sensor leaves it out: a pool that is otherwise idle shrinks."""
    assert change(signals(2, idle=idle(2))) == -1


@pytest.mark.row("SD-30")
@pytest.mark.parametrize("slots", [(PLAN,), (PLAN, frozenset({"deploy"})), ()])
def test_a_job_that_no_slot_takes_neither_makes_a_pool_grow_nor_keeps_it(slots: tuple[Accepts, ...]) -> None:
    """A job of several phases needs one slot that takes all of them."""
    jobs: dict[str, Any] = {"waiting": {"deploy,plan": 2}}
    assert change(signals(**jobs), slots=slots) == 0
    assert change(signals(1, **jobs), slots=slots) == -1
    what = demand(signals(1, **jobs), policy(slots=slots))
    assert (what.waiting, what.unfit, what.has_work) == ({}, {"deploy,plan": 2}, False)
    reason = decide(what, policy(slots=slots), NOW).reason
    assert reason == "1 idle pod, 1 too many; 2 jobs wait that no slot takes: deploy+plan"


@pytest.mark.row("SD-30", "SD-12")
def test_jobs_that_a_slot_takes_are_demand_beside_those_that_none_takes() -> None:
    what = signals(waiting={"plan": 1, "deploy": 3})
    decision = decide(what, policy(slots=(PLAN,)), NOW)
    assert (decision.change, decision.reason) == (1, "no pods and 1 waiting; 3 jobs wait that no slot takes: deploy")
    assert "no slot takes" not in decide(what, policy(), NOW).reason


@pytest.mark.row("SD-30")
def test_a_reason_names_few_kinds_that_no_slot_takes() -> None:
    reason = decide(signals(waiting={f"k{n}": 1 for n in range(7)}), policy(slots=(PLAN,)), NOW).reason
    assert reason.endswith("7 jobs wait that no slot takes: k0, k1, k2, k3, k4 and 2 more kinds")


@pytest.mark.row("SD-15")
def test_booting_pods_count_so_that_nothing_is_created_twice() -> None:
    """Field bug keda#6157: a tick every 5 s, pods that need 60 s, 3 jobs: one pod."""
    pods = 0
    for _ in range(12):
        pods += change(signals(0, pods, waiting={"plan": 3}), up_cooldown=timedelta(0))
    assert pods == 1


@pytest.mark.row("SD-15")
def test_a_pool_with_booting_pods_does_not_shrink() -> None:
    assert change(signals(2, 1, idle=idle(2))) == 0


@pytest.mark.row("SD-16")
def test_the_ways_up_and_down_have_cooldowns_of_their_own() -> None:
    rules = {"up_cooldown": timedelta(seconds=30), "down_cooldown": timedelta(minutes=5)}
    busy, quiet = signals(1, used=3), signals(3, idle=idle(3))
    assert change(replace(busy, last_up=NOW - timedelta(seconds=29)), **rules) == 0
    assert change(replace(busy, last_up=NOW - timedelta(seconds=30)), **rules) == 1
    assert change(replace(busy, last_down=NOW), **rules) == 1
    assert change(replace(quiet, last_up=NOW - timedelta(minutes=4)), **rules) == 0
    assert change(replace(quiet, last_down=NOW - timedelta(minutes=4)), **rules) == 0
    assert change(replace(quiet, last_down=NOW - timedelta(minutes=5)), **rules) == -1


@pytest.mark.row("SD-16")
def test_the_reason_of_a_cooldown_stays_the_same_while_it_lasts() -> None:
    """The reason is in the pool's status: one that changed each time would be a write and an event each time."""
    quiet, rules = signals(3, idle=idle(3), last_up=NOW), policy(down_cooldown=timedelta(minutes=5))
    reasons = {decide(quiet, rules, NOW + timedelta(seconds=passed)).reason for passed in range(0, 300, 7)}
    (reason,) = reasons
    assert reason.endswith(f"; cooldown until {NOW + timedelta(minutes=5):%H:%M:%S} UTC")


@pytest.mark.row("SD-17")
@pytest.mark.parametrize("used", range(1, 25))
def test_a_steady_load_comes_to_rest(used: int) -> None:
    pods, changes = 1, list[int]()
    for _ in range(120):
        running = min(used, 3 * pods)
        waiting = {"plan": used - running}
        step = change(
            signals(pods, used=running, idle={PLAN: 3 * pods - running}, waiting=waiting), up_cooldown=timedelta(0)
        )
        pods, changes = pods + step, [*changes, step]
    assert not any(changes[20:])
