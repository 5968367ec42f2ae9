"""Which load balancers may go."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from domain.port_pools.removal import idle_load_balancers
from tests.support.ports.builders import load_balancer
from workers.stores.ports.pool_ledger import PoolLoadBalancer

DELAY = timedelta(minutes=10)


def old(number: int = 0, **changes: Any) -> PoolLoadBalancer:
    return load_balancer(number, **{"empty_for": DELAY, "gives": True} | changes)


@pytest.mark.row("PP-28")
@pytest.mark.parametrize(
    "changes",
    [{"slot": -1}, {"used": 1}, {"retiring": True}, {"empty_for": DELAY - timedelta(milliseconds=1)}],
    ids=["not ours", "in use", "retiring already", "not for long enough"],
)
def test_only_created_ones_that_stay_empty_may_go(changes: dict[str, Any]) -> None:
    assert idle_load_balancers([old()], DELAY, demand=0) == [old()]
    assert idle_load_balancers([old(**changes)], DELAY, demand=0) == []


@pytest.mark.row("PP-28")
def test_those_of_the_highest_slots_go_first() -> None:
    assert [lb.slot for lb in idle_load_balancers([old(1), old(0), old(2)], DELAY, demand=0)] == [2, 1, 0]


@pytest.mark.row("PP-28")
def test_while_somebody_waits_only_those_go_that_give_no_ports() -> None:
    assert idle_load_balancers([old(0), old(1, gives=False)], DELAY, demand=1) == [old(1)]
