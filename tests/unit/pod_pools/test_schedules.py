"""What the schedules of a pool amount to at one time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.claims.pod import Phase
from domain.pod_pools.decision import Move, decide
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import LedgerState, Member, PodStep, PodTimeouts, next_step
from domain.pod_pools.schedules import ScheduleView
from domain.pod_pools.status import schedules
from domain.spec_errors import spec_problem
from tests.support.pods.pool_signals import NOW, idle, policy, signals

Json = dict[str, Any]
POOL: Json = {"template": {"spec": {"containers": [{"name": "runner", "image": "runner"}]}}}
MONDAY = datetime(2026, 11, 30, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def spec(*listed: Json, **changes: Any) -> PodPoolSpec:
    return PodPoolSpec.model_validate(POOL | changes | {"schedules": listed})


def schedule(name: str = "office", cron: str = "0 8 * * 1-5", duration: str = "10h", **others: Any) -> Json:
    return {"name": name, "cron": cron, "duration": duration} | (others or {"minReplicas": 5})


def at(time: datetime, *listed: Json) -> ScheduleView:
    return spec(*listed).schedules_at(time)


@pytest.mark.row("SD-36")
@pytest.mark.parametrize(
    ("hours", "fewest", "change"),
    [(7.99, 0, 8), (8, 5, 18), (17.99, 5, 18), (18, 0, 32), (5 * 24, 0, 7 * 24 + 8)],
)
def test_a_schedule_is_in_effect_from_its_first_moment_until_before_its_last(
    hours: float, fewest: int, change: int
) -> None:
    view = at(MONDAY + hours * HOUR, schedule())
    assert (view.min_replicas, view.change) == (fewest, MONDAY + change * HOUR)


@pytest.mark.row("SD-36")
def test_a_schedule_may_last_longer_than_until_it_begins_again() -> None:
    """Each start prolongs it: it never ends, and no moment is without it."""
    always = schedule(cron="0 0 * * *", duration="48h")
    for hours in range(72):
        view = at(MONDAY + hours * HOUR, always)
        assert view.min_replicas == 5
        assert view.change == MONDAY + (hours // 24 + 1) * DAY
    month = at(MONDAY + 29 * DAY, schedule(cron="0 0 30 11 *", duration="744h"))
    assert month.min_replicas == 5


@pytest.mark.row("SD-36")
def test_hours_are_those_of_the_time_zone_in_summer_and_winter() -> None:
    berlin = schedule(timeZone="Europe/Berlin", minReplicas=5)
    winter, summer = MONDAY, datetime(2026, 6, 1, tzinfo=UTC)
    assert at(winter, berlin).change == winter + 7 * HOUR
    assert at(summer, berlin).change == summer + 6 * HOUR
    (state,) = at(summer + 6 * HOUR, berlin).in_effect
    assert state.in_effect == "schedule office until 2026-06-01 18:00 Europe/Berlin: minReplicas 5"


@pytest.mark.row("SD-36")
def test_of_several_schedules_the_highest_numbers_count_and_the_maximum_limits_them() -> None:
    listed = (
        schedule("a", minReplicas=4, maxIdle=1),
        schedule("b", cron="0 9 * * *", minReplicas=2, maxIdle=30),
        schedule("c", cron="0 20 * * *", minReplicas=9),
    )
    view = at(MONDAY + 9 * HOUR, *listed)
    assert (view.min_replicas, view.max_idle, view.frozen) == (4, 30, False)
    rules = spec(*listed, minReplicas=3, maxIdle=2, maxReplicas=20).policy_under(view)
    assert (rules.min_pods, rules.max_idle, rules.max_pods) == (4, 20, 20)
    assert spec(*listed, maxReplicas=3).policy_under(view).min_pods == 3
    high = spec(*listed, minReplicas=6, maxReplicas=50)
    assert high.policy_under(view).min_pods == 6, "a schedule raises the minimum and never lowers it"


starts = st.builds(lambda minute, hour: f"{minute} {hour} * * *", st.integers(0, 59), st.integers(0, 23))
drawn = st.builds(
    lambda cron, hours, effects: schedule(cron=cron, duration=f"{hours}h", **effects),
    starts,
    st.integers(1, 744),
    st.fixed_dictionaries({"freeze": st.booleans(), "minReplicas": st.integers(1, 9)}),
)


@pytest.mark.row("SD-36")
@given(st.lists(drawn, max_size=4), st.integers(0, 10_000), st.integers(1, 10_000))
def test_nothing_changes_before_the_next_change(listed: list[Json], minute: int, later: int) -> None:
    named = [each | {"name": f"s{n}"} for n, each in enumerate(listed)]
    now = MONDAY + timedelta(minutes=minute)
    view = at(now, *named)
    if not named:
        assert view == ScheduleView()
        return
    assert view.change
    assert view.change > now
    then = at(min(now + timedelta(seconds=later), view.change - timedelta(seconds=1)), *named)
    assert (then.min_replicas, then.max_idle, then.frozen) == (view.min_replicas, view.max_idle, view.frozen)
    assert then.reasons == view.reasons
    assert then.change == view.change


@pytest.mark.row("SD-37")
def test_a_schedule_that_cannot_be_read_freezes_the_pool_and_is_named() -> None:
    listed = (
        schedule("good", minReplicas=4),
        schedule("bad", cron="0 24 * * *"),
        schedule("where", timeZone="Mars/Olympus", maxIdle=3),
        schedule("folder", timeZone="Europe", maxIdle=3),
        schedule("never", cron="* * */20 * 1L"),
    )
    view = at(MONDAY + 9 * HOUR, *listed)
    assert (view.min_replicas, view.max_idle, view.frozen) == (4, 0, True)
    assert view.problems == (
        "spec.schedules[1].cron: 0 24 * * * is no cron expression: Bad hour",
        "spec.schedules[2].timeZone: no time zone is called Mars/Olympus",
        "spec.schedules[3].timeZone: no time zone is called Europe",
        "spec.schedules[4].cron: * * */20 * 1L never comes",
    )
    condition = schedules(view)
    assert condition
    assert (condition.status, condition.reason) == ("False", "Invalid")
    assert condition.message == f"{'; '.join(view.problems)}. Until then no idle pod is removed or replaced"


@pytest.mark.row("SD-23")
def test_in_a_freeze_no_idle_pod_goes_and_stalled_ones_do() -> None:
    frozen = policy(frozen=True, schedules=("schedule release until tomorrow: freeze",))
    kept = decide(signals(5, idle=idle(5)), frozen, NOW)
    assert (kept.move, kept.change) == (Move.HOLD, 0)
    assert kept.reason == "5 idle pods, 5 too many, which the freeze keeps; schedule release until tomorrow: freeze"
    stalled = decide(signals(5, idle=idle(5), away=2, stalled=2), frozen, NOW)
    assert (stalled.move, stalled.change) == (Move.DOWN, -1)


@pytest.mark.row("SD-23")
def test_in_a_freeze_no_idle_pod_is_replaced_for_its_template() -> None:
    pod = Member("a", "a", "old", HOUR, view=LedgerState.OPEN, stage=Phase.IDLE)
    assert next_step(pod, "new", PodTimeouts(HOUR)) is PodStep.REPLACE
    assert next_step(pod, None, PodTimeouts(HOUR)) is PodStep.NOTHING


@pytest.mark.row("SD-36")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cron": "@daily"}, "spec.schedules.0.cron: must be the five fields of a cron expression"),
        ({"cron": "0 0 * * * *"}, "spec.schedules.0.cron: must be the five fields of a cron expression"),
        ({"timeZone": "localtime"}, "spec.schedules.0.timeZone: must be the IANA name of a time zone"),
        ({"timeZone": "../Etc/UTC"}, "spec.schedules.0.timeZone: must be the IANA name of a time zone"),
        ({"duration": "59s"}, "schedules: a duration must be at least 1m and at most 744h"),
        ({"duration": "745h"}, "schedules: a duration must be at least 1m and at most 744h"),
        ({"minReplicas": 0}, "spec.schedules.0.minReplicas: Input should be greater than or equal to 1"),
        ({"minReplicas": None}, "schedules: each needs minReplicas, maxIdle or freeze, else it has no effect"),
        ({"end": "0 18 * * *"}, "spec.schedules.0.end: Extra inputs are not permitted"),
    ],
)
def test_a_faulty_schedule_is_refused_with_the_field_named(changes: Json, words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        spec(schedule() | changes)
    assert words in spec_problem(refused.value)


def test_two_schedules_of_one_name_are_refused() -> None:
    with pytest.raises(ValidationError) as refused:
        spec(schedule(), schedule())
    assert spec_problem(refused.value) == "spec.schedules: Duplicate value: office"
