"""Removal of idle load balancers in the ledger: what may retire, and that nothing is given on one that does."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.integration.ledger.conftest import MakePool
from tests.integration.ledger.intents import intent_of, made
from tests.support.ports.builders import NLB, entry, load_balancer, load_balancers
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.ledger import Full, NotReady

NOW = timedelta(0)
DELAY = timedelta(minutes=10)


@pytest.mark.row("PP-28")
def test_an_empty_load_balancer_retires_and_gives_no_ports(pool: LivePool) -> None:
    lb = load_balancer()
    assert pool.retirement.retire(lb, NOW)
    assert isinstance(pool.try_allocate("games/a"), Full)
    assert (pool.view().free, pool.view().capacity) == (0, 0)
    assert pool.retirement.confirm(lb)
    assert pool.retirement.forget(lb)
    assert pool.view().load_balancers == ()
    assert intent_of(pool).slots == (0,)  # its slot is free again, and whoever failed meanwhile has it


@pytest.mark.row("PP-28")
def test_a_load_balancer_with_an_allocation_does_not_retire_whatever_its_state(pool: LivePool) -> None:
    """Rule whileempty."""
    lb = load_balancer()
    (held,) = pool.allocate("games/a")
    assert not pool.retirement.retire(lb, NOW)
    pool.run("games/a").releasing(held)
    assert not pool.retirement.retire(lb, NOW)
    pool.release("games/a")
    assert pool.retirement.retire(lb, NOW)


@pytest.mark.row("PP-28")
def test_it_must_have_been_empty_for_the_whole_delay(pool: LivePool) -> None:
    lb = load_balancer()
    assert not pool.retirement.retire(lb, DELAY)
    pool.grow_old(DELAY)
    pool.allocate("games/a")
    pool.release("games/a")
    assert not pool.retirement.retire(lb, DELAY)
    assert pool.view().load_balancers[0].empty_for < DELAY
    pool.grow_old(DELAY)
    pool.configure([lb])  # what the spec changes does not make it younger
    assert pool.retirement.retire(lb, DELAY)


@pytest.mark.row("PP-28")
def test_a_new_load_balancer_is_empty_since_it_was_added(empty: LivePool) -> None:
    empty.fail("games/a")
    intent = intent_of(empty)
    empty.growth.close(intent, made(intent))
    empty.run("games/a").leave()
    (lb,) = empty.view().load_balancers
    assert not empty.retirement.retire(lb, DELAY)
    empty.grow_old(DELAY)
    assert empty.retirement.retire(lb, DELAY)


@pytest.mark.row("PP-28")
def test_while_somebody_waits_nothing_that_gives_ports_retires(make_pool: MakePool) -> None:
    pool = make_pool(lbs=[load_balancer(0, capacity=2), load_balancer(1, capacity=0)])
    pool.fail("games/a", 3)
    assert not pool.retirement.retire(load_balancer(0), NOW)
    assert pool.retirement.retire(load_balancer(1), NOW)  # a blocked one is of no use to who waits
    pool.run("games/a").leave()
    assert pool.retirement.retire(load_balancer(0), NOW)


@pytest.mark.row("PP-28")
@pytest.mark.parametrize(
    "lb",
    [load_balancer(slot=-1), load_balancer(capacity=NLB - 1, foreign=(30003,))],
    ids=["not ours", "a stranger's listener"],
)
def test_what_others_use_does_not_retire(make_pool: MakePool, lb: object) -> None:
    pool = make_pool(lbs=[lb])
    assert not pool.retirement.retire(pool.view().load_balancers[0], NOW)


@pytest.mark.row("PP-28")
def test_only_the_load_balancer_of_that_arn_retires_and_is_forgotten(pool: LivePool) -> None:
    """An earlier one of the same name is gone: a worker that was slow means that."""
    lb, earlier = load_balancer(), load_balancer(arn="arn:earlier")
    assert not pool.retirement.retire(earlier, NOW)
    assert pool.retirement.retire(lb, NOW)
    assert not pool.retirement.confirm(earlier)
    assert not pool.retirement.forget(earlier)
    assert pool.retirement.forget(lb)


@pytest.mark.row("PP-28")
def test_one_that_is_not_retiring_is_neither_confirmed_nor_forgotten(pool: LivePool) -> None:
    assert not pool.retirement.confirm(load_balancer())
    assert not pool.retirement.forget(load_balancer())


@pytest.mark.row("PP-28")
def test_a_pool_that_is_not_active_retires_nothing(pool: LivePool) -> None:
    pool.configure([load_balancer()], state="Deleting")
    assert not pool.retirement.retire(load_balancer(), NOW)


@pytest.mark.row("PP-28")
def test_a_configuration_leaves_it_retiring(pool: LivePool) -> None:
    pool.retirement.retire(load_balancer(), NOW)
    pool.configure([load_balancer()])
    assert [(lb.retiring, lb.capacity) for lb in pool.view().load_balancers] == [(True, 0)]
    pool.configure([load_balancer(arn="arn:another")])  # the old one went, another has its name
    assert [(lb.retiring, lb.capacity) for lb in pool.view().load_balancers] == [(False, NLB)]


@pytest.mark.row("PP-28")
def test_a_rebuild_honours_the_tag(pool: LivePool) -> None:
    """Rule retiretag: its delete may be on the way. What it carries stays, and it is not confirmed while it does."""
    tagged = replace(load_balancer(), retiring=True)
    pool.redis.flushall()
    pool.rebuild({"games/a": [entry()]})
    pool.configure([tagged])
    assert isinstance(pool.try_allocate("games/b"), Full)
    assert not pool.retirement.confirm(tagged)
    pool.release("games/a")
    assert pool.retirement.confirm(tagged)


@pytest.mark.row("PP-28")
def test_an_intent_that_finds_one_tagged_adds_it_retiring(empty: LivePool) -> None:
    empty.fail("games/a")
    intent = intent_of(empty)
    found = [replace(lb, retiring=True, capacity=0) for lb in made(intent)]
    assert empty.growth.close(intent, found) == ()
    assert isinstance(empty.try_allocate("games/b"), Full)
    assert empty.retirement.confirm(found[0])


@pytest.mark.row("PP-28")
def test_after_a_loss_of_redis_nothing_is_confirmed_that_was_retiring_before(pool: LivePool) -> None:
    lb = load_balancer()
    pool.retirement.retire(lb, NOW)
    pool.redis.flushall()
    for ask in (pool.retirement.confirm, pool.retirement.forget):
        with pytest.raises(NotReady):
            ask(lb)
    pool.rebuild()
    pool.configure(load_balancers(1))
    assert not pool.retirement.confirm(lb)


@pytest.mark.row("PP-28")
def test_one_that_others_have_filled_is_not_shut_and_stays_while_somebody_waits(make_pool: MakePool) -> None:
    """Its room comes back when AWS is listed again."""
    pool = make_pool(lbs=[load_balancer(capacity=1)])
    (held,) = pool.allocate("games/h")
    pool.fail("games/a")
    pool.run("games/h").crowded(held)
    assert not pool.retirement.retire(load_balancer(), NOW)
    pool.run("games/a").leave()
    assert pool.retirement.retire(load_balancer(), NOW)
