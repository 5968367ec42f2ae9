"""Bind a free pod to a claim: first in the slot ledger, then in Kubernetes, in the version that was read before.

The slot ledger decides between claims, jobs and scale-down. The version of the pod refuses writes that come late. The
first attempt writes the version that the index of claimable pods has; only if that conflicts is the pod read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final

import structlog

from berthmaster.errors import TransientError
from berthmaster.jobs.runner_ledger import NotVerified
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from domain.claims.candidates import candidates, waits_on
from domain.claims.pod import PoolPod
from domain.kubernetes.names import CLAIMED_BY, TOUCHED
from domain.kubernetes.objects import Pod
from events.kube.api import Conflict, Denied, Invalid, NotFound
from workers.claims.observe import ClaimObserver, ClaimRequest
from workers.claims.pod_additions import PodAdditions
from workers.claims.services import ClaimServices
from workers.kube.claim_pods import ClaimPods, pool_of, pool_pod
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
class BindRefusal:
    """Why the claim cannot have a pod. `by_server`: the API server refuses the labels that the claim asks for."""

    why: str
    by_server: bool = False


class PodBinder:
    """Binds pods to one claim, in one run.

    Attributes:
        unverified: pools whose slot ledger cannot say which pods are free.
        refused: the API server's refusal of the last write of a pod, None if it accepted the write.

    """

    def __init__(
        self,
        services: ClaimServices,
        run: Run,
        namespace: str,
        name: str,
        request: ClaimRequest,
        additions: PodAdditions,
    ) -> None:
        self._services, self._run, self._namespace, self._name = services, run, namespace, name
        self._request, self._claim, self._additions = request, request.claim, additions
        self._pods, self._observer = ClaimPods(services.kube, namespace), ClaimObserver(services, run, namespace, name)
        self.unverified: list[str] = []
        self.refused: str | None = None

    def bind_any(self, unlabelled: tuple[PoolPod, ...]) -> Pod | None:
        """Bind the first pod that the claim can have: first of `unlabelled`, then of the candidates. None: no pod."""
        refusals, most = 0, TRIES * min(self._run.tries + 1, TRIES)
        for pod in chain(unlabelled, self._candidates()):  # lazy: a page is read only when it is needed
            binding = self.bind(pod)
            if isinstance(binding, Pod):
                return binding
            refusals += binding.by_server
            if refusals == most:  # the API server refuses what the claim asks for, not those pods
                return None
        return None

    def bind(self, candidate: PoolPod) -> Pod | BindRefusal:
        """Bind this pod, if it is free, and return it as it was written. Raises NotVerified."""
        ledger = self._services.ledger(f"{self._namespace}/{candidate.pool}")
        if binding := self._attempt_unread(ledger, candidate):
            return binding
        for _ in range(TRIES):
            if binding := self._attempt(ledger, candidate):
                return binding
        return BindRefusal("it changes all the time")

    def write_labels(self, pod: Pod, *, protects: bool = False) -> Pod:
        """Write what the claim asks for on the pod, which gets a new version. Raises Conflict or NotFound."""
        self._run.keep(self._services.call_time)
        added = self._additions.to(pod, self._request.spec.additions)
        return self._pods.hold(pod, self._request.labels, added.metadata, self._run.token, protects=protects)

    def pools(self) -> list[str]:
        """Return the names of the pools whose pods the claim may have."""
        if self._claim.request.pool is not None:
            return [self._claim.request.pool]
        names = (name.split("/") for name in self._services.pools.all())
        return sorted(pool for namespace, pool in names if namespace == self._namespace)

    def _attempt_unread(self, ledger: SlotLedger, candidate: PoolPod) -> Pod | BindRefusal | None:
        """Write the pod in the version that is known, if that is enough. None: it must be read.

        What was read, here or by the pool's run, comes before the take in the ledger (rule order): whoever takes the
        pod over later writes it, too.
        """
        if candidate.version is None or self._request.spec.additions:
            return None
        if self._observer.unfit(self._claim, candidate):
            return None
        if refusal := ledger.claim(candidate.uid, self._claim.uid):
            return BindRefusal(REFUSALS.get(refusal, refusal))
        self._services.index.tries(self._namespace, self._name, self._claim.uid, candidate.name, self._run.token)
        self._run.keep(self._services.call_time)
        protects = self._observer.protects(candidate.pool)
        write = partial(self._pods.hold_unread, candidate, self._request.labels, self._run.token, protects=protects)
        if written := self._try_write_labels(candidate.name, write):
            return written
        if self.refused and (pod := self._read(candidate)):
            self._put_back(ledger, pod)
            return BindRefusal(self.refused, by_server=True)
        return None

    def _attempt(self, ledger: SlotLedger, candidate: PoolPod) -> Pod | BindRefusal | None:
        """None: the pod has changed since it was read."""
        if refusal := ledger.claim(candidate.uid, self._claim.uid):
            return BindRefusal(REFUSALS.get(refusal, refusal))
        self._services.index.tries(self._namespace, self._name, self._claim.uid, candidate.name, self._run.token)
        pod = self._read(candidate)
        if pod is None:
            return BindRefusal("it is gone")
        if why := self._observer.unfit(self._claim, pool_pod(pod, self._services.now())):
            self._put_back(ledger, pod)
            return BindRefusal(why)
        return self._label(ledger, pod)

    def _read(self, candidate: PoolPod) -> Pod | None:
        """None: the pod is gone. Raises TransientError when another run of this claim has bound the pod."""
        self._run.keep(self._services.call_time)
        pod = self._pods.read(candidate.name)
        if pod is None or pod.uid != candidate.uid:
            return None
        if pod.labels.get(CLAIMED_BY) == self._claim.uid:
            raise TransientError(f"another run of the claim has taken pod {candidate.name}")
        return pod

    def _label(self, ledger: SlotLedger, pod: Pod) -> Pod | BindRefusal | None:
        """None: the pod has changed since it was read."""
        if refusal := ledger.claim(pod.uid, self._claim.uid):  # somebody may have taken the pod over meanwhile
            return BindRefusal(REFUSALS.get(refusal, refusal))
        write = partial(self.write_labels, pod, protects=self._observer.protects(pool_of(pod)))
        if written := self._try_write_labels(pod.name, write):
            return written
        if self.refused:
            self._put_back(ledger, pod)
            return BindRefusal(self.refused, by_server=True)
        return None

    def _try_write_labels(self, name: str, write: Callable[[], Pod]) -> Pod | None:
        """None: the pod has changed, or the API server refuses the write, which `refused` then says."""
        self.refused = None
        try:
            written = write()
        except (Conflict, NotFound):
            return None
        except (Denied, Invalid) as error:
            self.refused = f"Kubernetes refuses to label pod {name}: {error}"
            log.warning("pod_label_refused", namespace=self._namespace, claim=self._name, reason=self.refused)
            return None
        log.info("pod_taken", namespace=self._namespace, claim=self._name, pod=name)
        return written

    def _put_back(self, ledger: SlotLedger, pod: Pod) -> None:
        """Open a free pod that was taken and that the claim cannot have. The pool opens any other pod."""
        uid, token = pod.uid, f"{self._run.token}/back"
        if not pool_pod(pod, self._services.now()).free or not ledger.take_over(uid, self._claim.uid, token):
            return
        self._run.keep(self._services.call_time)
        try:
            self._pods.write(pod, {}, {TOUCHED: token})
        except (Conflict, NotFound, Denied, Invalid):
            return  # the pool's run opens the pod later
        self._services.index.has_left(self._namespace, self._claim.uid, pod.name)
        self._services.dispatcher(ledger).dispatch(ledger.open(uid, token) or ())

    def _candidates(self) -> Iterator[PoolPod]:
        """Yield candidates page by page.

        A pod that was tried has left the index, bound or not. So the next page starts after the pods that did not fit,
        and after those whose ports the claim would wait for, which come last.
        """
        passed, last = Counter[str | None](), list[PoolPod]()
        for _ in range(0, MAX_CANDIDATES, PAGE):
            pages = {pool: self._page(pool, passed[pool]) for pool in self.pools()}
            pods = [pod for pool_page in pages.values() for pod in pool_page]
            if not pods:
                break
            named = self._services.index.named_by_others(self._namespace, (pod.name for pod in pods), self._name)
            revisions: dict[str | None, str | None] = {pool: self._observer.revision(pool) for pool in pages}
            fitting = candidates(self._claim, pods, revisions, named)
            at_once = [pod for pod in fitting if not waits_on(self._claim, pod)]
            yield from at_once
            passed.update(pod.pool for pod in pods if pod not in at_once)
            last += (pod for pod in fitting if pod not in at_once)
        yield from last

    def _page(self, pool: str, start: int) -> tuple[PoolPod, ...]:
        """Read a page of claimable pods. Empty if the pool cannot say which pods are free: others may have some."""
        try:
            return page(self._services.ledger(f"{self._namespace}/{pool}"), self._claim.owner, start, PAGE)
        except (NotVerified, UnreadableLedger):
            self.unverified.append(pool)
            return ()
