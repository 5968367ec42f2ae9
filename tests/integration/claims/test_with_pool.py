"""Claims and the pool that serves them, all by their real runs. The test plays kubelet, workload and publisher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from domain.kubernetes.names import CLAIM_FINALIZER, PHASE
from domain.kubernetes.objects import KubeObject
from tests.fixtures.kube import Kube
from tests.support.claims.claim_shop import Shop
from workers.kube.pod_claims import claim_path

Json = dict[str, Any]


@pytest.fixture
def open_shop(redis: Redis, kube: Kube, crds: None) -> Callable[..., Shop]:
    def make(**spec: Any) -> Shop:
        return Shop(redis, kube.api, kube.namespace, **spec)

    return make


@pytest.mark.row("WC-09", "WC-36", "WC-37")
def test_a_pool_grows_for_claims_to_its_maximum_and_says_so(open_shop: Callable[..., Shop]) -> None:
    shop = open_shop()
    for n in range(4):
        shop.claim(f"c{n}")
    shop.settle()
    assert len(shop.held()) == 3
    assert shop.phases() == ["Bound"] * 3
    (waits,) = shop.claims().keys() - shop.held().keys()
    bound = next(c for c in shop.claims()[waits]["status"]["conditions"] if c["type"] == "Bound")
    assert bound["reason"] == "PoolFull"


@pytest.mark.row("WC-02", "WC-21", "WC-09", "WC-07")
def test_a_pod_that_was_given_back_drains_and_comes_to_the_claim_that_waits(open_shop: Callable[..., Shop]) -> None:
    shop = open_shop(maxReplicas=1)
    shop.claim("c0", ownerName="alice")
    shop.settle(3)
    pod = shop.held()["c0"]
    shop.claim("c1", ownerName="bob")
    shop.settle(2)
    shop.delete("c0")
    shop.settle()
    assert shop.held() == {"c1": pod}
    (labels,) = (pod["metadata"]["labels"] for pod in shop.pool.pods())
    assert labels["berthmaster.dev/owner"] == "bob"
    assert "berthmaster.dev/last-owner" not in labels


@pytest.mark.row("WC-15", "WC-17", "WC-02")
def test_a_pod_that_failed_is_replaced_and_its_claim_gets_another(open_shop: Callable[..., Shop]) -> None:
    shop = open_shop()
    shop.claim("c0")
    shop.settle(3)
    pod = shop.held()["c0"]
    shop.api.patch(f"{shop.pool.pod_path(pod)}/status", {"status": {"phase": "Failed"}})
    shop.settle()
    assert shop.held()["c0"] != pod
    assert pod not in shop.pool.names()


@pytest.mark.row("WC-45", "WC-20")
def test_the_pod_of_a_claim_that_was_removed_by_force_comes_back(open_shop: Callable[..., Shop]) -> None:
    shop = open_shop(maxReplicas=1, maxIdle=0)
    shop.claim("c0")
    shop.settle(3)
    pod = shop.held()["c0"]
    path = claim_path(shop.namespace, "c0")
    assert shop.claims()["c0"]["metadata"]["finalizers"] == [CLAIM_FINALIZER]
    shop.api.patch(path, {"metadata": {"finalizers": None}})
    shop.delete("c0")
    shop.claim("c1")
    shop.settle()
    assert shop.held() == {"c1": pod}


@pytest.mark.row("WC-06", "WC-04")
def test_claims_keep_their_pods_over_a_loss_of_redis_and_new_ones_get_others(open_shop: Callable[..., Shop]) -> None:
    shop = open_shop()
    for n in range(2):
        shop.claim(f"c{n}")
    shop.settle()
    before = shop.held()
    assert len(before) == 2
    shop.pool.redis.flushall()
    shop.pool.claim()
    shop.claim("c2")
    shop.settle()
    after = shop.held()
    assert {name: after[name] for name in before} == before
    assert len(after) == 3


@pytest.mark.row("WC-27", "WC-02")
def test_a_move_ends_with_the_old_pod_free_again(open_shop: Callable[..., Shop]) -> None:
    shop = open_shop(maxReplicas=2)
    shop.claim("c0")
    shop.settle(4)
    source = shop.held()["c0"]
    (target,) = shop.pool.names() - {source}
    shop.services.claims.move(KubeObject(shop.claims()["c0"]), target)
    shop.settle()
    assert shop.held() == {"c0": target}
    claim = shop.claims()["c0"]
    assert "sourcePod" not in claim["spec"]
    assert shop.phases() == ["Bound", "Idle"]


@pytest.mark.row("WC-40", "WC-01")
def test_a_claim_on_a_pod_of_an_older_template_is_outdated(open_shop: Callable[..., Shop]) -> None:
    shop = open_shop()
    shop.claim("c0")
    shop.settle(3)
    pod = shop.held()["c0"]
    shop.pool.change(template={"metadata": {"labels": {"version": "2"}}})
    shop.settle()
    assert shop.held() == {"c0": pod}
    assert shop.claims()["c0"]["status"]["phase"] == "Outdated"
    shop.delete("c0")
    shop.settle()
    assert pod not in shop.pool.names()


@pytest.mark.row("WC-45", "WC-06")
def test_a_pod_that_a_claim_does_not_know_of_is_given_back_by_it(open_shop: Callable[..., Shop]) -> None:
    """Its worker wrote the label when the server that knew of the try was lost."""
    shop = open_shop(maxReplicas=2)
    shop.claim("c0")
    shop.settle()
    uid, pod = shop.claims()["c0"]["metadata"]["uid"], shop.held()["c0"]
    (other,) = shop.pool.names() - {pod}
    labels = {"berthmaster.dev/claimed-by": uid, PHASE: "Bound"}
    shop.api.patch(shop.pool.pod_path(other), {"metadata": {"labels": labels}})
    shop.settle(6)
    assert shop.held() == {"c0": pod}
    assert shop.phases() == ["Bound", "Idle"]
