"""A free pod becomes a claim's own: first in the slot ledger, then in Kubernetes, each as it was just read.

The ledger decides between claims, jobs and scale-down; the version of the pod decides against whatever is late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import structlog

from berthmaster.errors import TransientError
from berthmaster.jobs.slot_ledger import NotVerified, SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from domain.claims.candidates import candidates
from domain.claims.pod import ClaimablePod
from domain.kubernetes.names import CLAIMED_BY, TOUCHED
from domain.kubernetes.objects import Pod
from events.kube.api import Conflict, Denied, Invalid, NotFound
from workers.claims.observe import Looking, Wish
from workers.claims.services import ClaimServices
from workers.kube.claimable_pods import ClaimPods, additions_to, claimable
from workers.run import Run
from workers.stores.slots.claimable import page

log = structlog.get_logger()
TRIES = 3
PAGE = 10
MOST = 1000
SAID = {
    "UNKNOWN": "its runner has not reported",
    "BUSY": "it has jobs",
    "CLOSED": "somebody else has taken it, or it is being closed",
}


@dataclass(frozen=True)
class Taken:
    """The pod as it was written, or in words why it cannot be had."""

    pod: Pod | None = None
    why: str = ""


class Taking:
    """Of one claim, in one run."""

    def __init__(self, services: ClaimServices, run: Run, namespace: str, name: str, wish: Wish) -> None:
        self._services, self._run, self._namespace, self._name = services, run, namespace, name
        self._wish, self._claim = wish, wish.claim
        self._pods, self._looking = ClaimPods(services.kube, namespace), Looking(services, namespace, name)
        self.unverified: list[str] = []
        self.refused = ""
        """What the API server said to the last write of a pod, if it refused that."""

    def any(self, own: tuple[ClaimablePod, ...]) -> Pod | None:
        """`own`: pods that an earlier run has taken in Redis and never wrote."""
        refusals, most = 0, TRIES * min(self._run.tries + 1, TRIES)
        for pod in chain(own, self._candidates()):  # page by page, as far as needed
            taken = self.take(pod)
            if taken.pod:
                return taken.pod
            refusals += bool(self.refused) and taken.why == self.refused
            if refusals == most:  # it is what the claim wants that is refused, not those pods
                return None
        return None

    def take(self, wanted: ClaimablePod) -> Taken:
        """This one, if it is free. Raises NotVerified."""
        ledger = self._services.ledger(f"{self._namespace}/{wanted.pool}")
        for _ in range(TRIES):
            if ended := self._attempt(ledger, wanted):
                return ended
        return Taken(why="it changes all the time")

    def _attempt(self, ledger: SlotLedger, wanted: ClaimablePod) -> Taken | None:
        """None: it has changed since it was read."""
        if refusal := ledger.claim(wanted.uid, self._claim.uid):
            return Taken(why=SAID.get(refusal, refusal))
        self._services.index.tries(self._namespace, self._claim.uid, wanted.name)
        pod = self._read(wanted)
        if pod is None:
            return Taken(why="it is gone")
        if why := self._unfit(pod):
            self._put_back(ledger, pod)
            return Taken(why=why)
        return self._labelled(ledger, pod)

    def _read(self, wanted: ClaimablePod) -> Pod | None:
        """Raises TransientError when it is the claim's already."""
        self._run.keep(self._services.call_time)
        pod = self._pods.read(wanted.name)
        if pod is None or pod.uid != wanted.uid:
            return None
        if pod.labels.get(CLAIMED_BY) == self._claim.uid:
            raise TransientError(f"another run of the claim has taken pod {wanted.name}")
        return pod

    def _labelled(self, ledger: SlotLedger, pod: Pod) -> Taken | None:
        """None: it has changed since it was read."""
        if refusal := ledger.claim(pod.uid, self._claim.uid):  # it may have been taken over since
            return Taken(why=SAID.get(refusal, refusal))
        if written := self._written(pod):
            log.info("pod_taken", namespace=self._namespace, claim=self._name, pod=pod.name)
            return Taken(written)
        if self.refused:
            self._put_back(ledger, pod)
            return Taken(why=self.refused)
        return None

    def hold(self, pod: Pod) -> Pod:
        """A new version of it, with what the claim wants to be written on it. Raises Conflict or NotFound."""
        self._run.keep(self._services.call_time)
        added = additions_to(pod, self._wish.spec.additional_pod_labels)
        return self._pods.hold(pod, self._wish.labels, added.labels, self._run.token)

    def _unfit(self, pod: Pod) -> str | None:
        return self._looking.unfit(self._claim, claimable(pod, self._services.now()))

    def _written(self, pod: Pod) -> Pod | None:
        self.refused = ""
        try:
            return self.hold(pod)
        except (Conflict, NotFound):
            return None
        except (Denied, Invalid) as error:
            self.refused = f"Kubernetes refuses to label pod {pod.name}: {error}"
            log.warning("pod_label_refused", namespace=self._namespace, claim=self._name, reason=self.refused)
            return None

    def _put_back(self, ledger: SlotLedger, pod: Pod) -> None:
        """Opens a free pod that will not do after all. Any other is its pool's business."""
        uid, token = pod.uid, f"{self._run.token}/back"
        if not claimable(pod, self._services.now()).free or not ledger.take_over(uid, self._claim.uid, token):
            return
        self._run.keep(self._services.call_time)
        try:
            self._pods.write(pod, {}, {TOUCHED: token})
        except (Conflict, NotFound, Denied, Invalid):
            return  # its pool lifts what stays
        self._services.index.has_left(self._namespace, self._claim.uid, pod.name)
        self._services.dispatcher(ledger).dispatch(ledger.open(uid, token) or ())

    def _candidates(self) -> Iterator[ClaimablePod]:
        """Page by page. Who was tried has left the index, had or not: only what would not do is gone past."""
        passed = Counter[str]()
        for _ in range(0, MOST, PAGE):
            found = {pool: self._page(pool, passed[pool]) for pool in self.pools()}
            pods = [pod for some in found.values() for pod in some]
            if not pods:
                return
            named = self._services.index.named_by_others(self._namespace, (pod.name for pod in pods), self._name)
            revisions = {pool: self._looking.revision(pool) for pool in found}
            tried = candidates(self._claim, pods, revisions, named)
            yield from tried
            passed.update(pod.pool for pod in pods if pod not in tried)

    def _page(self, pool: str, start: int) -> tuple[ClaimablePod, ...]:
        try:
            return page(self._services.ledger(f"{self._namespace}/{pool}"), self._claim.owner, start, PAGE)
        except (NotVerified, UnreadableLedger):  # others may have a pod
            self.unverified.append(pool)
            return ()

    def pools(self) -> list[str]:
        """Those whose pods may do."""
        if self._claim.pool:
            return [self._claim.pool]
        known = (name.split("/") for name in self._services.pools.all())
        return sorted(pool for namespace, pool in known if namespace == self._namespace)
