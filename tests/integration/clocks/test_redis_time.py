"""TIME of Redis goes back: nothing that waits in Redis waits for longer than its length."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import count

import pytest
from redis import Redis

from events.workqueue import LeasedKey, Workqueue
from tests.integration.clocks.conftest import RedisClock
from tests.integration.workqueue.world import EPOCH, KEY, OTHER, mark
from tests.support.jobs.slot_world import DAY, SlotWorld
from tests.support.ports.live_pool import LivePool
from tests.support.waiting import eventually
from workers.cloud.aws.settings import RatesSettings
from workers.cloud.call_budget import ApiClass
from workers.cloud.priority import Priority
from workers.stores.acquired_keys import time_left
from workers.stores.buckets import RedisBuckets
from workers.stores.claims.index import ClaimIndex
from workers.stores.mutexes import RedisMutexes
from workers.stores.pace import left, pause
from workers.stores.ports.audit_memory import AuditMemory
from workers.stores.slots.view import pool_sizing, view
from workers.stores.ticks import Ticks

JUMPS = pytest.mark.parametrize("back", [600, 3600])
SHORT = timedelta(milliseconds=300)
MINUTE = timedelta(minutes=1)


def taken(queue: Workqueue, key: str, lease: timedelta, nonces: count[int] = count()) -> LeasedKey:  # noqa: B008 - unique on purpose
    run = queue.take(key, lease, f"n{next(nonces)}")
    assert isinstance(run, LeasedKey), run
    return run


@pytest.fixture
def queue(redis: Redis) -> Workqueue:
    """With two keys that are marked, and whose hints are gone."""
    made = Workqueue(redis, publish=lambda _: None)
    assert made.assume_epoch(EPOCH)
    assert made.stamp(EPOCH)
    assert made.marks(EPOCH, [mark(1, KEY), mark(1, OTHER)]) == [1, 1]
    return made


@JUMPS
@pytest.mark.row("TM-03")
def test_a_waiting_key_and_the_key_of_a_killed_worker_run_in_time(
    queue: Workqueue, clock: RedisClock, back: int
) -> None:
    taken(queue, KEY, SHORT)
    assert queue.done(taken(queue, OTHER, MINUTE), SHORT)
    clock.move(-back)
    found = [0]

    def both() -> bool:
        found[0] += queue.sweep_due()
        return found[0] == 2

    eventually(both)


@pytest.mark.row("TM-03")
def test_a_wait_that_began_while_time_was_ahead_ends_in_time(queue: Workqueue, clock: RedisClock) -> None:
    """The shortest trace without the note of rule `clock`: forward and back between two sweeps."""
    queue.sweep_due()
    clock.move(600)
    assert queue.done(taken(queue, KEY, MINUTE), SHORT)
    clock.move(0)
    eventually(lambda: queue.sweep_due() == 1)


@pytest.mark.row("TM-03")
def test_a_lease_lives_on_when_time_goes_back(queue: Workqueue, clock: RedisClock) -> None:
    """Rule clock."""
    queue.sweep_due()
    run = taken(queue, KEY, MINUTE)
    clock.move(-600)
    assert queue.sweep_due() == 0
    assert queue.renew(run, MINUTE)
    assert queue.sweep_due() == 0
    assert queue.done(run, None)


@pytest.mark.row("TM-03")
def test_tokens_rise_whatever_time_says(queue: Workqueue, clock: RedisClock) -> None:
    numbers = []
    for seconds in (0, 3600, -3600):
        clock.move(seconds)
        numbers.append(int(taken(queue, KEY, SHORT).token.partition("-")[0]))
        queue.touch([KEY])
        clock.move(seconds + 60)
        queue.sweep_due()
    assert numbers == sorted(set(numbers))


@JUMPS
@pytest.mark.row("TM-03")
def test_a_lost_hint_is_found_by_the_first_sweep(queue: Workqueue, clock: RedisClock, back: int) -> None:
    assert queue.ask_sweep_lost() is not None
    assert queue.ask_sweep_lost() is None
    clock.move(-back)
    asked = queue.ask_sweep_lost()  # the one before counts as lost
    assert asked is not None
    assert queue.sweep_lost(asked) == 2


@JUMPS
@pytest.mark.row("TM-03")
def test_what_ends_by_itself_is_free_again(redis: Redis, clock: RedisClock, back: int) -> None:
    ticks, mutexes, pool = Ticks(redis), RedisMutexes(redis), LivePool(redis, "arena", 30000, 10)
    acquires: list[Callable[[], object]] = [
        lambda: ticks.acquire("queue.tick", MINUTE),
        lambda: mutexes.acquire("arn", MINUTE),
        lambda: pool.growth.win("1", MINUTE),
    ]
    pool.growth.back_off("2", pool.growth.win("2", MINUTE) or "", timedelta(minutes=5))
    assert [bool(acquire()) for acquire in acquires] == [True, True, True]
    assert [bool(acquire()) for acquire in acquires] == [False, False, False]
    pause(redis, "pace", MINUTE, MINUTE)
    assert timedelta(0) < left(redis, "pace") <= MINUTE
    clock.move(-back)
    assert left(redis, "pace") == time_left(redis, "pace") == timedelta(0)
    assert [bool(acquire()) for acquire in acquires] == [True, True, True]
    assert [bool(acquire()) for acquire in acquires] == [False, False, False]
    assert pool.growth.win("2", MINUTE)


@pytest.mark.row("TM-03")
def test_a_call_of_aws_that_is_owed_is_owed_in_time(redis: Redis, clock: RedisClock) -> None:
    buckets = RedisBuckets(redis, "r", RatesSettings())
    buckets.acquire(ApiClass.WRITE, "a", Priority.UNBIND)
    buckets.drain(ApiClass.WRITE)
    wait = buckets.acquire(ApiClass.WRITE, "a", Priority.UNBIND)
    clock.move(-600)
    again = buckets.acquire(ApiClass.WRITE, "a", Priority.UNBIND)
    assert wait is not None
    assert again is None or again <= MINUTE


@pytest.mark.row("TM-03")
def test_the_index_of_claims_is_compared_in_time(redis: Redis, clock: RedisClock) -> None:
    index = ClaimIndex(redis)
    index.due("games", MINUTE)
    assert not index.due("games", MINUTE)
    clock.move(-600)
    assert index.due("games", MINUTE)


@pytest.mark.row("TM-03")
def test_an_audit_acts_after_a_grace_from_then_on(redis: Redis, clock: RedisClock) -> None:
    memory = AuditMemory(redis)
    memory.note("p", ["difference"], SHORT)
    clock.move(-600)
    assert memory.note("p", ["difference"], SHORT).ripe == frozenset()
    eventually(lambda: memory.note("p", ["difference"], SHORT).ripe == {"difference"})


def reserved(world: SlotWorld, hold: timedelta) -> None:
    """Job `one` waits for a person."""
    world.add("a", layout=("*",))
    world.submit("one", "plan", "apply", hold_ms=hold // timedelta(milliseconds=1))
    world.deliver_all()
    world.ended("a", world.only())
    assert world.state("one") == "reserved"
    assert world.ledger.sweep(DAY).expired == ()


@JUMPS
@pytest.mark.row("TM-03")
def test_a_reservation_is_kept_for_its_length_and_no_longer(redis: Redis, clock: RedisClock, back: int) -> None:
    world = SlotWorld(redis)
    reserved(world, timedelta(seconds=1))
    clock.move(-back)
    eventually(lambda: world.ledger.sweep(DAY).expired == ("one",))


@pytest.mark.row("TM-03")
@pytest.mark.parametrize("jump", [600, -600])
def test_no_jump_takes_the_time_to_decide_from_a_person(redis: Redis, clock: RedisClock, jump: int) -> None:
    world = SlotWorld(redis)
    reserved(world, timedelta(minutes=5))
    clock.move(jump)
    assert world.ledger.sweep(DAY).expired == ()
    assert world.ledger.sweep(DAY).expired == ()
    assert world.state("one") == "reserved"


@pytest.mark.row("TM-03")
def test_silence_closing_and_cooldowns_of_a_pool_are_measured_from_then_on(redis: Redis, clock: RedisClock) -> None:
    world = SlotWorld(redis)
    world.add("a", layout=("*",))
    assert world.ledger.fence("a", "t", 0) == ""
    world.ledger.resize("9999999999999999-n", 3, 0, 5, 1)
    world.ledger.sweep(DAY)
    clock.move(-600)
    size = pool_sizing(world.ledger).size
    assert size is not None
    assert size.up < 0  # as if it had never gone up: no cooldown holds until the clock has caught up
    world.ledger.sweep(DAY)
    (before,) = view(world.ledger).pods
    eventually(lambda: view(world.ledger).pods[0].silent > before.silent)
    eventually(lambda: view(world.ledger).pods[0].closed > before.closed)


@pytest.mark.row("TM-03")
def test_a_new_waiter_waits_behind_the_others(redis: Redis, clock: RedisClock) -> None:
    pool = LivePool(redis, "arena", 30000, 10)
    pool.rebuild()
    pool.configure([])
    pool.fail("games/old", 2)
    clock.move(-600)
    pool.fail("games/new", 2)
    assert redis.zrange(f"{pool.ledger.prefix}waiting", 0, -1) == [b"games/old", b"games/new"]
