"""What holds for every decision, whatever a run has observed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pod_pools.decision import Move, decide, pressure, required_pods, utilisation
from domain.pod_pools.signals import PodTotals, PoolSignals, ScalingPolicy
from tests.support.pods.pool_signals import NOW, PLAN, change, policy, signals


@pytest.mark.row("SD-17", "SD-31")
@given(st.integers(0, 30), st.integers(0, 10), st.integers(1, 5), st.integers(1, 4), st.floats(0.05, 0.9))
def test_a_steady_load_comes_to_rest_with_every_threshold(
    used: int, reserved: int, step: int, slots: int, down: float
) -> None:
    """Without any cooldown, each job on a pod of its own if there are as many."""
    rules = {"step": step, "slots": (None,) * slots, "down_below": down, "up_above": min(1, down + 0.05)}
    none = timedelta(0)
    pods, changes = 40, list[int]()
    for _ in range(120):
        running = max(0, min(used, slots * pods - reserved))
        busy = min(pods, running + reserved)
        there = signals(
            pods,
            used=running,
            reserved=reserved,
            free=pods - busy,
            idle={None: slots * pods - running - reserved},
            waiting={"plan": used - running},
        )
        decision = change(there, max_pods=60, up_cooldown=none, down_cooldown=none, **rules)
        pods, changes = pods + decision, [*changes, decision]
    assert not any(changes[80:])


counts = st.integers(0, 40)
jobs = st.dictionaries(st.sampled_from(["plan", "apply", "build"]), st.integers(0, 50))
times = st.none() | st.timedeltas(timedelta(0), timedelta(hours=1)).map(lambda ago: NOW - ago)
totals = st.builds(
    lambda open_pods, free, away, stalled, **others: PodTotals(
        open=open_pods, free=min(free, open_pods), away=away, stalled=min(stalled, away), **others
    ),
    *(counts, counts, counts, counts),
    **dict.fromkeys(("booting", "claimed", "draining", "cordoned", "missing", "lost", "excess"), counts),
)
sensed = st.builds(
    PoolSignals,
    pods=totals,
    used=counts,
    reserved=counts,
    owed=counts,
    idle=st.dictionaries(st.sampled_from([None, PLAN, frozenset({"build", "plan"})]), counts),
    waiting=jobs,
    claims=counts,
    last_up=times,
    last_down=times,
)
rules = st.builds(
    lambda least, more, step, idle, hold: policy(
        min_pods=least, max_pods=least + more, step=step, max_idle=min(idle, least + more), hold_while_busy=hold
    ),
    *(st.integers(0, 5), st.integers(0, 40), st.integers(1, 5), st.integers(0, 5), st.booleans()),
)


@pytest.mark.row("SD-06", "SD-03", "SD-31")
@given(sensed, rules)
def test_no_decision_breaks_a_limit_or_stops_work(what: PoolSignals, policy: ScalingPolicy) -> None:
    decision = decide(what, policy, NOW)
    assert decision.reason
    if decision.move is Move.UP:
        assert what.pods.all + decision.change <= policy.max_pods
    if decision.move is Move.DOWN:
        assert not any([what.claims, what.pods.booting, *what.waiting.values()])
        assert not (policy.hold_while_busy and (what.used or what.reserved))
        gone = max(0, -decision.change - what.pods.stalled)  # of open pods: stalled ones go first
        assert gone <= max(0, what.pods.free - policy.max_idle), "only what nothing runs on, and is not kept warm"
        if gone:
            left = what.pods.open - gone
            assert left >= required_pods(what, policy)
            assert what.used + what.reserved <= left * len(policy.slots)
            assert pressure(what, policy, left) <= policy.up_above
        assert utilisation(what, policy) < policy.down_below
        assert -decision.change <= policy.step


@pytest.mark.row("SD-32")
@given(sensed, rules, st.integers(1, 40))
def test_more_reservations_in_slots_that_were_idle_never_make_use_high(
    what: PoolSignals, policy: ScalingPolicy, more: int
) -> None:
    """Where nothing runs, no number of reservations is use that adds a pod."""
    resting = replace(what, used=0, reserved=more, owed=0, waiting={}, claims=0)
    decision = decide(resting, policy, NOW)
    assert decision.move is not Move.UP or "at least" in decision.reason or "warm" in decision.reason
