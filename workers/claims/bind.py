"""Bind a free pod to a claim: first in the slot ledger, then in Kubernetes, in the version that was just read.

The slot ledger decides between claims, jobs and scale-down. The version of the pod refuses writes that come late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import structlog

from berthmaster.errors import TransientError
from berthmaster.jobs.runner_ledger import NotVerified
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from domain.claims.candidates import candidates
from domain.claims.pod import ClaimablePod
from domain.kubernetes.names import CLAIMED_BY, TOUCHED
from domain.kubernetes.objects import Pod
from events.kube.api import Conflict, Denied, Invalid, NotFound
from workers.claims.observe import ClaimObserver, ClaimRequest
from workers.claims.services import ClaimServices
from workers.kube.claimable_pods import ClaimPods, additions_to, claimable
from workers.run import Run
from workers.stores.slots.claimable import page

log = structlog.get_logger()
TRIES: Final = 3
PAGE: Final = 10
MAX_CANDIDATES: Final = 1000
REFUSALS: Final = {
    "UNKNOWN": "its runner has not reported",
    "BUSY": "it has jobs",
    "CLOSED": "somebody else has taken it, or it is being closed",
}
"""The slot ledger's refusals, for people."""


@dataclass(frozen=True)
class PodBinding:
    """The pod as it was written, or the reason why the claim cannot have it."""

    pod: Pod | None = None
    why: str = ""


class PodBinder:
    """Binds pods to one claim, in one run.

    Attributes:
        unverified: pools whose slot ledger does not know which pods are free.
        refused: the API server's refusal of the last write of a pod, '' if it accepted the write.

    """

    def __init__(self, services: ClaimServices, run: Run, namespace: str, name: str, request: ClaimRequest) -> None:
        self._services, self._run, self._namespace, self._name = services, run, namespace, name
        self._request, self._claim = request, request.claim
        self._pods, self._observer = ClaimPods(services.kube, namespace), ClaimObserver(services, namespace, name)
        self.unverified: list[str] = []
        self.refused = ""

    def bind_any(self, unlabelled: tuple[ClaimablePod, ...]) -> Pod | None:
        """Bind the first candidate that the claim can have; those in `unlabelled` come first."""
        refusals, most = 0, TRIES * min(self._run.tries + 1, TRIES)
        for pod in chain(unlabelled, self._candidates()):  # page by page, as far as needed
            binding = self.bind(pod)
            if binding.pod:
                return binding.pod
            refusals += bool(self.refused) and binding.why == self.refused
            if refusals == most:  # the API server refuses what the claim asks for, not those pods
                return None
        return None

    def bind(self, candidate: ClaimablePod) -> PodBinding:
        """Bind this pod, if it is free. Raises NotVerified."""
        ledger = self._services.ledger(f"{self._namespace}/{candidate.pool}")
        for _ in range(TRIES):
            if binding := self._attempt(ledger, candidate):
                return binding
        return PodBinding(why="it changes all the time")

    def write_labels(self, pod: Pod) -> Pod:
        """Write what the claim asks for on the pod, which gets a new version. Raises Conflict or NotFound."""
        self._run.keep(self._services.call_time)
        added = additions_to(pod, self._request.spec.additional_pod_labels)
        return self._pods.hold(pod, self._request.labels, added.labels, self._run.token)

    def pools(self) -> list[str]:
        """Return the names of the pools whose pods the claim may have."""
        if self._claim.pool:
            return [self._claim.pool]
        names = (name.split("/") for name in self._services.pools.all())
        return sorted(pool for namespace, pool in names if namespace == self._namespace)

    def _attempt(self, ledger: SlotLedger, candidate: ClaimablePod) -> PodBinding | None:
        """None: the pod has changed since it was read."""
        if refusal := ledger.claim(candidate.uid, self._claim.uid):
            return PodBinding(why=REFUSALS.get(refusal, refusal))
        self._services.index.tries(self._namespace, self._claim.uid, candidate.name)
        pod = self._read(candidate)
        if pod is None:
            return PodBinding(why="it is gone")
        if why := self._observer.unfit(self._claim, claimable(pod, self._services.now())):
            self._put_back(ledger, pod)
            return PodBinding(why=why)
        return self._label(ledger, pod)

    def _read(self, candidate: ClaimablePod) -> Pod | None:
        """None: the pod is gone. Raises TransientError when another run of this claim has bound the pod."""
        self._run.keep(self._services.call_time)
        pod = self._pods.read(candidate.name)
        if pod is None or pod.uid != candidate.uid:
            return None
        if pod.labels.get(CLAIMED_BY) == self._claim.uid:
            raise TransientError(f"another run of the claim has taken pod {candidate.name}")
        return pod

    def _label(self, ledger: SlotLedger, pod: Pod) -> PodBinding | None:
        """None: the pod has changed since it was read."""
        if refusal := ledger.claim(pod.uid, self._claim.uid):  # somebody may have taken the pod over meanwhile
            return PodBinding(why=REFUSALS.get(refusal, refusal))
        if written := self._try_write_labels(pod):
            log.info("pod_taken", namespace=self._namespace, claim=self._name, pod=pod.name)
            return PodBinding(written)
        if self.refused:
            self._put_back(ledger, pod)
            return PodBinding(why=self.refused)
        return None

    def _try_write_labels(self, pod: Pod) -> Pod | None:
        """None: the pod has changed, or the API server refuses the write, which `refused` then says."""
        self.refused = ""
        try:
            return self.write_labels(pod)
        except (Conflict, NotFound):
            return None
        except (Denied, Invalid) as error:
            self.refused = f"Kubernetes refuses to label pod {pod.name}: {error}"
            log.warning("pod_label_refused", namespace=self._namespace, claim=self._name, reason=self.refused)
            return None

    def _put_back(self, ledger: SlotLedger, pod: Pod) -> None:
        """Open a free pod that the claim cannot have after all. The pool takes care of any other pod."""
        uid, token = pod.uid, f"{self._run.token}/back"
        if not claimable(pod, self._services.now()).free or not ledger.take_over(uid, self._claim.uid, token):
            return
        self._run.keep(self._services.call_time)
        try:
            self._pods.write(pod, {}, {TOUCHED: token})
        except (Conflict, NotFound, Denied, Invalid):
            return  # the pool opens the pod later
        self._services.index.has_left(self._namespace, self._claim.uid, pod.name)
        self._services.dispatcher(ledger).dispatch(ledger.open(uid, token) or ())

    def _candidates(self) -> Iterator[ClaimablePod]:
        """Yield candidates page by page.

        A pod that was tried has left the index, bound or not. So the next page starts after those that did not fit.
        """
        passed = Counter[str]()
        for _ in range(0, MAX_CANDIDATES, PAGE):
            pages = {pool: self._page(pool, passed[pool]) for pool in self.pools()}
            pods = [pod for pool_page in pages.values() for pod in pool_page]
            if not pods:
                return
            named = self._services.index.named_by_others(self._namespace, (pod.name for pod in pods), self._name)
            revisions = {pool: self._observer.revision(pool) for pool in pages}
            fitting = candidates(self._claim, pods, revisions, named)
            yield from fitting
            passed.update(pod.pool for pod in pods if pod not in fitting)

    def _page(self, pool: str, start: int) -> tuple[ClaimablePod, ...]:
        """Read claimable pods of a pool. A pool that cannot say which pods are free has none: others may."""
        try:
            return page(self._services.ledger(f"{self._namespace}/{pool}"), self._claim.owner, start, PAGE)
        except (NotVerified, UnreadableLedger):
            self.unverified.append(pool)
            return ()
