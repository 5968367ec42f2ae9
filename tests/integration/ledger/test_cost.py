"""What one allocation makes Redis do: as much in a large or a nearly full pool as in a small or an empty one."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis

from tests.integration.ledger.conftest import MakePool
from tests.support.ports.builders import NLB, load_balancers
from tests.support.ports.live_pool import IN_ORDER, RANDOM, UNIFORM, LivePool
from workers.stores.ports.ledger import Full, Granted

FULL = 40
"""Load balancers of which all but one port is taken."""


def commands(redis: Redis) -> dict[str, int]:
    """How often each command was called, those inside scripts included."""
    stats: Any = redis.info("commandstats")
    return {name: int(told["calls"]) for name, told in stats.items()}


def cost(redis: Redis, pool: LivePool, owner: str, order: Any) -> int:
    run = pool.run(owner)
    before = commands(redis)
    run.allocate(f"uid-of-{owner}", [("7777/UDP", 1)], order)
    after = commands(redis)
    return sum(after.values()) - sum(before.values()) - 1  # the question itself


@pytest.mark.row("AL-24", "AL-23")
@pytest.mark.parametrize("order", [IN_ORDER, UNIFORM, RANDOM])
def test_an_allocation_costs_as_much_whatever_the_number_and_use_of_load_balancers(
    redis: Redis, make_pool: MakePool, order: Any
) -> None:
    small = cost(redis, make_pool(name="small"), "games/a", order)
    many = cost(redis, make_pool(name="many", lbs=load_balancers(1000)), "games/a", order)
    used = make_pool(name="used", lbs=load_balancers(FULL + 1))
    for n in range(FULL):
        answer = used.run(f"games/p{n}").allocate(f"uid-{n}", [(f"{p + 1}/UDP", 1) for p in range(NLB)], IN_ORDER)
        assert isinstance(answer, Granted)
    nearly_full = cost(redis, used, "games/a", order)
    assert many <= small + 1
    assert nearly_full <= small + 1


@pytest.mark.row("AL-23", "AL-24")
def test_a_full_pool_answers_without_a_look_at_its_load_balancers(redis: Redis, make_pool: MakePool) -> None:
    pool = make_pool(name="full", lbs=load_balancers(1))
    pool.run("games/first").allocate("uid-first", [(f"{p + 1}/UDP", 1) for p in range(NLB)], IN_ORDER)
    run = pool.run("games/a")
    before = commands(redis)
    assert isinstance(run.allocate("uid-a", [("7777/UDP", 1)], IN_ORDER), Full)
    after = commands(redis)
    looked = {name for name, calls in after.items() if calls > before.get(name, 0)}
    assert not looked & {"cmdstat_zrange", "cmdstat_zrandmember"}
