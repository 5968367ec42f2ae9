"""What a claim asks of its pod. Nothing else knows which fields of a PodClaim choose the pod.

A field that chooses the pod becomes a field of PodRequest. PodClaimSpec fills it. What it reads of a pod becomes a
field of PodTraits. The index of claimable pods and the index of waiting claims store both values as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, Self

from domain.kubernetes.objects import KubeObject

MOST_LABELS: Final = 100
"""The most labels that the index of claimable pods keeps. Whoever may write a pod chooses how many labels it has."""


@dataclass(frozen=True)
class PodTraits:
    """What a request reads of a pod. The template of a pool has the traits of the pods that the pool creates.

    Attributes:
        pool: the pool that created the pod, None for a pod of no pool.
        labels: the pod's labels.

    """

    pool: str | None
    labels: Mapping[str, str]

    @classmethod
    def of(cls, pool: str | None, source: KubeObject) -> Self:
        """Read the traits of a pod, or of the pod template of a pool."""
        return cls(pool, source.labels)

    def bounded(self) -> Self:
        """Return the traits that the index keeps."""
        return replace(self, labels=dict(islice(sorted(self.labels.items()), MOST_LABELS)))


@dataclass(frozen=True)
class PodRequest:
    """What a claim asks of its pod.

    Attributes:
        pool: the only pool whose pods fit, None if pods of any pool do.
        selector: labels that the pod must have, with these values.

    """

    pool: str | None = None
    selector: Mapping[str, str] = field(default_factory=dict)

    def fits(self, traits: PodTraits) -> bool:
        """Tell whether a pod with these traits fits."""
        return self.misfit(traits) is None

    def misfit(self, traits: PodTraits) -> str | None:
        """Say why a pod with these traits does not fit; None if it fits."""
        if traits.pool is None:
            return "it is of no pool"
        if self.pool not in (None, traits.pool):
            return f"it is of pool {traits.pool}, and the claim wants one of {self.pool}"
        missing = {key: value for key, value in self.selector.items() if traits.labels.get(key) != value}
        return f"it lacks {_in_words(missing)}" if missing else None

    def in_words(self) -> str:
        """Describe what a pool's template must have for the request."""
        return _in_words(self.selector)

    def __hash__(self) -> int:
        """Equal requests have one hash. The dataclass cannot make it: a mapping has none."""
        return hash((self.pool, frozenset(self.selector.items())))


def _in_words(labels: Mapping[str, str]) -> str:
    return f"the labels {', '.join(f'{key}={value}' for key, value in sorted(labels.items()))}"
