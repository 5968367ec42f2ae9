"""Rules between the fields of a PodClaim (see berthmaster.spec), and the fields that cannot be changed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from pydantic import JsonValue

from berthmaster.spec import Rule, validation
from domain.claims.additions import RESERVED
from domain.claims.labels import KEY, LONGEST_PREFIX, proper_key
from domain.kubernetes.names import PREFIX

if TYPE_CHECKING:
    from domain.claims.pod_claim import PodClaimSpec

SHORTEST: Final = timedelta(seconds=10)
LONGEST: Final = timedelta(hours=8760)
"""Bounds of a claim's ttl."""


def _keys(field: str, labels: str) -> tuple[Rule[PodClaimSpec], Rule[PodClaimSpec]]:
    def of(spec: PodClaimSpec) -> Iterable[str]:
        return getattr(spec, labels).keys()  # type: ignore[no-any-return]  # both callers below name a field of labels

    return (
        Rule(
            field,
            f"{field} has a key that no label can have",
            f"self.{field}.all(key, key.matches('{KEY}') && key.matches('{LONGEST_PREFIX}'))",
            lambda spec: not all(map(proper_key, of(spec))),
        ),
        Rule(
            field,
            f"{field} must not begin with {PREFIX}: those say whose a pod is and what it gets",
            f"self.{field}.all(key, !key.startsWith('{PREFIX}'))",
            lambda spec: any(key.startswith(PREFIX) for key in of(spec)),
        ),
    )


CLAIM_RULES: Final[tuple[Rule[PodClaimSpec], ...]] = (
    Rule(
        "poolName",
        "poolName and selector are both empty: name a pool, or labels that a pod must have",
        "size(self.poolName) > 0 || size(self.selector) > 0",
        lambda spec: not spec.pool_name and not spec.selector,
    ),
    Rule(
        "sourcePod",
        "sourcePod is given without podName: a move needs the pod that it goes to",
        "!has(self.sourcePod) || has(self.podName)",
        lambda spec: spec.source_pod is not None and spec.pod_name is None,
    ),
    Rule(
        "sourcePod",
        "sourcePod.podName must not be podName: a claim cannot move to the pod that it leaves",
        "!has(self.sourcePod) || !has(self.podName) || self.sourcePod.podName != self.podName",
        lambda spec: spec.source_pod is not None and spec.source_pod.pod_name == spec.pod_name,
    ),
    Rule(
        "ttl",
        "ttl must be from 10s to 8760h",
        "!has(self.ttl) || (duration(self.ttl) >= duration('10s') && duration(self.ttl) <= duration('8760h'))",
        lambda spec: spec.lives is not None and not SHORTEST <= spec.lives <= LONGEST,
    ),
    *_keys("selector", "selector"),
    *_keys("additionalPodLabels", "additional_pod_labels"),
    *_keys("additionalPodAnnotations", "additional_pod_annotations"),
)
KEPT: Final = ("poolName", "selector", "ownerName")


def unreserved(field: str) -> dict[str, JsonValue]:
    """Return an entry of `x-kubernetes-validations` of the field itself.

    A server with ratcheting lets a claim keep keys that it had before the rule existed. So the worker's model has no
    such rule: the worker leaves such keys out.
    """
    return {
        "rule": f"self.all(key, !key.matches('{RESERVED}'))",
        "message": f"{field} must not be under kubernetes.io or k8s.io: those are reserved",
        "reason": "FieldValueInvalid",
    }


def of_templates() -> list[dict[str, Any]]:
    """Return `x-kubernetes-validations` of the spec in a claim template."""
    return [validation(rule.field, rule.cel, rule.message) for rule in CLAIM_RULES]


def validations() -> list[dict[str, Any]]:
    """Return `x-kubernetes-validations` of the spec. What a claim asks for cannot be changed."""
    stays = "cannot be changed: make another claim"
    kept = [validation(field, f"self.{field} == oldSelf.{field}", f"{field} {stays}") for field in KEPT]
    return of_templates() + kept
