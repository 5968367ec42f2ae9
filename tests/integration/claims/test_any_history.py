"""In any order of events no two claims have one pod, and no claim gets a pod that has not drained.

Runs die at any write, pods fail and go, claims come, move and go, also by force, Redis is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from random import Random

import pytest
from redis import Redis

from domain.kubernetes.names import CLAIMED_BY, PHASE
from domain.kubernetes.objects import KubeObject
from events.kube.api import NotFound
from tests.fixtures.kube import SandboxKube
from tests.support.claims.claim_meanwhile import Dying
from tests.support.claims.claim_shop import Shop
from tests.support.faults.interruption import Killed
from workers.kube.pod_claims import claim_path

NAMES = ("c0", "c1", "c2")
ACTIONS = 60


class History:
    def __init__(self, shop: Shop, seed: int) -> None:
        self.shop, self.chance = shop, Random(seed)
        self.last: dict[str, tuple[str, str]] = {}
        self.did = Counter[str]()

    def act(self) -> None:
        acts: list[tuple[Callable[[], None], int]] = [
            (self.claim, 3),
            (self.delete, 2),
            (self.force, 1),
            (self.run_claim, 8),
            (self.die, 5),
            (self.run_pool, 6),
            (self.shop.kubelet, 6),
            (self.shop.leases_end, 3),
            (self.fail, 1),
            (self.end, 1),
            (self.move, 3),
            (self.lose_redis, 1),
        ]
        act = self.chance.choices([action for action, _ in acts], [weight for _, weight in acts])[0]
        self.did[act.__name__] += 1
        with suppress(NotFound):
            act()
        self.check(act.__name__)

    def check(self, act: str) -> None:
        pods = {pod["metadata"]["name"]: pod["metadata"]["labels"] for pod in self.shop.pool.pods()}
        now = {name: (labels.get(PHASE, ""), labels.get(CLAIMED_BY, "")) for name, labels in pods.items()}
        for name, (phase, holder) in now.items():
            was, before = self.last.get(name, ("Idle", ""))
            assert not (holder and before and holder != before), f"{act}: {name} went from one claim to another"
            assert not (was == "Draining" and phase == "Bound"), f"{act}: {name} had not drained"
            assert not (was == "Terminating" and phase != "Terminating"), f"{act}: {name} came back"
        self.last = now
        live = [claim for claim in self.shop.claims().values() if "deletionTimestamp" not in claim["metadata"]]
        settled = [claim["spec"].get("podName") for claim in live if "sourcePod" not in claim["spec"]]
        named = [pod for pod in settled if pod]
        assert len(named) == len(set(named)), f"{act}: two claims name one pod"
        assert not any(now.get(pod, ("", ""))[0] == "Draining" for pod in named), f"{act}: drained under its claim"

    # ---- what happens

    def name(self) -> str:
        return self.chance.choice(NAMES)

    def claim(self) -> None:
        name = self.name()
        if name not in self.shop.claims():
            self.shop.claim(name, ownerName=self.chance.choice(["ann", "bob"]))

    def delete(self) -> None:
        self.shop.delete(self.name())

    def force(self) -> None:
        name = self.name()
        path = claim_path(self.shop.namespace, name)
        self.shop.api.patch(path, {"metadata": {"finalizers": None}})
        self.shop.delete(name)

    def run_claim(self) -> None:
        self.shop.run(self.name())

    def die(self) -> None:
        dying = Dying(self.shop.api, self.chance.randrange(6), after=self.chance.random() < 0.5)
        with suppress(Killed):
            self.shop.run(self.name(), dying)

    def run_pool(self) -> None:
        self.shop.pool.run()

    def pod(self) -> str:
        return self.chance.choice(sorted(self.shop.pool.names()) or ["none"])

    def fail(self) -> None:
        self.shop.api.patch(f"{self.shop.pool.pod_path(self.pod())}/status", {"status": {"phase": "Failed"}})

    def end(self) -> None:
        self.shop.pool.end(self.pod())

    def move(self) -> None:
        claim = self.shop.claims().get(self.name())
        target = self.pod()
        if claim and claim["spec"].get("podName") not in (None, target) and "sourcePod" not in claim["spec"]:
            self.shop.services.claims.move(KubeObject(claim), target)

    def lose_redis(self) -> None:
        self.shop.pool.redis.flushall()
        self.shop.pool.claim()

    def settle(self) -> None:
        """Everything works again: each claim gets a pod, and no pod is held for nobody."""
        self.shop.leases_end()
        self.shop.settle(3)  # what is being deleted ends
        for name in set(NAMES) - self.shop.claims().keys():
            self.shop.claim(name)
        self.shop.pool.let_pauses_pass()
        self.shop.settle(8)
        assert len(self.shop.held()) == len(NAMES)
        assert Counter(self.shop.phases())["Bound"] == len(NAMES)


@pytest.mark.row("WC-03", "WC-06", "WC-13", "WC-45")
@pytest.mark.parametrize("seed", range(12))
def test_any_history_ends_with_a_pod_for_each_claim(
    redis: Redis, kube_sandbox: SandboxKube, crds_sandbox: None, seed: int
) -> None:
    shop = Shop(redis, kube_sandbox.api, kube_sandbox.namespace, maxReplicas=5)
    history = History(shop, seed)
    for _ in range(ACTIONS):
        history.act()
    history.settle()
