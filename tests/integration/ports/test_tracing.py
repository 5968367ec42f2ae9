"""A trace leads from what the publisher sends to the calls of AWS."""

from __future__ import annotations

from datetime import timedelta

import pytest

from berthmaster import tracing
from berthmaster.routing import pod_key
from events.workqueue import LeasedKey
from tests.support.ports.fleet import Fleet
from tests.support.spans import above, id_of, spans, trace_of


@pytest.mark.row("EV-15")
def test_the_calls_of_a_run_belong_to_the_trace_of_who_made_its_key_ready(fleet: Fleet) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
    key = pod_key(fleet.namespace, "b")
    with spans() as kept:
        with tracing.span("publish"):
            fleet.sync()
        taken = fleet.queue.take(key, timedelta(seconds=30), "n")
        assert isinstance(taken, LeasedKey)
        fleet.queue.done(taken, None)
        fleet.queue.touch([key])
        with tracing.span("ports.reconcile", taken.trace):
            fleet.run_pod("b")
        (published,), (task,), calls = kept.named("publish"), kept.named("ports.reconcile"), kept.named("AWS ")
        assert above(task) == id_of(published)
        assert {call.name for call in calls} >= {"AWS CreateListener", "AWS RegisterTargets"}
        assert {above(call) for call in calls} == {id_of(task)}
        assert {trace_of(each) for each in (published, task, *calls)} == {trace_of(published)}
    assert fleet.state("b") == "Bound"
