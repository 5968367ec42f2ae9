"""The autoscaler on hours of generated load, in simulated time (see tests.bench.autoscaler)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from domain.pod_pools.signals import ScalingPolicy
from tests.bench.autoscaler import HOUR, TRACES, Result, replay
from tests.bench.autoscaler_policies import Ours

HOURS = 3


def hours_of(trace: str, hold: bool) -> Result:
    quick = ScalingPolicy((None,), 0, 80, 0, 1.0, 0.95, 2, timedelta(0), timedelta(0), hold_while_busy=hold)
    return replay("", Ours(quick), sorted(TRACES[trace](HOURS), key=lambda job: job.at), (HOURS + 2) * HOUR)


@pytest.mark.row("SD-31", "SD-01", "SD-02")
@pytest.mark.parametrize("trace", TRACES)
def test_a_pool_that_follows_use_down_costs_less_and_removes_no_pod_with_a_job(trace: str) -> None:
    ours, holding = hours_of(trace, hold=False), hours_of(trace, hold=True)
    assert (ours.killed, holding.killed) == (0, 0)
    assert ours.pod_hours < 0.8 * holding.pod_hours
    assert ours.wait99 < 90, "little more than the start of a pod"
