"""The actions of a claim set: each writes the set or its claims in the versions that were read."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from domain.claim_sets.decision import SetStep
from domain.claim_sets.reasons import some, why
from workers.claim_sets.context import ClaimSetContext
from workers.claim_sets.observe import ClaimSetObservation, record_of
from workers.kube.pod_claim_sets import SetClaims

log = structlog.get_logger()


class ClaimSetActions:
    """The actions of one run. Each raises Conflict or NotFound when its object has changed since it was read.

    Attributes:
        taken: names that the set could not create because a claim has them already.

    """

    def __init__(self, context: ClaimSetContext) -> None:
        self._context = context
        self.taken = frozenset[str]()

    def create(self, step: SetStep, observed: ClaimSetObservation) -> None:
        """Create claims. A name that exists already ends the step: the next observation says whose claim it is."""
        claims, created = self._claims(observed), dict[str, str]()
        for name in step.names:
            self._context.extend_lease()
            claim = claims.create(name, observed.spec.template)
            if claim is None:
                self.taken |= {name}
                break
            created[name] = claim.uid
        self._report(observed, step, "makes", created)

    def record(self, step: SetStep, observed: ClaimSetObservation) -> None:
        """Record in the set's status which claims are removed next, in the versions that were read."""
        self._context.set_status(observed.claim_set, {"removing": record_of(observed, step.names)})

    def remove(self, step: SetStep, observed: ClaimSetObservation) -> None:
        """Delete recorded claims. A claim that has changed since ends the step."""
        claims, deleted = self._claims(observed), dict[str, str]()
        for name in step.names:
            self._context.extend_lease()
            if not claims.delete(observed.objects[name]):
                break
            log.info("claim_removed", set=self._context.name, claim=name)
            deleted[name] = observed.objects[name].uid
        self._report(observed, step, "removes", deleted)

    def spare(self, step: SetStep, observed: ClaimSetObservation) -> None:
        """Write recorded claims: their new versions keep every worker from deleting them."""
        claims = self._claims(observed)
        for name in step.names:
            self._context.extend_lease()
            claims.spare(observed.objects[name])

    def _claims(self, observed: ClaimSetObservation) -> SetClaims:
        return SetClaims(self._context.services.kube, observed.claim_set)

    def _report(self, observed: ClaimSetObservation, step: SetStep, verb: str, claims: Mapping[str, str]) -> None:
        """Report what this run did. `claims` maps the name of each claim to its UID."""
        if claims:
            reason = why(observed.view, step)
            message = f"{verb} {some(claims)}: {reason.message}"
            self._context.report(observed.claim_set, reason.word, message, min(claims.values()))
