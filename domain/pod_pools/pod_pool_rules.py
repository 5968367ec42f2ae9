"""What the fields of a PodPool must say together (see berthmaster.spec)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from berthmaster.spec import Rule, validation

if TYPE_CHECKING:
    from domain.pod_pools.pod_pool import PodPoolSpec


RULES: Final[tuple[Rule[PodPoolSpec], ...]] = (
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


def validations() -> list[dict[str, Any]]:
    """`x-kubernetes-validations` of the spec."""
    return [validation(rule.field, rule.cel, rule.message) for rule in RULES]
