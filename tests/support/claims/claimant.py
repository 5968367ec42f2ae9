"""The worker of a claim, step by step: take in Redis, live read, conditional write, give back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from domain.claims.pod import Phase, PoolPod
from domain.kubernetes.names import CLAIMED_BY, GIVEN_BACK, LAST_OWNER, OWNER, PHASE
from events.kube.api import Conflict, NotFound
from tests.support.pods.pod_pool_world import PodPoolWorld
from workers.stores.slots.claimable import page

Json = dict[str, Any]


@dataclass
class Claimant:
    """A claim with this UID. `read` is its pod as it was read last."""

    pool: PodPoolWorld
    uid: str = "claim-1"
    owner: str = "ann"
    pod: str = ""
    read: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lives()

    def lives(self) -> None:
        """Enter the claim in the index, as its run does."""
        self.pool.services.claims.remember(self.pool.namespace, self.uid, self.uid, [], "run")

    def dies(self) -> None:
        """Delete the claim by force: no run gives anything back."""
        self.pool.services.claims.forget(self.pool.namespace, self.uid, self.uid)

    def offered(self) -> tuple[PoolPod, ...]:
        return page(self.pool.slots.ledger, self.owner, 0, 50)

    def take(self) -> bool:
        """Take and label the first claimable pod."""
        return any(self.takes(pod.name, pod.uid) and self.bind() for pod in self.offered())

    def takes(self, name: str, uid: str) -> bool:
        """Take a pod in Redis, then read it. False: it is not free."""
        if self.pool.slots.ledger.claim(uid, self.uid):
            return False
        self.pod, self.read = name, self.pool.api.get(self.pool.pod_path(name))
        labels = self.read["metadata"]["labels"]
        return labels.get(PHASE) == Phase.IDLE and CLAIMED_BY not in labels

    def bind(self) -> bool:
        """Label the pod in the version that was read."""
        return self.write({PHASE: Phase.BOUND, CLAIMED_BY: self.uid, OWNER: self.owner, LAST_OWNER: None}, {})

    def give_back(self, drain: str = "drain-1", ago: float = 0) -> bool:
        self.look()
        since = datetime.fromtimestamp(datetime.now(UTC).timestamp() - ago, UTC)
        labels = {PHASE: Phase.DRAINING, CLAIMED_BY: None, OWNER: None, LAST_OWNER: self.owner}
        return self.write(labels, {GIVEN_BACK: f"{drain} {since.isoformat()}"})

    def look(self) -> Json:
        self.read = self.pool.api.get(self.pool.pod_path(self.pod))
        return self.read

    def write(self, labels: Json, annotations: Json) -> bool:
        meta = self.read["metadata"]
        patch = {"resourceVersion": meta["resourceVersion"], "uid": meta["uid"]}
        try:
            written = {"metadata": patch | {"labels": labels, "annotations": annotations}}
            self.read = self.pool.api.patch(self.pool.pod_path(self.pod), written)
        except (Conflict, NotFound):
            return False
        return True

    @property
    def labels(self) -> Json:
        labels: Json = self.look()["metadata"]["labels"]
        return labels
