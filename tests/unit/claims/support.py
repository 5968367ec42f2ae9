"""Builders of pods for tests of claims."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from domain.claims.pod import ClaimablePod, Phase

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def pod(name: str, phase: Phase = Phase.IDLE, age: int = 0, **rest: Any) -> ClaimablePod:
    """Build a pod of pool `warm`, revision `r1`. `age` is in seconds."""
    defaults: dict[str, Any] = {"pool": "warm", "revision": "r1", "created": NOON - timedelta(seconds=age)}
    return ClaimablePod(name, f"uid-{name}", phase=phase, **(defaults | rest))


def bound(name: str, to: str = "c1", **rest: Any) -> ClaimablePod:
    return pod(name, Phase.BOUND, claimed_by=to, **rest)
