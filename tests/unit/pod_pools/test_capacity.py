"""What goes while others work, and which pods count as capacity."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.pod_pools.decision import decide
from tests.support.pods.pool_signals import NOW, change, policy, signals


@pytest.mark.row("SD-31", "SD-02", "SD-05")
@pytest.mark.parametrize("work", [{"used": 1}, {"reserved": 1}, {"used": 2, "reserved": 3}])
def test_idle_pods_go_while_others_work_or_wait_for_a_person(work: dict[str, int]) -> None:
    """Field bug SD-31: twenty pods and one reservation, and no pod ever went."""
    decision = decide(signals(20, **work), policy(), NOW)
    assert decision.change == -1
    assert " below 20% (" in decision.reason
    assert f"{sum(work.values())} slot" in decision.reason or len(work) > 1
    assert decision.reason.endswith(f": {20 - sum(work.values())} idle pods, {20 - sum(work.values())} too many")


@pytest.mark.row("SD-31")
@pytest.mark.parametrize(
    ("there", "rules", "fewer"),
    [
        ({"opened": 5, "used": 3}, {}, 0),  # exactly 20 %
        ({"opened": 5, "used": 2}, {}, 1),
        ({"opened": 5, "used": 2}, {"down_below": 0.1}, 0),
        ({"opened": 5, "used": 6, "free": 3}, {"down_below": 0.5, "step": 9}, 2),  # then two thirds are in use
        ({"opened": 20, "reserved": 1}, {"step": 5}, 5),
        ({"opened": 20, "reserved": 1}, {"step": 99}, 19),
        ({"opened": 20, "reserved": 1}, {"step": 99, "min_pods": 7}, 13),
        ({"opened": 20, "reserved": 1, "free": 4}, {"step": 99, "max_idle": 3}, 1),
        ({"opened": 20, "reserved": 1, "last_down": NOW - timedelta(minutes=4)}, {}, 0),
        ({"opened": 20, "reserved": 1, "last_up": NOW - timedelta(minutes=4)}, {}, 0),
        ({"opened": 20, "reserved": 1, "claims": 1}, {}, 0),
        ({"opened": 20, "reserved": 1, "owed": 9}, {"step": 99}, 16),
        ({"opened": 20, "reserved": 9, "free": 0}, {}, 0),
        ({"opened": 20, "used": 1}, {"down_below": 0}, 0),
        ({"opened": 20, "used": 1, "excess": 17}, {"step": 99}, 2),
        ({"opened": 20, "used": 1, "excess": 19}, {"step": 99}, 0),
    ],
)
def test_idle_pods_go_below_the_threshold_by_steps_down_to_what_is_needed(
    there: dict[str, Any], rules: dict[str, Any], fewer: int
) -> None:
    assert change(signals(**there), **rules) == -fewer


@pytest.mark.row("SD-31", "SD-17")
def test_no_pod_goes_whose_slots_would_be_missing_at_once() -> None:
    """Two pods of one slot, one of them busy: use is half, and would be whole."""
    assert change(signals(2, used=1), slots=(None,), down_below=0.6) == 0


@pytest.mark.row("SD-32", "SD-13")
@pytest.mark.parametrize(
    ("work", "more"),
    [
        ({"reserved": 3}, 0),
        ({"reserved": 2}, 0),
        ({"reserved": 2, "used": 1}, 1),
        ({"reserved": 1, "used": 1}, 0),
        ({"reserved": 3, "waiting": {"plan": 1}}, 1),
    ],
)
def test_reservations_alone_are_no_demand(work: dict[str, Any], more: int) -> None:
    """Field bug SD-32: plans that wait for people filled the pods of a pool, and it grew."""
    assert change(signals(1, **work), slots=(None,) * 3) == more


@pytest.mark.row("SD-33")
def test_pods_that_are_not_ready_are_no_capacity_and_go_first() -> None:
    """Field bug SD-33: a warm pool with three such pods removed and created ready ones for ever."""
    warm = {"max_idle": 3}
    three_away = signals(0, away=3, stalled=3)
    grown = decide(three_away, policy(**warm), NOW)
    assert (grown.change, grown.reason) == (3, "0 pods are warm or booting, maxIdle is 3")
    assert change(signals(1, away=2, stalled=2), min_pods=3) == 2
    replaced = decide(signals(3, away=3, stalled=3), policy(**warm), NOW)
    assert (replaced.change, replaced.reason) == (-1, "3 idle pods and 3 not ready, 3 too many")
    assert change(signals(3), **warm) == 0
    assert change(signals(3, away=2), **warm) == 0, "they have jobs"
    assert change(signals(1, away=9, used=3)) == 0, "they count against the maximum"


@pytest.mark.row("SD-33")
def test_a_pool_whose_missing_pods_cannot_be_created_grows_no_further_and_shrinks_all_the_same() -> None:
    assert change(signals(1, missing=2), min_pods=3) == 0
    assert change(signals(5, missing=2)) == -1


@pytest.mark.row("KU-12")
def test_pods_that_nobody_confirms_to_have_ended_leave_room() -> None:
    gone = signals(1, used=3, lost=9)
    assert change(gone) == 1
    full = decide(replace(gone, pods=replace(gone.pods, draining=9)), policy(), NOW)
    assert (full.change, full.reason) == (0, "use 100% above 80%: 3 of 3 slots run jobs; at most 10 pods, 10 exist")
