"""Reconciles one PodClaim: one step after the other, each from a new look, until nothing is left to do.

Each step is one write on the versions that were read (see domain.claims.decision), so that a run that is late, twice
or killed anywhere leaves what the next run goes on from.
"""

from __future__ import annotations

from contextlib import suppress

import structlog
from pydantic import ValidationError

from berthmaster.errors import TransientError
from berthmaster.routing import split_key
from domain.claims.decision import Action, next_step
from domain.claims.status import Reason, home
from domain.kubernetes.names import CLAIM_FINALIZER
from domain.kubernetes.objects import KubeObject, Pod
from domain.outcome import Outcome, Settled, Wait
from domain.spec_errors import spec_problem
from events.kube.api import Conflict, Denied, Invalid, KubeError, NotFound, refused_so_far, shown
from workers.claims.actions import Acting
from workers.claims.bind import Taking
from workers.claims.observe import Looking, Sight, Wish, wish_of
from workers.claims.pool_nomination import Nominating
from workers.claims.services import ClaimServices
from workers.claims.status import show, show_invalid, show_refused
from workers.kube.errors import translated
from workers.run import Run

log = structlog.get_logger()
STEPS = 12
"""More than any claim has to do at a time: who needs more is in a quarrel, and comes again after a pause."""


class PodClaimsReconciler:
    """Callable with a Run whose key is a claim's."""

    def __init__(self, services: ClaimServices) -> None:
        self._services = services

    def __call__(self, run: Run) -> Outcome:
        with translated(self._services.events, run.key, run.snapshot):
            _, namespace, name = split_key(run.key)
            claim = self._services.claims.read(namespace, name)
            if claim is None:
                self._services.index.forget(namespace, name)
                return Settled()
            claim_run = ClaimRun(self._services, run, namespace, name, claim)
            try:
                return claim_run.outcome()
            except (Conflict, NotFound) as error:
                raise TransientError(f"PodClaim {namespace}/{name} changed since it was read: {error}") from error
            except (Denied, Invalid) as error:  # of a pod that others write too: it must not keep the claim for ever
                claim_run.show_refused()
                raise TransientError(f"PodClaim {namespace}/{name}: Kubernetes refuses it: {error}") from error


class ClaimRun:
    """One run of one claim, whose steps follow each other as long as each of them is done."""

    def __init__(self, services: ClaimServices, run: Run, namespace: str, name: str, claim: KubeObject) -> None:
        self._services, self._run, self._namespace, self._name = services, run, namespace, name
        self._acting = Acting(services, run, namespace, name, claim)
        self._looking = Looking(services, namespace, name)

    def outcome(self) -> Outcome:
        for _ in range(STEPS):
            try:
                wish = wish_of(self._acting.claim)
            except ValidationError as error:
                show_invalid(self._acting, spec_problem(error))
                return Settled()
            self._enter(wish)
            seen = self._look(wish)
            if (ended := self._step(wish, seen)) is not None:
                return ended
        raise TransientError(f"PodClaim {self._namespace}/{self._name}: one step follows another without an end")

    def show_refused(self) -> None:
        """If the claim can be written: what it waits for is told by an Event in any case."""
        with suppress(KubeError):
            for refused in refused_so_far()[-1:]:
                show_refused(self._acting, str(refused))

    def _enter(self, wish: Wish) -> None:
        """Before it has anything that must be given back."""
        finalizers = self._acting.claim.finalizers
        if not wish.claim.deleting and CLAIM_FINALIZER not in finalizers:
            self._acting.keep()
            written = self._services.claims.set_finalizers(self._acting.claim, [*finalizers, CLAIM_FINALIZER])
            self._acting.wrote(written)
            self._services.index.may_have_tried(self._namespace, wish.claim.uid, ())  # no run has come further

    def _look(self, wish: Wish) -> Sight:
        return self._looking.look(wish.claim, self._acting.refused)

    def _step(self, wish: Wish, seen: Sight) -> Outcome | None:
        """None: it is done, and another may follow."""
        step, taking = next_step(wish.claim, seen.view), self._taking(wish)
        if self._acting.act(step, wish.claim, seen, taking):
            return None
        if step.action is Action.FINISH:
            return Settled()
        if step.action is Action.WAIT:
            return Wait(self._services.missing_grace - seen.view.missing, f"pod {wish.claim.pod} is missing")
        if step.action is Action.TAKE:
            return self._pending(wish, seen, taking)
        return self._rest(wish, seen, taking)

    def _taking(self, wish: Wish) -> Taking:
        return Taking(self._services, self._run, self._namespace, self._name, wish)

    def _pending(self, wish: Wish, seen: Sight, taking: Taking) -> Outcome:
        if taking.refused:  # another pod would not help
            self._services.waiting.drop(self._namespace, self._name)
            show(self._acting, wish, seen, "", Reason("PodRefused", taking.refused))
            return self._again(taking.refused)
        nominating = Nominating(self._services, self._namespace, taking.pools())
        found = nominating.nominate(wish.claim)
        created = self._acting.claim.creation_timestamp
        nominating.put(wish.claim, self._name, created, found.pool)
        reason = found.reason
        if found.pool in taking.unverified:
            reason = Reason("PoolNotVerified", f"which pods of pool {found.pool} are free is not known yet")
        show(self._acting, wish, seen, "", reason)
        return self._again(reason.message)

    def _rest(self, wish: Wish, seen: Sight, taking: Taking) -> Outcome:
        self._services.waiting.drop(self._namespace, self._name)
        own = next((pod for pod in seen.view.labelled if pod.name == wish.claim.pod), None)
        if own and not wish.claim.moves and self._looking.undressed(wish, seen.objects[own.name]):
            self._dress(taking, seen.objects[own.name])
        lives_on = home(wish.claim, seen.view)
        revision = self._looking.revision(lives_on.pool) if lives_on else ""
        show(self._acting, wish, seen, revision, Reason("PodLost", "it has lost its pod, and whenLost is Stay"))
        if wish.claim.moves:
            return Wait(self._services.retry_longest, f"pod {wish.claim.source} drains")
        return Settled()

    def _dress(self, taking: Taking, pod: Pod) -> None:
        """Its pod gets the labels that it wants now; what is refused is told, and it keeps the pod."""
        try:
            taking.hold(pod)
        except (Denied, Invalid) as error:
            shown(error)
            generation = self._acting.claim.generation
            self._acting.tell("LabelsRefused", str(error), f"{generation}/labels")

    def _again(self, why: str) -> Wait:
        """Longer each time: a pod that becomes free wakes it."""
        first, longest = self._services.retry, self._services.retry_longest
        return Wait(min(longest, first * 2 ** min(self._run.tries, 20)), why, self._run.tries + 1)
