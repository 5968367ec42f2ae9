"""Which load balancer is tried first, and how many more there may be."""

from __future__ import annotations

from typing import Any

import pytest

from domain.port_pools.placement import LedgerIndex, Ordering, ordering, positions
from domain.port_pools.port_pool import LoadBalancerPolicy, PortPoolSpec
from domain.port_pools.scale_up import scale_up_limits


def spec(lbs: int = 0, **changes: Any) -> PortPoolSpec:
    create = {"enabled": True, "maxLoadBalancers": 3, "maxPerRound": 2, "parameters": {"subnets": ["s"]}}
    named = [f"arn:{n}" for n in range(lbs)]
    start = {"region": "eu-west-1", "vpcId": "v", "startPort": 7000, "autoCreate": create, "loadBalancers": named}
    return PortPoolSpec.model_validate(start | changes)


@pytest.mark.row("AL-06", "AL-07", "AL-08")
def test_every_policy_has_its_own_order() -> None:
    orders = {policy: ordering(policy) for policy in LoadBalancerPolicy}
    assert orders == {
        LoadBalancerPolicy.IN_ORDER: Ordering(LedgerIndex.POSITION),
        LoadBalancerPolicy.UNIFORM: Ordering(LedgerIndex.USED),
        LoadBalancerPolicy.RANDOM: Ordering(LedgerIndex.POSITION, random_first=True),
    }


@pytest.mark.row("AL-07")
def test_named_load_balancers_come_in_list_order_and_before_created_ones() -> None:
    assert positions(["z", "a"], [(0, "bm-0"), (4, "bm-4")]) == {"z": 0, "a": 1, "bm-0": 2, "bm-4": 6}


@pytest.mark.row("AL-07")
def test_an_edited_list_moves_positions_and_nothing_else() -> None:
    assert positions(["a", "z"], [(1, "bm-1")]) == {"a": 0, "z": 1, "bm-1": 3}


@pytest.mark.row("PP-16")
def test_names_come_from_slots_below_the_limit() -> None:
    limits = scale_up_limits(spec())
    assert (limits.slots, limits.per_round, limits.capacity) == ((0, 1, 2), 2, 50)


@pytest.mark.row("PP-16")
def test_existing_load_balancers_do_not_count_against_the_limit_of_created_ones() -> None:
    assert scale_up_limits(spec(lbs=5)).slots == (0, 1, 2)


@pytest.mark.row("PP-17")
def test_nothing_grows_where_growing_is_off() -> None:
    assert scale_up_limits(spec(lbs=1, autoCreate={"enabled": False, "maxLoadBalancers": 9})).slots == ()


@pytest.mark.row("PP-16")
def test_a_small_range_limits_what_a_new_load_balancer_is_worth() -> None:
    assert scale_up_limits(spec(endPort=7004)).capacity == 5


@pytest.mark.row("PP-16", "PP-17")
def test_a_pool_may_grow_while_it_has_less_than_its_limit_and_a_slot_that_may_be_used() -> None:
    limits, off = scale_up_limits(spec(), blocked={2}), scale_up_limits(spec(lbs=1, autoCreate={"enabled": False}))
    slots = ((), (0,), (0, 1), (0, 1, 2), (0, 4), (3, 4, 5))
    assert [limits.reached(taken) for taken in slots] == [False, False, True, True, False, True]
    assert off.reached(())
