"""What keeps others from removing a pod with work: a label that the pool's budget selects, and annotations.

Autoscalers honour the annotations. An annotation that the pod has from elsewhere, such as its template, stays as it is:
a record on the pod names those that we have set.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from domain.kubernetes.names import DO_NOT_DISRUPT, POOL, PROTECTED, PROTECTED_BY, SAFE_TO_EVICT
from domain.kubernetes.objects import KubeObject

HONOURED: Final[Mapping[str, str]] = {SAFE_TO_EVICT: "false", DO_NOT_DISRUPT: "true"}
"""Annotations that autoscalers honour, with the value that protects."""
CONCERNED: Final = frozenset({*HONOURED, PROTECTED_BY})
"""The annotations that a change of the protection reads and writes."""
LONGEST: Final = 128
"""Characters of an annotation: ours are shorter, and whoever may write the pod decides how long others are."""
NEVER_ENOUGH: Final = 2**31 - 1
"""More pods than there ever are: a budget that wants so many allows no eviction."""


@dataclass(frozen=True)
class ProtectionChange:
    """Labels and annotations to write; None removes one."""

    labels: dict[str, str | None]
    annotations: dict[str, str | None]


def protection(annotations: Mapping[str, str], others: Collection[str] = ()) -> ProtectionChange:
    """Return what protects a pod that has these annotations. The same write sets `others`, which are not ours."""
    before = set_by_us(annotations)
    added = [key for key in HONOURED if key not in others and (key in before or key not in annotations)]
    values: dict[str, str | None] = {key: HONOURED[key] for key in added}
    return ProtectionChange({PROTECTED: "true"}, values | {PROTECTED_BY: " ".join(added) or None})


def exposure(annotations: Mapping[str, str]) -> ProtectionChange:
    """Return what ends the protection of a pod that has these annotations."""
    return ProtectionChange({PROTECTED: None}, dict.fromkeys((*set_by_us(annotations), PROTECTED_BY)))


def is_protected(pod: KubeObject) -> bool:
    """Tell whether the pool's budget selects the pod."""
    return pod.labels.get(PROTECTED) == "true"


def budget_spec(pool: str) -> dict[str, Any]:
    """Return the spec of a budget that allows no eviction of the pool's protected pods (docs/adr/0025)."""
    return {"minAvailable": NEVER_ENOUGH, "selector": {"matchLabels": {POOL: pool, PROTECTED: "true"}}}


def concerned_by(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return those of the annotations that a change of the protection reads, cut to what it needs of them."""
    return {key: value[:LONGEST] for key, value in annotations.items() if key in CONCERNED}


def set_by_us(annotations: Mapping[str, str]) -> list[str]:
    """Return the keys that we have set and that nobody has changed since. Anybody may have written the record."""
    recorded = annotations.get(PROTECTED_BY, "").split()
    return [key for key, value in HONOURED.items() if key in recorded and annotations.get(key) == value]
