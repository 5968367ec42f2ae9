"""The actions of a claim: each is one write of a pod or of the claim, in the version that was read."""

from __future__ import annotations

from berthmaster.routing import pod_pool_key
from domain.claims.claim import Claim
from domain.claims.status import move_completed, move_refused
from domain.kubernetes.names import BOUND_AT, CLAIM_FINALIZER
from domain.kubernetes.objects import Pod
from domain.status import Condition
from events.kube.api import Denied, Invalid, shown
from workers.claims.bind import PodBinder
from workers.claims.context import ClaimContext
from workers.claims.observe import ClaimObservation, ClaimRequest, missing_labels
from workers.claims.release import give_back
from workers.kube.claimable_pods import claimable


class ClaimActions:
    """The actions of one run. Each raises Conflict or NotFound when its object has changed since it was read.

    Attributes:
        refused: targets of a move that the claim cannot have, pod -> reason.
        move_end: the condition Moved of a move that ended in this run.

    """

    def __init__(self, context: ClaimContext) -> None:
        self._context, self._services = context, context.services
        self.refused: dict[str, str] = {}
        self.move_end: Condition | None = None

    def add_finalizer(self, request: ClaimRequest) -> None:
        """Add our finalizer, before the claim has anything that it must give back."""
        context = self._context
        finalizers = context.claim.finalizers
        if not request.claim.deleting and CLAIM_FINALIZER not in finalizers:
            context.extend_lease()
            context.update(self._services.claims.set_finalizers(context.claim, [*finalizers, CLAIM_FINALIZER]))
            self._services.index.may_have_tried(context.namespace, request.claim.uid, ())  # no run has tried a pod yet

    def take(self, observed: ClaimObservation, binder: PodBinder) -> bool:
        """Bind any free pod, then name it in the claim. False: there is none that the claim can have."""
        pod = binder.bind_any(observed.unlabelled)
        if pod is not None:
            self._name(pod, self._now())
        return pod is not None

    def take_target(self, target: str, observed: ClaimObservation, binder: PodBinder) -> None:
        """Bind the target of a move. The next step marks it, from a new observation."""
        binding = binder.bind(observed.view.named[target])
        if binding.pod is None:
            self.refused[target] = binding.why

    def adopt(self, pod: str, observed: ClaimObservation, binder: PodBinder) -> None:
        """Name a pod that has the claim's label already."""
        claim = observed.claim
        self._report_refused_target(claim)
        since = self._context.claim.annotations.get(BOUND_AT, "") if pod == claim.source else ""
        self._name(binder.write_labels(observed.objects[pod]), since or self._now())

    def mark(self, target: str, observed: ClaimObservation, binder: PodBinder) -> None:
        """Record in the claim that it has the target of its move."""
        pod = binder.write_labels(observed.objects[target])
        self._context.extend_lease()
        self._context.update(self._services.claims.mark(self._context.claim, pod.node))

    def give_back(self, pod: str, observed: ClaimObservation) -> None:
        """Remove the claim's label from a pod, which then drains."""
        self._release(observed.objects[pod], observed.claim.uid, discard=False)

    def discard(self, pod: str, observed: ClaimObservation) -> None:
        """Give back a pod that no claim gets again."""
        self._context.report("PodLost", f"pod {pod} is not usable any more", pod)
        self._release(observed.objects[pod], observed.claim.uid, discard=True)

    def clear(self, claim: Claim) -> None:
        """Name no pod in the claim."""
        self._report_refused_target(claim)
        self._context.report("PodCleared", f"it does not have {claim.pod} any more", f"{claim.pod}/cleared")
        self._context.extend_lease()
        self._context.update(self._services.claims.clear(self._context.claim))

    def complete(self, observed: ClaimObservation) -> None:
        """End a move: name the target alone."""
        claim = observed.claim
        self._name(observed.objects[claim.pod], self._now())
        self.move_end = move_completed(claim.source, claim.pod)
        self._context.report("Moved", self.move_end.message, f"{claim.source}/{claim.pod}/moved")

    def finish(self, uid: str) -> None:
        """Remove our finalizer and forget the claim."""
        context, finalizers = self._context, self._context.claim.finalizers
        if CLAIM_FINALIZER in finalizers:
            context.extend_lease()
            others = [finalizer for finalizer in finalizers if finalizer != CLAIM_FINALIZER]
            context.update(self._services.claims.set_finalizers(context.claim, others))
        self._services.index.forget(context.namespace, context.name, uid)

    def apply_labels(self, observed: ClaimObservation, binder: PodBinder) -> None:
        """Write the labels that the claim asks for now on its pod. If that is refused, the claim keeps the pod."""
        claim = observed.claim
        if claim.moves or claim.pod not in observed.view.names:
            return
        pod = observed.objects[claim.pod]
        if not missing_labels(observed.request, pod):
            return
        try:
            binder.write_labels(pod)
        except (Denied, Invalid) as error:
            shown(error)
            self._context.report("LabelsRefused", str(error), f"{self._context.claim.generation}/labels")

    def _name(self, pod: Pod, since: str) -> None:
        self._context.extend_lease()
        self._context.update(self._services.claims.name(self._context.claim, pod.name, pod.node, since))
        self._context.report("PodBound", f"it has {pod.name}", f"{pod.name}/{since}")

    def _release(self, pod: Pod, uid: str, *, discard: bool) -> None:
        namespace, now = self._context.namespace, self._services.now()
        run = self._context.run
        if give_back(self._services, run, namespace, pod, run.token, now, discard):
            self._services.index.has_left(namespace, uid, pod.name)
            self._services.queue.touch([pod_pool_key(namespace, claimable(pod, now).pool)])

    def _report_refused_target(self, claim: Claim) -> None:
        """Report a move that is undone because the claim cannot have its target."""
        if claim.moves:
            self.move_end = move_refused(claim.pod, self.refused.get(claim.pod, "it cannot be had"))
            self._context.report("MoveRefused", self.move_end.message, f"{claim.source}/{claim.pod}/refused")

    def _now(self) -> str:
        return self._services.now().isoformat(timespec="seconds")
