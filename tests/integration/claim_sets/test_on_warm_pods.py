"""Claim sets, their claims and their pool together, all by their real runs."""

from __future__ import annotations

import pytest
from redis import Redis

from berthmaster.routing import pod_claim_key
from domain.kubernetes.names import CLAIMED_BY
from tests.fixtures.kube import Kube
from tests.support.claims.claim_set_world import QUICK, ClaimSetWorld
from tests.support.claims.claim_settings import SETTINGS
from tests.support.event_stream import journal_on
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.pods.warm import grow
from workers.claims.reconciler import PodClaimReconciler
from workers.reconcile import reconcile
from workers.wiring.claims import claim_services


class Trio:
    def __init__(self, redis: Redis, kube: Kube) -> None:
        self.pool = PodPoolWorld(redis, kube.api, kube.namespace, slots=[], maxIdle=1, minReplicas=0, maxReplicas=5)
        self.sets = ClaimSetWorld(redis, kube.api, kube.namespace, 2, pool="runners")
        self.claims = claim_services(SETTINGS, redis, self.sets.queue, self.pool.services, journal_on(redis))

    def go_on(self, rounds: int = 8) -> None:
        for _ in range(rounds):
            self.sets.run()
            for claim in self.sets.claims():
                key = pod_claim_key(self.pool.namespace, claim["metadata"]["name"])
                self.sets.queue.touch([key])
                reconcile(self.sets.queue, key, PodClaimReconciler(self.claims), QUICK)
            grow(self.pool)
        self.sets.run()

    def bound(self) -> int:
        return sum(CLAIMED_BY in pod["metadata"]["labels"] for pod in self.pool.pods())


@pytest.mark.row("WC-09", "WC-32", "WC-34", "WC-40")
def test_a_set_makes_its_pool_grow_and_follows_its_template(redis: Redis, kube: Kube, crds: None) -> None:
    trio = Trio(redis, kube)
    trio.go_on()
    assert (trio.sets.status["readyReplicas"], trio.bound()) == (2, 2)
    before = {claim["spec"]["podName"] for claim in trio.sets.claims()}
    container = {"name": "runner", "image": "runner:2"}
    trio.pool.change(template={"spec": {"containers": [container]}})
    trio.go_on(16)
    assert [trio.sets.status[key] for key in ("replicas", "readyReplicas", "updatedReplicas")] == [2, 2, 2]
    assert not before & {claim["spec"]["podName"] for claim in trio.sets.claims()}
    trio.sets.scale(0)
    trio.go_on(4)
    assert (trio.sets.live(), trio.bound()) == (set(), 0)
