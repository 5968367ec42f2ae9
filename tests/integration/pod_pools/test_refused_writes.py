"""A webhook or a quota that refuses to write one pod for good: its pool looks after all the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.kubernetes.names import GIVEN_BACK, PHASE
from domain.outcome import Outcome
from events.kube.api import Denied, Invalid, KubeError
from tests.integration.pod_pools.conftest import MakePool
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.pods.pod_pool_world import PodPoolWorld
from workers.kube.pod_pools import PodPools
from workers.pod_pools.decision_log import latest_decision

REFUSALS = [Invalid(422, "Invalid", "a webhook"), Denied(403, "Forbidden", "a webhook")]


def run_refused(pool: PodPoolWorld, pod: str, refusal: KubeError) -> Outcome | None:
    """A run of the pool that may not write that pod."""

    def refuse(_: str) -> None:
        raise refusal

    whole = pool.services
    pool.services = replace(whole, kube=InterposedKube(pool.api, "PATCH", f"/pods/{pod}", refuse, times=100))
    ended = pool.run()
    pool.services = whole
    return ended


@pytest.mark.parametrize("refusal", REFUSALS)
def test_the_other_pods_are_opened_and_the_pool_is_sized(make_pool: MakePool, refusal: KubeError) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=4)
    pool.run()
    pool.kubelet()
    first = min(pool.names())
    run_refused(pool, first, refusal)
    assert pool.views() == ["new", "open"]
    pool.change(minReplicas=3)
    run_refused(pool, first, refusal)
    assert len(pool.names()) == 3
    pool.settle()
    assert pool.views() == ["open"] * 3


@pytest.mark.row("WC-45")
@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("phase", ["Bound", "Draining"])
def test_a_pod_of_nobody_that_may_not_be_given_back_stops_no_other(
    make_pool: MakePool, refusal: KubeError, phase: str
) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=4)
    pool.settle()
    first, second = sorted(pool.names())
    for name in (first, second):
        pool.api.patch(pool.pod_path(name), {"metadata": {"labels": {PHASE: phase}}})
    run_refused(pool, first, refusal)
    assert GIVEN_BACK in pool.api.get(pool.pod_path(second))["metadata"]["annotations"]


def events_of(pool: PodPoolWorld) -> list[tuple[str, str]]:
    return sorted((event["type"], event["reason"]) for event in pool.events())


@pytest.mark.row("SD-29")
def test_pods_that_kubernetes_refuses_are_not_counted_and_people_are_told_once(make_pool: MakePool) -> None:
    pool = make_pool(maxReplicas=3, template={"spec": {"containers": [{"name": "runner"}]}})
    pool.slots.submit("j")
    for _ in range(3):
        pool.run()
        kept = latest_decision(pool.slots.ledger)
        assert kept
        (words,) = (item["message"] for item in pool.status()["conditions"] if item["reason"] == "PodsRefused")
        assert (kept.reason, kept.inputs["problem"], kept.inputs["pods"]["booting"]) == (words, words, 0)
        assert pool.names() == set()
    assert events_of(pool) == [("Warning", "PodsRefused")]
    pool.change(template={"spec": {"containers": [{"name": "runner", "image": ""}]}})
    pool.run()
    pool.run()
    assert events_of(pool) == [("Warning", "PodsRefused")] * 2


@pytest.mark.row("SD-29")
def test_of_pods_that_are_refused_in_part_those_are_counted_that_there_are(make_pool: MakePool) -> None:
    pool = make_pool(maxReplicas=4, maxIdle=4, slots=[])
    whole, left = pool.services, iter(range(2))

    def quota(_: str) -> None:
        if next(left, None) is None:
            raise Denied(403, "Forbidden", "exceeded quota")

    pool.services = replace(whole, kube=InterposedKube(pool.api, "POST", "/pods", quota, times=100))
    pool.run()
    pool.services = whole
    kept = latest_decision(pool.slots.ledger)
    assert kept
    assert (kept.size, kept.inputs["pods"]["booting"], len(pool.names())) == (4, 2, 2)
    assert [event["message"] for event in pool.events() if event["reason"] == "ScaledUp"] == [
        "to 2 pods: 0 pods are warm or booting, maxIdle is 4"
    ]
    assert events_of(pool) == [("Normal", "ScaledUp"), ("Warning", "PodsRefused")]


@pytest.mark.row("KU-15")
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_pod_that_may_not_be_written_is_told_on_its_pool_while_that_is_so(
    make_pool: MakePool, refusal: KubeError
) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=4)
    pool.run()
    pool.kubelet()
    (name,) = pool.names()
    for _ in range(2):
        run_refused(pool, name, refusal)
    (condition,) = [item for item in pool.status()["conditions"] if item["type"] == "WritesAccepted"]
    assert (condition["status"], condition["reason"]) == ("False", "WriteRefused")
    assert condition["message"] == f"Kubernetes refuses to patch pods {name}: {refusal}"
    assert [event["message"] for event in pool.events() if event["reason"] == "WriteRefused"] == [condition["message"]]
    pool.settle()
    assert pool.views() == ["open"]
    assert "WritesAccepted" not in {item["type"] for item in pool.status()["conditions"]}


@pytest.mark.row("KU-15")
def test_a_pool_whose_status_is_refused_has_one_event(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=0, maxReplicas=4)
    whole = pool.services

    def refuse(_: str) -> None:
        raise Invalid(422, "Invalid", "status.waiting: not a number")

    pool.services = replace(whole, pools=PodPools(InterposedKube(pool.api, "PATCH", "/podpools/", refuse, times=100)))
    for _ in range(2):
        pool.run()
    (event,) = [event for event in pool.events() if event["reason"] == "WriteRefused"]
    assert "refuses to patch podpools/status " in event["message"]
