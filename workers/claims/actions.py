"""Carries one step of a claim out: a write of a pod, or of the claim, on the version that was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from berthmaster.routing import pod_pool_key
from domain.claims.claim import Claim
from domain.claims.decision import Action, Step
from domain.claims.status import has_moved, refused
from domain.kubernetes.names import BOUND_AT, CLAIM_FINALIZER
from domain.kubernetes.objects import KubeObject, Pod
from domain.status import Condition
from workers.claims.bind import Taking
from workers.claims.observe import Sight
from workers.claims.release import give_back
from workers.claims.services import ClaimServices
from workers.kube.claimable_pods import claimable
from workers.kube.our_kinds import as_snapshot
from workers.run import Run

log = structlog.get_logger()


@dataclass(frozen=True)
class Moment:
    """What a step was decided from; `pod` is the one that it is about."""

    pod: str
    claim: Claim
    seen: Sight
    taking: Taking


@dataclass
class Acting:
    """Of one claim, in one run; `claim` is as this run has written it last. `refused`: target of a move -> why not.

    `ended`: how a move has ended in this run.
    """

    services: ClaimServices
    run: Run
    namespace: str
    name: str
    claim: KubeObject
    refused: dict[str, str] = field(default_factory=dict)
    ended: Condition | None = None

    def act(self, step: Step, claim: Claim, seen: Sight, taking: Taking) -> bool:
        """False: nothing can be done now. Raises Conflict or NotFound when something has changed since it was read."""
        act = ACTS.get(step.action)
        return act is not None and act(self, Moment(step.pod, claim, seen, taking))

    def wrote(self, claim: KubeObject) -> None:
        self.claim = claim
        self.run.record_write(as_snapshot(claim))

    def keep(self) -> None:
        self.run.keep(self.services.call_time)

    def tell(self, reason: str, words: str, once: str) -> None:
        about = (self.namespace, self.name, self.claim.uid)
        log.info("claim_changed", namespace=self.namespace, claim=self.name, reason=reason, words=words)
        self.services.events.pod_claim(*about, reason, words, once)

    # ---- the steps

    def take(self, at: Moment) -> bool:
        pod = at.taking.any(at.seen.free)
        return pod is not None and self._named(pod, self._now())

    def take_target(self, at: Moment) -> bool:
        """It is marked by the next step, from a new look."""
        taken = at.taking.take(at.seen.view.named[at.pod])
        if taken.pod is None:
            self.refused[at.pod] = taken.why
        return True

    def adopt(self, at: Moment) -> bool:
        self._tell_refused(at.claim)
        since = self.claim.annotations.get(BOUND_AT, "") if at.pod == at.claim.source else ""
        return self._named(at.taking.hold(at.seen.objects[at.pod]), since or self._now())

    def mark(self, at: Moment) -> bool:
        held = at.taking.hold(at.seen.objects[at.pod])
        self.keep()
        self.wrote(self.services.claims.mark(self.claim, held.node))
        return True

    def give_back(self, at: Moment) -> bool:
        return self._given_back(at, discard=False)

    def discard(self, at: Moment) -> bool:
        self.tell("PodLost", f"{at.pod} is of no use any more", at.pod)
        return self._given_back(at, discard=True)

    def clear(self, at: Moment) -> bool:
        self._tell_refused(at.claim)
        self.tell("PodCleared", f"it does not have {at.claim.pod} any more", f"{at.claim.pod}/cleared")
        self.keep()
        self.wrote(self.services.claims.clear(self.claim))
        return True

    def complete(self, at: Moment) -> bool:
        self._named(at.seen.objects[at.claim.pod], self._now())
        self.ended = has_moved(at.claim.source, at.claim.pod)
        self.tell("Moved", self.ended.message, f"{at.claim.source}/{at.claim.pod}/moved")
        return True

    def finish(self, at: Moment) -> bool:
        finalizers = self.claim.finalizers
        if CLAIM_FINALIZER in finalizers:
            self.keep()
            left = [each for each in finalizers if each != CLAIM_FINALIZER]
            self.wrote(self.services.claims.set_finalizers(self.claim, left))
        self.services.index.forget(self.namespace, self.name, at.claim.uid)
        return False

    # ----

    def _named(self, pod: Pod, since: str) -> bool:
        self.keep()
        self.wrote(self.services.claims.name(self.claim, pod.name, pod.node, since))
        self.tell("PodBound", f"it has {pod.name}", f"{pod.name}/{since}")
        return True

    def _given_back(self, at: Moment, *, discard: bool) -> bool:
        pod, now = at.seen.objects[at.pod], self.services.now()
        if give_back(self.services, self.run, self.namespace, pod, self.run.token, now, discard):
            self.services.index.has_left(self.namespace, at.claim.uid, at.pod)
            self.services.queue.touch([pod_pool_key(self.namespace, claimable(pod, now).pool)])
        return True

    def _tell_refused(self, claim: Claim) -> None:
        """The move goes back: its target cannot be had."""
        if claim.moves:
            self.ended = refused(claim.pod, self.refused.get(claim.pod, "it cannot be had"))
            self.tell("MoveRefused", self.ended.message, f"{claim.source}/{claim.pod}/refused")

    def _now(self) -> str:
        return self.services.now().isoformat(timespec="seconds")


Act = Callable[[Acting, Moment], bool]
ACTS: Final[Mapping[Action, Act]] = {
    Action.TAKE: Acting.take,
    Action.TAKE_TARGET: Acting.take_target,
    Action.ADOPT: Acting.adopt,
    Action.MARK: Acting.mark,
    Action.GIVE_BACK: Acting.give_back,
    Action.DISCARD: Acting.discard,
    Action.CLEAR: Acting.clear,
    Action.COMPLETE: Acting.complete,
    Action.FINISH: Acting.finish,
}
