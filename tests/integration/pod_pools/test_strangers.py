"""A pod that no pool made may carry a pool's labels: the pool neither counts it, nor writes it, nor deletes it."""

from __future__ import annotations

import pytest

from domain.kubernetes.names import CLAIMED_BY, PHASE, POOL, REVISION
from tests.integration.pod_pools.conftest import MakePool
from tests.support.pods.pod_pool_world import PodPoolWorld


@pytest.mark.parametrize("marks", [{PHASE: "Idle"}, {PHASE: "Bound", CLAIMED_BY: "u"}, {PHASE: "Draining"}, {}])
def test_a_pod_in_the_dress_of_a_pool_is_left_alone(make_pool: MakePool, marks: dict[str, str]) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.settle()
    [own] = pool.pods()
    before = stranger(pool, {POOL: "runners", REVISION: own["metadata"]["labels"][REVISION], **marks})
    for _ in range(3):
        pool.run()
    assert {"stranger", own["metadata"]["name"]} == pool.names()
    assert pool.api.get(pool.pod_path("stranger"))["metadata"]["resourceVersion"] == before
    assert [pod.uid for pod in pool.ledger_pods()] == [own["metadata"]["uid"]]
    assert pool.status()["replicas"] == 1


def stranger(pool: PodPoolWorld, labels: dict[str, str]) -> str:
    """Its version, once it runs and is ready."""
    path = pool.pod_path("stranger")
    body = {"metadata": {"name": "stranger", "labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    pool.api.create(path.rpartition("/")[0], body)
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return str(pool.api.patch(f"{path}/status", {"status": status})["metadata"]["resourceVersion"])
