"""What the fields of a PodPool must say together (see berthmaster.spec)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from berthmaster.spec import Rule, length, validation
from domain.pod_pools import schedules

if TYPE_CHECKING:
    from domain.pod_pools.pod_pool import PodPoolSpec


SHORTEST: Final = timedelta(seconds=1)
LONGEST: Final = timedelta(hours=8760)
"""Bounds of the time limits of jobs."""


def _limit(field: str, of: Callable[[PodPoolSpec], str | None]) -> Rule[PodPoolSpec]:
    its = f"duration(self.{field})"
    return Rule(
        field,
        f"{field} must be from 1s to 8760h",
        f"!has(self.{field}) || ({its} >= duration('1s') && {its} <= duration('8760h'))",
        lambda spec: (text := of(spec)) is not None and not SHORTEST <= length(text) <= LONGEST,
    )


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
    _limit("queueTimeout", lambda spec: spec.queue_timeout),
    _limit("runTimeout", lambda spec: spec.run_timeout),
    Rule(
        "schedules",
        "schedules: a duration must be at least 1m and at most 744h",
        "self.schedules.all(s, duration(s.duration) >= duration('1m') && duration(s.duration) <= duration('744h'))",
        lambda spec: (
            not all(schedules.SHORTEST <= length(schedule.duration) <= schedules.LONGEST for schedule in spec.schedules)
        ),
    ),
    Rule(
        "schedules",
        "schedules: each needs minReplicas, maxIdle or freeze, else it has no effect",
        "self.schedules.all(s, has(s.minReplicas) || has(s.maxIdle) || s.freeze)",
        lambda spec: not all(schedule.effects for schedule in spec.schedules),
    ),
)


def validations() -> list[dict[str, Any]]:
    """`x-kubernetes-validations` of the spec."""
    return [validation(rule.field, rule.cel, rule.message) for rule in RULES]
