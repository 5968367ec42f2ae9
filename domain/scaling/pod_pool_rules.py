"""What the fields of a PodPool must say together: one table, two judges (see domain.ports.pool_rules)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from domain.scaling.pod_pool import PodPoolSpec


@dataclass(frozen=True)
class Rule:
    """`cel` is true and `broken` false for a good spec; CEL sees every default filled in."""

    field: str
    message: str
    cel: str
    broken: Callable[[PodPoolSpec], bool]


RULES: Final = (
    Rule(
        "minReplicas",
        "minReplicas must not be more than maxReplicas",
        "self.minReplicas <= self.maxReplicas",
        lambda spec: spec.min_replicas > spec.max_replicas,
    ),
    Rule(
        "maxIdle",
        "maxIdle must not be more than maxReplicas",
        "self.maxIdle <= self.maxReplicas",
        lambda spec: spec.max_idle > spec.max_replicas,
    ),
    Rule(
        "scaling.downBelow",
        "scaling.downBelow must be less than scaling.upAbove, else pods would come and go for ever",
        "self.scaling.downBelow < self.scaling.upAbove",
        lambda spec: spec.scaling.down_below >= spec.scaling.up_above,
    ),
)


def broken_rules(spec: PodPoolSpec) -> tuple[str, ...]:
    """Every message that applies."""
    return tuple(rule.message for rule in RULES if rule.broken(spec))


def validations() -> list[dict[str, Any]]:
    """`x-kubernetes-validations` of the spec."""
    return [
        {"rule": rule.cel, "message": rule.message, "fieldPath": f".{rule.field}", "reason": "FieldValueInvalid"}
        for rule in RULES
    ]
