"""Metrics of the runs of ports."""

from __future__ import annotations

from prometheus_client import Counter

ALLOCATIONS = Counter("berthmaster_allocations_total", "Requests for ports of a pool, by answer.", ["pool", "answer"])
COLLISIONS = Counter(
    "berthmaster_collisions_total", "Listeners of somebody else on our ports, by outcome.", ["pool", "outcome"]
)
SCALE_UPS = Counter("berthmaster_scale_ups_total", "Scale-up requests that went on, by outcome.", ["pool", "outcome"])
REMOVALS = Counter("berthmaster_load_balancers_removed_total", "Idle load balancers that were removed.", ["pool"])
ORPHANS = Counter("berthmaster_orphans_total", "Leftovers of ours in AWS that were taken for removal.", ["pool"])


def count_allocation(pool: str, answer: str) -> None:
    """Count an answer of the ledger to an allocation."""
    ALLOCATIONS.labels(pool, answer).inc()


def count_collision(pool: str, outcome: str) -> None:
    """Count a collision of a port."""
    COLLISIONS.labels(pool, outcome).inc()


def count_scale_up(pool: str, outcome: str) -> None:
    """Count a scale-up."""
    SCALE_UPS.labels(pool, outcome).inc()


def count_removal(pool: str) -> None:
    """Count a removed load balancer."""
    REMOVALS.labels(pool).inc()


def count_orphan(pool: str) -> None:
    """Count an orphan."""
    ORPHANS.labels(pool).inc()
