"""Reconciles one PodClaim: one step after the other, each from a new look, until there is nothing to do or to wait."""

from __future__ import annotations

from domain.outcome import Outcome, Settled
from events.routing import split_key
from workers.claims.services import ClaimServices
from workers.kube.errors import translated
from workers.run import Run


class PodClaimsReconciler:
    """Callable with a Run whose key is a claim's."""

    def __init__(self, services: ClaimServices) -> None:
        self._services = services

    def __call__(self, run: Run) -> Outcome:
        with translated():
            _, namespace, name = split_key(run.key)
            claim = self._services.claims.read(namespace, name)
            if claim is None:
                self._services.index.forget(namespace, name)
            return Settled()
