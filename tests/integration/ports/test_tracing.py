"""A trace leads from what the publisher sends to the calls of AWS."""

from __future__ import annotations

import orjson
import pytest

from berthmaster import routing, tracing
from berthmaster.routing import pod_key
from tests.support.ports.fleet import Fleet
from tests.support.spans import above, id_of, spans, trace_of


@pytest.mark.row("EV-15")
def test_the_calls_of_a_run_belong_to_the_trace_of_its_hint(fleet: Fleet) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
    fleet.sync()
    with spans() as kept:
        with tracing.span("publish"):
            hint = orjson.loads(routing.hint(pod_key(fleet.namespace, "b")))
        with tracing.span("ports.reconcile", hint["headers"][tracing.HEADER]):
            fleet.run_pod("b")
        (published,), (task,), calls = kept.named("publish"), kept.named("ports.reconcile"), kept.named("AWS ")
        assert above(task) == id_of(published)
        assert {call.name for call in calls} >= {"AWS CreateListener", "AWS RegisterTargets"}
        assert {above(call) for call in calls} == {id_of(task)}
        assert {trace_of(each) for each in (published, task, *calls)} == {trace_of(published)}
    assert fleet.state("b") == "Bound"
