"""Brings the claimable pods of a pool and the claims that wait for one together.

Claims read from Redis which pods are claimable. The number of claims that wait counts for the size of the pool.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.routing import pod_claim_key
from domain.claims.pod_request import PodRequest, PodTraits
from domain.kubernetes.names import REVISION
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_steps import LedgerState, Member, claimable
from events.protocol.claim_index import concerned
from workers.kube.claim_pods import pool_pod
from workers.pod_pools.observe import PodPoolObservation
from workers.pod_pools.services import PodPoolServices
from workers.run import Run
from workers.stores.claims.waiting import WaitingClaim
from workers.stores.slots.claimable import IndexEntry, add_claimable, keep_claimable, tell_revision

Waiting = tuple[WaitingClaim, ...]


def publish_claimable(
    run: Run, ledger: SlotLedger, observed: PodPoolObservation, revision: str, protects: bool
) -> None:
    """Write which pods are claimable, and the present revision. A new revision wakes the claims that have a pod.

    `protects`: claims protect the pods that they take.
    """
    entries = [
        observed.facts.of(observed.objects[member.uid], index_entry)
        for member in observed.members
        if claimable(member, revision)
    ]
    if keep_claimable(ledger, run.token, revision, entries, protects=protects) != revision:
        run.touch(
            concerned(ledger.redis, [observed.objects[member.uid] for member in observed.members if member.claimed_by])
        )
        tell_revision(ledger, revision)


def index_entry(pod: Pod) -> IndexEntry:
    """Return the entry of a claimable pod in the index."""
    return IndexEntry.of(pool_pod(pod, pod.created))  # at any time: what is too old is not claimable


def count_waiting(waiting: Waiting, pool: str, members: Collection[Member]) -> int:
    """How many claims wait for this pool to grow.

    Read the waiting claims before the pods: a claim that has a pod by now is not counted.
    """
    served = {
        member.claimed_by or member.token
        for member in members
        if member.claimed_by or member.view is LedgerState.CLAIMED
    }
    return sum(claim.pool == pool and claim.uid not in served for claim in waiting)


@dataclass
class ClaimOffers:
    """What one run of a pool offers to claims, which may be more than once: each pod as soon as it is warm.

    `protects`: claims protect the pods that they take. `waiting`: claims that waited when the run began. `woken`: UIDs
    of those that the run has woken. `begun`: all claimable pods were published, so that single ones may be added.
    """

    services: PodPoolServices
    run: Run
    ledger: SlotLedger
    revision: str
    protects: bool
    waiting: Waiting
    woken: set[str] = field(default_factory=set)
    begun: bool = False

    def offer(self, observed: PodPoolObservation) -> None:
        """Publish all claimable pods, and wake as many claims as there are. Every run does, so that no wake is lost."""
        publish_claimable(self.run, self.ledger, observed, self.revision, self.protects)
        self.begun = True
        self.woken.clear()
        idle = [observed.objects[member.uid] for member in observed.members if claimable(member, self.revision)]
        self._wake(self.waiting, idle)

    def add(self, pods: Collection[Pod]) -> bool:
        """Offer pods that the run has just opened. False: claims wait for this pool that the run does not know."""
        waiting = self.services.waiting.all(self._namespace)
        warm = [index_entry(pod) for pod in pods if is_present(pod, self.revision)]
        if warm and self.begun:
            add_claimable(self.ledger, self.run.token, self.revision, warm, protects=self.protects)
            self._wake(tuple(claim for claim in waiting if claim.uid not in self.woken), pods)
        before = {claim.uid for claim in self.waiting}
        return all(claim.uid in before for claim in waiting if claim.pool == self._pool)

    def count(self, observed: PodPoolObservation) -> int:
        """How many claims wait for this pool to grow."""
        return count_waiting(self.waiting, self._pool, observed.members)

    @property
    def _namespace(self) -> str:
        return self.ledger.pool.partition("/")[0]

    @property
    def _pool(self) -> str:
        return self.ledger.pool.partition("/")[2]

    def _wake(self, waiting: Waiting, pods: Collection[Pod]) -> None:
        served = list(_served(waiting, [PodTraits.of(self._pool, pod) for pod in pods]))
        self.woken |= {claim.uid for claim in served}
        self.run.touch([pod_claim_key(self._namespace, claim.name) for claim in served])


def is_present(pod: Pod, revision: str) -> bool:
    """Tell whether the pod was made from the present template."""
    return pod.labels.get(REVISION) == revision


def _served(waiting: Waiting, pods: list[PodTraits]) -> Iterator[WaitingClaim]:
    """Give each claim a pod of its own, the oldest first. Where no pod fits, none fits an equal request."""
    hopeless: set[PodRequest] = set()
    for claim in waiting:
        request = claim.request
        if not pods or request in hopeless:
            continue
        position = next((index for index, traits in enumerate(pods) if request.fits(traits)), None)
        if position is None:
            hopeless.add(request)
            continue
        del pods[position]
        yield claim
