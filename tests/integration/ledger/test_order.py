"""What `explain` says of an allocation is what it does: the order of load balancers, and the ports it would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from redis import Redis

from domain.port_pools.placement import ORDERINGS, LedgerIndex, Ordering
from domain.port_pools.port_pool import LoadBalancerPolicy
from tests.support.ports.builders import active_pool, load_balancer
from tests.support.ports.live_pool import IN_ORDER, UNIFORM, LivePool, single
from workers.ports.explain import LoadBalancerCandidate, candidates
from workers.stores.ports.ledger import Granted
from workers.stores.ports.trial import Trial, try_out

ORDERS = [Ordering(*parts) for parts in product(LedgerIndex, (False, True), (False, True))]
CAPACITY = 4
Books = dict[str, tuple[int, int]]
"""Load balancer: its position, and how many of its ports are taken."""
books = st.dictionaries(
    st.sampled_from(["a", "b", "B", "lb-1", "lb-10", "lb-2", "z"]),
    st.tuples(st.integers(0, 3), st.integers(0, CAPACITY)),
    min_size=1,
    max_size=5,
)


def make_pool(redis: Redis, described: Books) -> LivePool:
    """A pool whose load balancers have that position and so many ports taken."""
    rows = list(described.items())
    lbs = [
        load_balancer(n, name=name, position=position, capacity=CAPACITY)
        for n, (name, (position, _)) in enumerate(rows)
    ]
    pool = active_pool(redis, lbs=lbs)
    for lb, (_, (_, used)) in zip(lbs, rows, strict=True):
        pool.configure([lb])  # the only one, so that it gives these ports
        if used:
            pool.allocate(f"games/on-{lb.name}", used)
    pool.configure(lbs)
    return pool


def gives(order: list[LoadBalancerCandidate], ports: int) -> Counter[str]:
    """How many ports each load balancer gives to a pod when they are tried in that order."""
    given_by: Counter[str] = Counter()
    for lb in order:
        given_by[lb.name] = min(lb.capacity - lb.used, ports - given_by.total())
    return +given_by


def possible(order: Ordering, shown: list[LoadBalancerCandidate]) -> Iterator[list[LoadBalancerCandidate]]:
    """The orders that what is shown allows: any load balancer may come first where chance chooses it."""
    if not order.random_first:
        yield shown
        return
    for first in shown:
        yield [first, *(lb for lb in shown if lb is not first)]


@pytest.mark.row("AL-06", "AL-07", "AL-08")
@pytest.mark.parametrize("order", ORDERS, ids=str)
@settings(max_examples=20, database=None, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(described={"b": (0, 1), "a": (1, 1)})  # equal use: the name decides, not the position
@example(described={"b": (0, 0), "a": (0, 0), "B": (1, 4)})
@given(described=books)
def test_explain_shows_the_order_in_which_an_allocation_tries_load_balancers(
    redis: Redis, order: Ordering, described: Books
) -> None:
    redis.flushall()
    pool = make_pool(redis, described)
    shown = [lb for lb in candidates(pool.view().load_balancers, {}, order, 1) if lb.why_not is None]
    for ports in range(1, sum(lb.capacity - lb.used for lb in shown) + 1):
        answer = pool.try_allocate("games/late", single(ports), order)
        assert isinstance(answer, Granted)
        assert Counter(entry.lb for entry in answer.entries) in [gives(lbs, ports) for lbs in possible(order, shown)]
        pool.release("games/late")
    assert pool.faults() == []


def test_every_policy_has_an_order_of_those() -> None:
    assert set(ORDERINGS) == set(LoadBalancerPolicy)
    assert set(ORDERINGS.values()) <= set(ORDERS)


@pytest.mark.row("AL-25")
@given(
    described=books,
    ranges=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    order=st.sampled_from([IN_ORDER, UNIFORM]),
)
@settings(max_examples=60, database=None, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_trial_says_what_the_allocation_answers(
    redis: Redis, described: Books, ranges: list[int], order: Ordering
) -> None:
    redis.flushall()
    pool = make_pool(redis, described)
    wants = [(f"{7000 + 100 * n}/UDP", ports) for n, ports in enumerate(ranges)]
    before = {key: redis.dump(key) for key in redis.keys("*")}
    tried = try_out(pool.ledger, "games", wants, order)
    assert {key: redis.dump(key) for key in redis.keys("*")} == before
    answer = pool.try_allocate("games/a", wants, order)
    if not isinstance(answer, Granted):
        assert tried == Trial("FULL")
        return
    places = [(lb, port + n) for lb, port, ports in tried.places for n in range(ports)]
    assert (tried.status, sorted(places)) == ("FITS", sorted((e.lb, e.port) for e in answer.entries))
