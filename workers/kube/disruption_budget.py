"""The PodDisruptionBudget of a pod pool: while a pod is protected, the API server refuses to evict it."""

from __future__ import annotations

from typing import Any, Final

from domain.kubernetes.names import POOL
from domain.kubernetes.objects import KubeObject, new_object
from domain.pod_pools.protection import budget_spec
from events.kube.api import KubeApi, NotFound, path_of

Json = dict[str, Any]
API_VERSION: Final = "policy/v1"


class BudgetOfAnotherError(Exception):
    """Somebody else has created a budget of this name."""


class DisruptionBudget:
    """The budget of pool `pool`. `owner` is the pool's reference, so that the budget goes when the pool goes."""

    def __init__(self, kube: KubeApi, namespace: str, pool: str, owner: Json) -> None:
        self._kube, self._pool, self._owner = kube, pool, owner
        self.name = f"{pool}-protected"
        self._collection = path_of(f"/apis/{API_VERSION}", "namespaces", namespace, "poddisruptionbudgets")

    def ensure(self) -> None:
        """Create the budget, or create it anew if it is not as it should be. Raises BudgetOfAnotherError.

        Raises AlreadyExists, Conflict or NotFound if somebody else changes it meanwhile.
        """
        spec, budget = budget_spec(self._pool), self._read()
        if budget is not None:
            if budget.owned_by(self._owner["uid"]) and budget.spec == spec:
                return
            self._delete(budget)
        about = {"name": self.name, "labels": {POOL: self._pool}, "ownerReferences": [self._owner]}
        self._kube.create(self._collection, new_object(API_VERSION, "PodDisruptionBudget", about, spec=spec))

    def remove(self) -> None:
        """Delete the budget, if there is one. Raises BudgetOfAnotherError, Conflict or NotFound."""
        if (budget := self._read()) is not None:
            self._delete(budget)

    def _read(self) -> KubeObject | None:
        try:
            return KubeObject(self._kube.get(path_of(self._collection, self.name)))
        except NotFound:
            return None

    def _delete(self, budget: KubeObject) -> None:
        """Its status changes all the time, so that its UID is the whole precondition."""
        if budget.labels.get(POOL) != self._pool:
            raise BudgetOfAnotherError(self.name)
        self._kube.delete(path_of(self._collection, self.name), {"preconditions": {"uid": budget.uid}})
