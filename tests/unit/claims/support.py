"""Builders of pods for tests of claims."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from domain.claims.pod import Phase, PoolPod
from domain.claims.pod_request import PodTraits

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def pod(name: str, phase: Phase = Phase.IDLE, age: int = 0, **rest: Any) -> PoolPod:
    """Build a pod of pool `warm`, revision `r1`, without labels. `age` is in seconds."""
    traits = PodTraits(rest.pop("pool", "warm"), rest.pop("labels", {}))
    defaults: dict[str, Any] = {"revision": "r1", "created": NOON - timedelta(seconds=age)}
    return PoolPod(name, f"uid-{name}", traits, phase=phase, **(defaults | rest))


def bound(name: str, to: str = "c1", **rest: Any) -> PoolPod:
    return pod(name, Phase.BOUND, claimed_by=to, **rest)
