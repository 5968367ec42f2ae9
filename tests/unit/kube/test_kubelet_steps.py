"""What the kubelet does next with a pod."""

from __future__ import annotations

from typing import Any

import pytest

from compose.sandbox.kube.kubelet.steps import PREFIX, Bind, End, Later, Pace, ReportStatus, Step, next_step
from compose.sandbox.kube.kubelet.timers import Timers

Json = dict[str, Any]
PACE = Pace(start=0.3, longest_grace=1.0)


def pod(node: str = "sandbox", phase: str = "Pending", **metadata: Any) -> Json:
    spec: Json = {"containers": []} | ({"nodeName": node} if node else {})
    return {
        "metadata": {"name": "a", "namespace": "n", "uid": "u", **metadata},
        "spec": spec,
        "status": {"phase": phase},
    }


def step(found: Json, age: float = 10.0) -> Step | None:
    return next_step(found, age, "sandbox", PACE, lambda families: [f"ip-of-{family}" for family in families], "now")


def wait(found: Step | None) -> float:
    return found.seconds if isinstance(found, Later) else 0.0


def terminating(grace: int, **more: Any) -> Json:
    return pod(deletionTimestamp="then", deletionGracePeriodSeconds=grace, **more)


def test_a_pod_without_a_node_is_bound_unless_it_is_held_back() -> None:
    assert step(pod(node="")) == Bind()
    held = pod(node="")
    held["spec"]["schedulingGates"] = [{"name": "wait"}]
    assert step(held) is None


def test_a_pod_of_another_node_or_that_has_ended_is_left_alone() -> None:
    assert step(pod(node="other")) is None
    assert step(pod(phase="Succeeded")) is None
    assert step({**terminating(0), "spec": {"nodeName": "other"}}) is None


def test_a_pod_runs_after_its_delay() -> None:
    assert wait(step(pod(), age=0.1)) == pytest.approx(0.2)
    assert step(pod(annotations={PREFIX + "start-delay": "20"}), age=10) == Later(10)
    found = step(pod())
    assert isinstance(found, ReportStatus)
    assert (found.status["phase"], found.status["podIP"]) == ("Running", "ip-of-IPv4")


def test_a_running_pod_is_reported_once() -> None:
    found = step(pod())
    assert isinstance(found, ReportStatus)
    assert step({**pod(), "status": found.status}) is None


@pytest.mark.parametrize("grace, age, expected", [(30, 0.4, Later(0.6)), (30, 1.0, End()), (0, 0.0, End())])
def test_a_terminating_pod_ends_after_its_grace_but_soon(grace: int, age: float, expected: Step) -> None:
    found = step(terminating(grace), age)
    assert type(found) is type(expected)
    assert wait(found) == pytest.approx(wait(expected))


def test_the_time_of_a_condition_is_that_of_its_change() -> None:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "before"}
    status = {"phase": "Running", "conditions": [ready], "podIPs": [{"ip": "1.2.3.4"}], "podIP": "1.2.3.4"}
    found = step({**pod(), "status": status})
    assert isinstance(found, ReportStatus)
    assert ready in found.status["conditions"]
    assert found.status["podIPs"] == [{"ip": "1.2.3.4"}]


def test_a_key_is_with_one_thread_at_a_time_and_the_earliest_wish_counts() -> None:
    timers = Timers()
    timers.at(("n", "a"), 5)
    timers.at(("n", "a"), 0)
    timers.at(("n", "a"), 9)
    assert timers.take() == ("n", "a")
    timers.at(("n", "a"))
    timers.at(("n", "b"))
    assert timers.take() == ("n", "b")
    timers.done(("n", "a"))
    assert timers.take() == ("n", "a")
    timers.close()
    assert timers.take() is None
