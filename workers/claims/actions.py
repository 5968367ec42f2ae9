"""The actions of a claim. Each writes a pod or the claim, in the version that was read."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from berthmaster.routing import pod_pool_key
from domain.claims.claim import Claim
from domain.claims.lifetime import Lifetime, Renewal
from domain.claims.status import expired_condition, lifetime_status, move_completed, move_refused
from domain.kubernetes.names import BOUND_AT, CLAIM_FINALIZER
from domain.kubernetes.objects import KubeObject, Pod, body_of
from domain.status import Condition
from events.kube.api import Conflict, Denied, Invalid, NotFound, shown
from workers.claims.bind import BindRefusal, PodBinder
from workers.claims.context import ClaimContext
from workers.claims.give_back import give_back
from workers.claims.observe import ClaimObservation, ClaimRequest, differs, is_valid
from workers.claims.services import ClaimServices
from workers.kube.claim_pods import pool_pod
from workers.kube.our_kinds import as_snapshot
from workers.run import Run


def with_finalizer(services: ClaimServices, run: Run, namespace: str, name: str) -> KubeObject | None:
    """Add our finalizer to a claim that nobody has reconciled yet, in the version that was published.

    So a new claim needs no read: the answer to this write is the claim. None: it is not new, or has changed since.
    """
    published = run.snapshot
    if published is None or published.gone:
        return None
    metadata = {"namespace": namespace, "name": name, "uid": published.uid, "resourceVersion": str(published.version)}
    body, spec = published.body, published.body.get("spec") or {}
    claim = KubeObject(body_of(metadata, spec=spec))
    finalizers: list[str] = body.get("finalizers") or []
    if body.get("deleting") or CLAIM_FINALIZER in finalizers or not is_valid(claim):
        return None
    run.keep(services.call_time)
    try:
        claim = services.claims.set_finalizers(claim, [*finalizers, CLAIM_FINALIZER])
    except (Conflict, NotFound, Denied, Invalid):
        return None  # a refusal comes again, and is shown, when the claim was read
    run.record_write(as_snapshot(claim))
    services.index.may_have_tried(namespace, claim.uid, ())  # no run has tried a pod yet
    return claim


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
        """Add our finalizer, before the claim has a pod that it must give back."""
        context = self._context
        finalizers = context.claim.finalizers
        if not request.claim.deleting and CLAIM_FINALIZER not in finalizers:
            context.extend_lease()
            context.update(self._services.claims.set_finalizers(context.claim, [*finalizers, CLAIM_FINALIZER]))
            self._services.index.may_have_tried(context.namespace, request.claim.uid, ())  # no run has tried a pod yet

    def take(self, observed: ClaimObservation, binder: PodBinder) -> Pod | None:
        """Bind any free pod, then name it in the claim. None: there is no pod that the claim can have."""
        pod = binder.bind_any(observed.unlabelled)
        if pod is not None:
            self._name(pod, self._now())
        return pod

    def take_target(self, target: str, observed: ClaimObservation, binder: PodBinder) -> None:
        """Bind the target of a move. The next step marks it, from a new observation."""
        binding = binder.bind(observed.view.named[target])
        if isinstance(binding, BindRefusal):
            self.refused[target] = binding.why

    def adopt(self, pod: str, observed: ClaimObservation, binder: PodBinder) -> None:
        """Name a pod that has the claim's label already."""
        claim = observed.claim
        self._report_refused_target(claim)
        since = self._context.claim.annotations.get(BOUND_AT) if pod == claim.source else None
        self._name(binder.write_labels(observed.objects[pod]), since or self._now())

    def mark(self, target: str, observed: ClaimObservation, binder: PodBinder) -> None:
        """Record in the claim that it has the target of its move."""
        pod = binder.write_labels(observed.objects[target])
        self._context.extend_lease()
        self._context.update(self._services.claims.mark(self._context.claim, pod.node))

    def give_back(self, pod: str, observed: ClaimObservation) -> None:
        """Remove the claim's label from a pod, which then drains."""
        self._give_back(observed.objects[pod], observed.claim.uid, discard=False)

    def discard(self, pod: str, observed: ClaimObservation) -> None:
        """Give back a pod that no claim gets again."""
        self._context.report("PodLost", f"pod {pod} is not usable any more", pod)
        self._give_back(observed.objects[pod], observed.claim.uid, discard=True)

    def clear(self, claim: Claim) -> None:
        """Name no pod in the claim."""
        self._report_refused_target(claim)
        self._context.report("PodCleared", f"it does not have {claim.pod} any more", f"{claim.pod}/cleared")
        self._context.extend_lease()
        self._context.update(self._services.claims.clear(self._context.claim))

    def complete(self, target: str, observed: ClaimObservation) -> None:
        """End a move: name the target alone."""
        claim = observed.claim
        self._name(observed.objects[target], self._now())
        self.move_end = move_completed(claim)
        self._context.report("Moved", self.move_end.message, f"{claim.source}/{target}/moved")

    def renew(self, lifetime: Lifetime) -> None:
        """Record the renewal that the claim shows, with the time of the API server's clock."""
        self._context.extend_lease()
        now = self._services.now()
        lifetime = replace(lifetime, recorded=Renewal(lifetime.text, now))
        renewed = self._context.claim.status | lifetime_status(lifetime)
        self._context.update(self._services.claims.set_status(self._context.claim, renewed))

    def expire(self, lifetime: Lifetime) -> bool:
        """Say in the status that the claim has expired, then delete it in that version. False: it is gone.

        A renewal in between conflicts with the deletion (rule `renewed`). The claim then gives its pods back as any
        deleted claim does.
        """
        context, expired = self._context, expired_condition(lifetime)
        others = [entry for entry in context.claim.conditions if entry["type"] != expired.type]
        status = context.claim.status | {"conditions": [*others, expired.model_dump(by_alias=True)]}
        if status != context.claim.status:
            context.extend_lease()
            with suppress(Denied, Invalid):  # an Event says it as well, and the claim ends all the same
                context.update(self._services.claims.set_status(context.claim, status))
        context.extend_lease()
        self._services.claims.delete(context.claim)
        context.report(expired.type, expired.message, "expired")
        deleted = self._services.claims.read(context.namespace, context.name)
        if deleted is None or deleted.uid != context.claim.uid:
            self._services.index.forget(context.namespace, context.name, context.claim.uid)
            return False
        context.update(deleted)
        return True

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
        if claim.moves or claim.pod is None or claim.pod not in observed.view.names:
            return
        pod = observed.objects[claim.pod]
        added = self._context.additions.to(pod, observed.request.spec.additions)
        if not differs(observed.request, pod, added.metadata):
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

    def _give_back(self, pod: Pod, uid: str, *, discard: bool) -> None:
        namespace, now = self._context.namespace, self._services.now()
        run = self._context.run
        if give_back(self._services, run, namespace, pod, run.token, now, discard):
            self._services.index.has_left(namespace, uid, pod.name)
            if pool := pool_pod(pod, now).pool:
                self._services.queue.touch([pod_pool_key(namespace, pool)])

    def _report_refused_target(self, claim: Claim) -> None:
        """Report a move that is undone because the claim cannot have its target."""
        if claim.moves:
            why = self.refused.get(claim.pod) if claim.pod else None
            self.move_end = move_refused(claim, why or "it cannot be had")
            self._context.report("MoveRefused", self.move_end.message, f"{claim.source}/{claim.pod}/refused")

    def _now(self) -> str:
        return self._services.now().isoformat(timespec="seconds")
