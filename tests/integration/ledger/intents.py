"""Asking a pool for its intent, as a winner does."""

from __future__ import annotations

from domain.port_pools.scale_up import Intent
from tests.support.ports.builders import NLB, limits, load_balancer
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.pool_ledger import PoolLoadBalancer


def intent_of(pool: LivePool, epoch: str = "", most: int = 3, per_round: int = 10, capacity: int = NLB) -> Intent:
    found = pool.growth.intent(epoch or pool.view().epoch, limits(most, per_round, capacity))
    assert isinstance(found, Intent), found
    return found


def refused(pool: LivePool, epoch: str = "", most: int = 3) -> str:
    found = pool.growth.intent(epoch or pool.view().epoch, limits(most))
    assert isinstance(found, str), found
    return found


def made(intent: Intent, capacity: int = NLB) -> list[PoolLoadBalancer]:
    return [load_balancer(slot, capacity=capacity) for slot in intent.slots]
