"""TIME of Redis is ahead for a moment between two sweeps: nothing but what is stored meanwhile shows it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from redis import Redis

from berthmaster.jobs.job import Limit
from berthmaster.jobs.placement import RESEND_MS
from domain.ports.entry import EntryState
from events.workqueue import Workqueue
from tests.integration.clocks.conftest import JUMPS, MINUTE, SHORT, RedisClock, taken
from tests.integration.workqueue.world import KEY, OTHER
from tests.support.jobs.slot_world import DAY, SlotWorld
from tests.support.ports.builders import active_pool, load_balancer
from tests.support.ports.live_pool import LivePool
from tests.support.waiting import eventually
from workers.stores.ports.ledger import NotReady
from workers.stores.ports.pool_ledger import Span


@JUMPS
@pytest.mark.row("TM-03", "AL-20")
def test_a_ledger_that_was_rebuilt_while_time_was_ahead_takes_new_runs(
    redis: Redis, clock: RedisClock, queue: Workqueue, back: int
) -> None:
    """Rule newest."""
    leased = taken(queue, KEY, MINUTE)
    clock.move(back)
    pool = LivePool(redis, "arena", 30000, 10)
    pool.rebuild()
    clock.move(0)
    pool.growth.configure(queue.newest_token(), pool.view().epoch, "Active", {}, Span(30000, 10), [load_balancer()])
    with pytest.raises(NotReady):
        pool.ledger.open("games/a", leased.token)
    assert pool.ledger.open("games/a", taken(queue, OTHER, MINUTE).token)


@pytest.mark.row("TM-03")
def test_fences_that_are_forgotten_while_time_is_far_ahead_stop_no_new_run(
    redis: Redis, clock: RedisClock, queue: Workqueue
) -> None:
    """Rule newest."""
    pool = active_pool(redis)
    assert pool.ledger.open("games/a", taken(queue, KEY, MINUTE).token)
    clock.move(timedelta(days=3).total_seconds())
    assert pool.growth.prune_fences(queue.newest_token()) == 0
    clock.move(0)
    assert pool.ledger.open("games/b", taken(queue, OTHER, MINUTE).token)


@JUMPS
@pytest.mark.row("TM-03")
def test_a_port_that_was_retained_while_time_was_ahead_is_kept_for_its_length(
    redis: Redis, clock: RedisClock, back: int
) -> None:
    """Rule clock."""
    pool = active_pool(redis)
    (held,) = pool.allocate()
    bound = replace(held, state=EntryState.BOUND, retain=1)
    pool.run().record(held.uid, [bound])
    assert pool.ledger.expire() == ()
    clock.move(back)
    assert pool.run().retain(bound)
    clock.move(0)
    eventually(lambda: pool.ledger.expire() == ("games/a",))


@JUMPS
@pytest.mark.row("TM-03")
def test_a_load_balancer_that_became_empty_while_time_was_ahead_is_idle_in_time(
    redis: Redis, clock: RedisClock, back: int
) -> None:
    """Rule clock."""
    pool = active_pool(redis)
    pool.allocate()
    assert pool.ledger.expire() == ()
    clock.move(back)
    pool.release("games/a")
    clock.move(0)
    assert pool.ledger.expire() == ()
    (lb,) = pool.view().load_balancers
    assert lb.empty_for >= timedelta(0)
    eventually(lambda: pool.retirement.retire(lb, SHORT))


@JUMPS
@pytest.mark.row("TM-03", "SD-34")
def test_an_attempt_that_began_while_time_was_ahead_runs_for_its_time(
    world: SlotWorld, clock: RedisClock, back: int
) -> None:
    """Rule clock."""
    clock.move(back)
    world.submit("one", run_ms=1000)
    world.deliver_all()
    clock.move(0)
    eventually(lambda: bool(world.ledger.sweep(DAY).over_time))
    assert world.record("one").limit is Limit.RUN


@JUMPS
@pytest.mark.row("TM-03")
def test_a_message_that_was_sent_and_lost_while_time_was_ahead_is_sent_again(
    world: SlotWorld, clock: RedisClock, back: int
) -> None:
    """Rule clock."""
    clock.move(back)
    world.submit("one")
    clock.move(0)
    assert world.ledger.sweep(DAY).placed == ()
    clock.move(RESEND_MS / 1000 + 1)
    eventually(lambda: bool(world.ledger.sweep(DAY).placed))


@JUMPS
@pytest.mark.row("TM-03")
def test_a_job_that_ended_while_time_was_ahead_is_forgotten_in_time(
    world: SlotWorld, clock: RedisClock, back: int
) -> None:
    """Rule clock."""
    world.submit("one")
    world.deliver_all()
    clock.move(back)
    world.ended("a", world.only())
    clock.move(0)
    eventually(
        lambda: bool(world.ledger.sweep(SHORT)) and not world.ledger.redis.hexists(f"{world.ledger.prefix}jobs", "one")
    )
