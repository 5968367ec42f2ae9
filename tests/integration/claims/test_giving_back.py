"""What is written on a pod when a claim takes it and gives it back, on each Kubernetes server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from redis import Redis

from domain.backoff import RetryPolicy
from domain.claims.additions import Metadata
from domain.claims.pod import Phase
from domain.kubernetes.objects import Pod
from domain.outcome import Outcome, Settled
from events.kube.api import Conflict
from events.workqueue import Workqueue
from tests.fixtures.kube import Kube
from workers.claims.give_back import give_back
from workers.kube.claim_pods import ClaimPods, phase_of, pool_pod
from workers.reconcile import reconcile
from workers.run import Run

NEW = {"name": "p1", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-01-01T11:00:00Z"}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HELD = {"berthmaster.dev/claimed-by": "uid-a", "berthmaster.dev/owner": "alice"}
Json = dict[str, Any]


def a_pod(kube: Kube, **labels: str) -> Pod:
    meta = {"name": "p1", "labels": {"berthmaster.dev/phase": "Idle", **labels}}
    spec = {"containers": [{"name": "game", "image": "game:1"}]}
    return Pod(kube.api.create(kube.path("pods"), {"metadata": meta, "spec": spec}))


def given_back(redis: Redis, kube: Kube, pod: Pod, discard: bool = False) -> bool:
    """In a run of its claim."""

    class Services:
        kube: Any
        call_time = timedelta(seconds=1)

    services, answers = Services(), list[bool]()
    services.kube = kube.api

    def run(run: Run) -> Outcome:
        answers.append(give_back(services, run, kube.namespace, pod, "drain-1", NOON, discard))
        return Settled()

    queue, key = Workqueue(redis, publish=lambda _: None), f"podclaim/{kube.namespace}/a"
    assert queue.assume_epoch("1:test")
    queue.stamp("1:test")
    queue.touch([key])
    reconcile(queue, key, run, RetryPolicy(timedelta(milliseconds=1), timedelta(milliseconds=1)))
    (answer,) = answers
    return answer


@pytest.mark.row("WC-12", "WC-21")
def test_nothing_of_its_owner_stays_on_a_pod_but_the_name_of_the_last_one(redis: Redis, kube: Kube) -> None:
    before = a_pod(kube, tier="free")
    pod = ClaimPods(kube.api, kube.namespace).hold(before, HELD, Metadata({"tier": "paid", "match": "7"}), "t1")
    assert pod.labels == HELD | {"berthmaster.dev/phase": "Bound", "tier": "paid", "match": "7"}
    assert given_back(redis, kube, pod)
    after = kube.api.get(kube.path("pods", "p1"))["metadata"]
    last = {"berthmaster.dev/phase": "Draining", "berthmaster.dev/last-owner": "alice", "tier": "free"}
    assert after["labels"] == last
    assert "berthmaster.dev/added-labels" not in after["annotations"]
    assert after["annotations"]["berthmaster.dev/given-back"] == "drain-1 2026-01-01T12:00:00+00:00"


@pytest.mark.row("WC-26")
def test_a_discarded_pod_is_never_handed_out_again(redis: Redis, kube: Kube) -> None:
    pod = ClaimPods(kube.api, kube.namespace).hold(a_pod(kube), HELD, Metadata(), "t1")
    assert given_back(redis, kube, pod, discard=True)
    assert phase_of(kube.api.get(kube.path("pods", "p1"))["metadata"]["labels"]) is Phase.TERMINATING


@pytest.mark.row("WC-13")
def test_a_pod_that_has_changed_since_it_was_read_is_not_written(redis: Redis, kube: Kube) -> None:
    pods, before = ClaimPods(kube.api, kube.namespace), a_pod(kube)
    pods.hold(before, HELD, Metadata(), "t1")
    assert not given_back(redis, kube, before)
    with pytest.raises(Conflict):
        pods.hold(before, HELD | {"berthmaster.dev/claimed-by": "uid-b"}, Metadata(), "t2")
    assert kube.api.get(kube.path("pods", "p1"))["metadata"]["labels"]["berthmaster.dev/claimed-by"] == "uid-a"


def test_a_pod_is_held_again_in_a_new_version_with_other_added_labels(kube: Kube) -> None:
    pods = ClaimPods(kube.api, kube.namespace)
    first = pods.hold(a_pod(kube, tier="free"), HELD, Metadata({"tier": "paid", "match": "7"}), "t1")
    again = pods.hold(first, HELD, Metadata({"tier": "gold"}), "t2")
    assert again.resource_version != first.resource_version
    assert again.labels["tier"] == "gold"
    assert "match" not in again.labels
    assert pods.give_back(again, Phase.DRAINING, "d").labels["tier"] == "free"


@pytest.mark.parametrize(
    ("status", "meta", "said"),
    [
        ({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}, {}, (True, True)),
        ({"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}, {}, (True, False)),
        ({"phase": "Running", "conditions": [{"type": "Ready", "status": "Unknown"}]}, {}, (False, False)),
        ({"phase": "Failed"}, {}, (False, False)),
        ({"phase": "Succeeded"}, {}, (False, False)),
        ({"phase": "Unknown"}, {}, (False, False)),
        ({"phase": "Running", "reason": "NodeLost"}, {}, (False, False)),
        ({"phase": "Running"}, {"deletionTimestamp": "2026-01-01T11:58:00Z"}, (False, False)),
        ({"phase": "Running"}, {"deletionTimestamp": "2026-01-01T12:00:30Z"}, (True, False)),
    ],
)
@pytest.mark.row("WC-15")
def test_whether_a_pod_lives_and_is_ready(status: Json, meta: Json, said: tuple[bool, bool]) -> None:
    metadata = NEW | meta
    pod = pool_pod(Pod({"metadata": metadata, "status": status}), NOON)
    assert (pod.alive, pod.normal) == said


READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


@pytest.mark.parametrize(
    "status",
    [
        READY | {"observedGeneration": 1},
        READY | {"conditions": [*READY["conditions"], {"type": "PodResizeInProgress", "status": "True"}]},
    ],
)
@pytest.mark.row("WC-11")
def test_a_pod_whose_kubelet_has_not_done_the_newest_spec_yet_is_not_normal(status: Json) -> None:
    metadata = NEW | {"generation": 2}
    assert not pool_pod(Pod({"metadata": metadata, "status": status}), NOON).normal
    assert pool_pod(Pod({"metadata": metadata, "status": READY | {"observedGeneration": 2}}), NOON).normal
