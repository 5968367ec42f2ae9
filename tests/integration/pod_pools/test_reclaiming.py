"""Pods whose claim worker, or claim, is gone come back, on both Kubernetes servers."""

from __future__ import annotations

import orjson
import pytest

from domain.kubernetes.names import CLAIMED_BY, GIVEN_BACK, LAST_OWNER, OWNER, PHASE
from tests.integration.pod_pools.conftest import MakePool
from tests.support.claims.claimant import Claimant
from tests.support.pods.meanwhile import AfterList, live, meanwhile
from tests.support.pods.warm import grow, offered
from workers.stores.slots.view import view


def grown_old(claimant: Claimant) -> None:
    """The take was long ago."""
    ledger = claimant.pool.slots.ledger
    pods = claimant.pool.slots.stored("pods")
    (uid,) = (uid for uid, pod in pods.items() if pod["v"] == "claimed")
    pods[uid]["c"] -= 60_000
    claimant.pool.redis.hset(f"{ledger.prefix}pods", uid, orjson.dumps(pods[uid]))


@pytest.mark.row("WC-06", "WC-45", "WC-38")
def test_a_take_whose_worker_died_is_lifted_after_a_while_and_not_before(make_pool: MakePool) -> None:
    """Rule lift: taken in Redis, never written. What the worker still writes conflicts (rule `bump`)."""
    pool = make_pool(maxIdle=1, maxReplicas=1, slots=[])
    grow(pool)
    claimant = Claimant(pool)
    ((name, uid),) = ((pod.name, pod.uid) for pod in claimant.offered())
    assert claimant.takes(name, uid)
    pool.run()
    assert pool.views() == ["claimed"]
    grown_old(claimant)
    pool.run()
    pool.run()
    assert (pool.views(), offered(pool)) == (["open"], [name])
    assert not claimant.bind()
    assert Claimant(pool, "claim-2").take()


@pytest.mark.row("WC-45", "WC-06")
def test_the_pod_of_a_claim_that_is_gone_is_given_back(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=1, slots=[])
    grow(pool)
    claimant = Claimant(pool)
    assert claimant.take()
    pool.run()
    assert claimant.labels[CLAIMED_BY] == "claim-1"
    claimant.dies()
    pool.run()
    labels = claimant.labels
    assert (labels[PHASE], labels[LAST_OWNER], labels.get(CLAIMED_BY), labels.get(OWNER)) == (
        "Draining",
        "ann",
        None,
        None,
    )
    assert claimant.read["metadata"]["annotations"][GIVEN_BACK]
    assert claimant.pod not in offered(pool)


@pytest.mark.row("WC-45")
def test_a_failed_pod_of_a_claim_that_is_gone_is_never_handed_out_again(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=1, slots=[])
    grow(pool)
    claimant = Claimant(pool)
    assert claimant.take()
    pool.api.patch(f"{pool.pod_path(claimant.pod)}/status", {"status": {"phase": "Failed"}})
    pool.run()
    assert claimant.pod in live(pool), "a claim that lives sees to it itself"
    claimant.dies()
    for _ in range(3):
        pool.run()
    assert claimant.pod not in live(pool)


@pytest.mark.row("WC-45")
def test_a_claim_that_redis_has_forgotten_keeps_its_pod(make_pool: MakePool) -> None:
    """It is in Kubernetes."""
    pool = make_pool(maxIdle=1, slots=[])
    grow(pool)
    body = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "PodClaim", "metadata": {"name": "mine"}}
    path = f"/apis/berthmaster.dev/v1alpha1/namespaces/{pool.namespace}/podclaims"
    created = pool.api.create(path, body | {"spec": {"poolName": "runners"}})
    claimant = Claimant(pool, created["metadata"]["uid"])
    assert claimant.take()
    claimant.dies()
    pool.run()
    assert claimant.labels[PHASE] == "Bound"


@pytest.mark.row("WC-45", "WC-13")
def test_a_pod_that_another_claim_has_got_meanwhile_is_not_given_back(make_pool: MakePool) -> None:
    """Rule rv: between the list and the write it became another's."""
    pool = make_pool(maxIdle=1, slots=[])
    grow(pool)
    claimant = Claimant(pool)
    assert claimant.take()
    claimant.dies()

    def others(_: str) -> None:
        claimant.uid = "claim-2"
        claimant.lives()
        claimant.look()
        assert claimant.bind()

    meanwhile(pool, others, lambda happens: AfterList(pool.api, happens))
    assert (claimant.labels[PHASE], claimant.labels[CLAIMED_BY]) == ("Bound", "claim-2")
    assert [pod.view for pod in view(pool.slots.ledger).pods if pod.name == claimant.pod] == ["claimed"]


@pytest.mark.row("WC-45")
@pytest.mark.parametrize("was_claimed", [True, False])
def test_a_pod_that_is_bound_to_nobody_is_given_back(make_pool: MakePool, was_claimed: bool) -> None:
    """A person took the claim off, or made an idle pod Bound."""
    pool = make_pool(maxIdle=1, maxReplicas=1, slots=[])
    grow(pool)
    claimant = Claimant(pool)
    if was_claimed:
        assert claimant.take()
    claimant.pod = next(iter(pool.names()))
    pool.api.patch(pool.pod_path(claimant.pod), {"metadata": {"labels": {PHASE: "Bound", CLAIMED_BY: None}}})
    pool.run()
    claimant.look()
    assert claimant.labels[PHASE] == "Draining"
    assert claimant.read["metadata"]["annotations"][GIVEN_BACK]
