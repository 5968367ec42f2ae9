"""Faults of pod pools: pods that the slot ledger, or the list of pods, does not show as they are."""

from __future__ import annotations

import time
from unittest.mock import Mock, patch

import pytest

from events.kube_api import KubeError
from tests.integration.podpools.conftest import MakePool
from workers.kube.pool_pods import POOL, PoolPods
from workers.podpools.reconciler import PodPoolsReconciler


def test_pods_older_than_ready_timeout_outlive_the_loss_of_redis(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1, readyTimeout="10m")
    pool.slots.submit("j", "apply")
    pool.settle()
    assert pool.slots.state("j") == "running"
    before = pool.names()
    pool.change(readyTimeout="3s")
    time.sleep(4)  # ages are in whole seconds
    pool.redis.flushall()
    pool.claim()
    pool.run()
    live = {pod["metadata"]["name"] for pod in pool.pods() if "deletionTimestamp" not in pod["metadata"]}
    assert live == before


def test_a_pod_that_lost_its_label_keeps_its_job(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=2)
    pool.settle()
    pool.slots.submit("j", "apply")
    pool.settle()
    uid = pool.slots.record("j").uid
    (pod,) = (p for p in pool.pods() if p["metadata"]["uid"] == uid)
    pool.api.patch(pool.pod_path(pod["metadata"]["name"]), {"metadata": {"labels": {POOL: None}}})
    pool.run()
    pool.slots.deliver_all()
    assert pool.slots.record("j").uid == uid


def test_a_pool_made_anew_leaves_jobs_to_the_pods_of_the_old_one_while_they_run(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=2)
    pool.slots.submit("j", "apply")
    pool.settle()
    uid = pool.slots.record("j").uid
    body = pool.api.get(f"{pool.path}/runners")
    pool.api.delete(f"{pool.path}/runners", {"propagationPolicy": "Orphan"})
    pool.api.create(pool.path, {k: body[k] for k in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "runners"}})
    for _ in range(2):
        pool.run()
        pool.kubelet()
        pool.slots.deliver_all()
    assert pool.slots.record("j").uid == uid


def test_a_run_that_listed_pods_long_ago_takes_no_job_from_a_newer_pod(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=3)
    pool.settle()
    real, late = PoolPods.all, list[int]()

    def paused(self: PoolPods) -> list[dict[str, object]]:
        """While this run stands still after its list, its lease ends and others make a pod and use it."""
        found = real(self)
        if not late:
            late.append(1)
            pool.change(minReplicas=2)
            for n in range(4):
                token = f"{time.time_ns() // 1000}-{n}"
                PodPoolsReconciler(pool.services)(Mock(key=pool.key, token=token, snapshot=None))
                pool.kubelet()
            for n in range(2):
                pool.slots.submit(f"j{n}", "apply")
            pool.slots.deliver_all()
        return found

    with patch.object(PoolPods, "all", paused):
        pool.run()
    pool.slots.deliver_all()
    assert [pool.slots.state(f"j{n}") for n in range(2)] == ["running", "running"]


GOOD = {"name": "runner", "image": "runner:1"}


@pytest.mark.parametrize(
    "template",
    [
        {"metadata": "x", "spec": {"containers": [GOOD]}},
        {"metadata": {"labels": ["x"]}, "spec": {"containers": [GOOD]}},
        {"spec": {"containers": ["x"]}},
        {"spec": {"containers": {"x": 1}}},
        {"spec": {"containers": [GOOD | {"env": ["x"]}]}},
        {"spec": "x"},
    ],
)
def test_a_template_of_a_wrong_shape_is_told_in_the_status(make_pool: MakePool, template: dict[str, object]) -> None:
    pool = make_pool(minReplicas=1)
    pool.settle()
    try:
        pool.change(template=template)
    except KubeError:
        return  # a server that knows it better
    pool.run()
    (valid,) = [c for c in pool.status()["conditions"] if c["type"] == "Valid"]
    assert valid["status"] == "False"


def test_a_pool_made_anew_has_not_the_size_of_the_old_one(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=4)
    pool.settle()
    body = pool.api.get(f"{pool.path}/runners")
    pool.api.delete(f"{pool.path}/runners")
    pool.run()
    for name in pool.names():
        pool.end(name)
    spec = body["spec"] | {"minReplicas": 0}
    pool.api.create(
        pool.path, {k: body[k] for k in ("apiVersion", "kind")} | {"metadata": {"name": "runners"}, "spec": spec}
    )
    pool.run()
    assert pool.pods() == []
