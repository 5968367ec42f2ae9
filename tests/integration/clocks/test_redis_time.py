"""TIME of Redis goes back: nothing that waits in Redis waits for longer than its length."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from redis import Redis

from berthmaster.jobs.job import Limit
from events.workqueue import LeasedKey, Workqueue
from tests.integration.clocks.conftest import JUMPS, MINUTE, SHORT, RedisClock, taken
from tests.integration.workqueue.world import EPOCH, KEY, OTHER
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


@JUMPS
@pytest.mark.row("TM-03")
def test_a_key_that_was_marked_while_time_was_ahead_is_not_overtaken_for_ever(
    redis: Redis, clock: RedisClock, back: int
) -> None:
    """Nothing but the mark is stored while TIME is ahead."""
    queue = Workqueue(redis, publish=lambda _: None)
    assert queue.assume_epoch(EPOCH)
    assert queue.stamp(EPOCH)
    queue.sweep_due()
    clock.move(back)
    queue.touch([KEY])
    clock.move(0)
    served = []
    for number in range(3):
        queue.sweep_due()
        queue.touch([f"pod/games/new-{number}"])
        run = queue.take_next("", MINUTE, f"d{number}", f"d{number}")
        assert isinstance(run, LeasedKey)
        served.append(run.key)
        queue.done(run, None)
    assert KEY in served


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
def test_a_lost_hint_is_found_by_the_first_tick(queue: Workqueue, clock: RedisClock, back: int) -> None:
    assert queue.forget(MINUTE) == 0
    clock.move(-back)
    assert queue.forget(MINUTE) == 2


@JUMPS
@pytest.mark.row("TM-03")
def test_a_ready_key_is_not_overtaken_by_those_that_came_after_it(
    queue: Workqueue, clock: RedisClock, back: int
) -> None:
    """Rule clock."""
    queue.sweep_due()
    clock.move(-back)
    queue.sweep_due()
    queue.touch(["pod/a/later"])
    keys = [queue.take_next("hint", MINUTE, f"d{number}", f"n{number}") for number in range(3)]
    assert [key.key for key in keys if isinstance(key, LeasedKey)][-1] == "pod/a/later"


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
    buckets = RedisBuckets(redis, "aws", "r", RatesSettings())
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
    assert world.ledger.fence("a", "t", 0) is None
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


def running(world: SlotWorld, limit: timedelta) -> tuple[tuple[str, Limit], ...]:
    """Job `one` runs; what the first sweep finds over its time."""
    world.add("a", layout=("*",))
    world.submit("one", run_ms=limit // timedelta(milliseconds=1))
    world.deliver_all()
    return world.ledger.sweep(DAY).over_time


@JUMPS
@pytest.mark.row("TM-03", "SD-34")
def test_an_attempt_runs_for_its_time_and_no_longer(redis: Redis, clock: RedisClock, back: int) -> None:
    world = SlotWorld(redis)
    found = running(world, timedelta(seconds=2))
    clock.move(-back)
    eventually(lambda: bool(found or world.ledger.sweep(DAY).over_time))
    assert world.record("one").limit is Limit.RUN


@pytest.mark.row("TM-03", "SD-34")
@pytest.mark.parametrize("jump", [600, -600])
def test_no_jump_takes_its_time_from_an_attempt(redis: Redis, clock: RedisClock, jump: int) -> None:
    world = SlotWorld(redis)
    assert running(world, timedelta(minutes=5)) == ()
    clock.move(jump)
    assert world.ledger.sweep(DAY).over_time == ()
    assert world.ledger.sweep(DAY).over_time == ()
    assert world.state("one") == "running"


@JUMPS
@pytest.mark.row("TM-03", "SD-34")
def test_an_attempt_that_began_while_time_was_behind_runs_for_its_time(
    world: SlotWorld, clock: RedisClock, back: int
) -> None:
    """Rule clock: back and forward between two sweeps."""
    clock.move(-back)
    world.submit("one", run_ms=300_000)
    world.deliver_all()
    clock.move(0)
    for _ in range(2):
        assert world.ledger.sweep(DAY).over_time == ()
    assert world.state("one") == "running"


@pytest.mark.row("TM-03")
def test_a_reservation_that_began_while_time_was_behind_is_kept(redis: Redis, clock: RedisClock) -> None:
    """Rule clock."""
    world = SlotWorld(redis)
    world.add("a", layout=("*",))
    world.submit("one", "plan", "apply", hold_ms=300_000)
    world.deliver_all()
    assert world.ledger.sweep(DAY).expired == ()
    clock.move(-600)
    world.ended("a", world.only())
    clock.move(0)
    for _ in range(2):
        assert world.ledger.sweep(DAY).expired == ()
    assert world.state("one") == "reserved"
