"""One holder a key, and what becomes of a holder that was too slow."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import pytest
from redis import Redis

from events.workqueue import LeasedKey, Refusal, Workqueue
from tests.integration.workqueue.brokers import Here
from tests.integration.workqueue.world import EPOCH, HOUR, KEY, OTHER, World, mark


@pytest.mark.row("EV-05")
def test_two_runs_of_one_key_never_overlap_and_those_of_different_keys_do(world: World) -> None:
    world.queue.marks(EPOCH, [mark(1), mark(1, OTHER)])
    first, other = world.take(), world.take(OTHER)
    assert world.try_take() is Refusal.HELD
    assert world.queue.done(first, None)
    assert world.queue.done(other, None)


@pytest.mark.row("EV-05", "EV-06")
def test_many_workers_run_each_key_serially_and_end_with_its_last_version(redis: Redis) -> None:
    world, keys, rounds = World(Here(redis)), [f"pod/a/{n}" for n in range(3)], 60
    crowd = Crowd(world.queue)
    with ThreadPoolExecutor(4) as threads:
        runs = [threads.submit(crowd.work, world) for _ in range(3)]
        for version in range(1, rounds + 1):
            world.queue.marks(EPOCH, [mark(version, key) for key in keys])
        crowd.closed = True
        for run in runs:
            run.result(30)
    assert crowd.overlaps == 0
    assert crowd.last == dict.fromkeys(keys, rounds)
    assert [world.place(key) for key in keys] == ["-"] * 3


class Crowd:
    """Workers that note who runs what at the same time, until the queue is empty and closed."""

    def __init__(self, queue: Workqueue) -> None:
        self.queue, self.lock, self.closed = queue, Lock(), False
        self.running: set[str] = set()
        self.last: dict[str, int] = {}
        self.overlaps = 0

    def work(self, world: World) -> None:
        while True:
            was_closed = self.closed
            message = world.broker.pop()
            if message:
                taken = world.try_begin(message.argument)
                while isinstance(taken, LeasedKey):
                    taken = self.run(world, taken)
            elif was_closed and not self.queue.depth()["dirty"]:
                return

    def run(self, world: World, taken: LeasedKey) -> LeasedKey | Refusal:
        with self.lock:
            self.overlaps += taken.key in self.running
            self.running.add(taken.key)
        assert taken.snapshot is not None
        with self.lock:
            self.last[taken.key] = max(taken.snapshot.version, self.last.get(taken.key, 0))
            self.running.discard(taken.key)
        ended = world.then(taken)
        assert ended.accepted
        return ended.next


@pytest.mark.row("EV-09")
def test_a_paused_holder_can_write_nothing_after_a_take_over(world: World) -> None:
    """Rule holder."""
    world.mark(1)
    paused = world.take()
    world.end_timer()
    assert world.queue.sweep_due() == 1
    heir = world.take()
    assert not world.queue.renew(paused, HOUR, ["arena"])
    assert not world.queue.done(paused, HOUR, tries=5, pools=["arena"])
    assert world.place() == "H"
    assert world.queue.renew(heir, HOUR)
    assert world.queue.done(heir, None)
    again = world.take()  # the stale done marked the key: what its holder did too late may need a look
    assert (again.tries, again.pools) == (0, ())


@pytest.mark.row("EV-09")
def test_a_paused_holder_can_write_nothing_after_the_sweep_alone(world: World) -> None:
    world.mark(1)
    paused = world.take()
    world.end_timer()
    world.queue.sweep_due()
    assert not world.queue.renew(paused, HOUR)
    assert not world.queue.done(paused, None)
    assert world.dirty()
    assert world.ready() == [KEY]


@pytest.mark.row("EV-09")
def test_an_ended_lease_is_taken_over_before_any_sweep(world: World) -> None:
    world.mark(1)
    paused = world.take()
    assert world.try_take() is Refusal.HELD
    world.end_timer()
    heir = world.take()
    assert not world.queue.done(paused, None)
    assert world.queue.done(heir, None)


def test_a_dead_holder_s_key_is_queued_again_when_its_lease_ends(world: World) -> None:
    """Rule lease."""
    world.mark(1)
    world.begin()
    assert world.queue.sweep_due() == 0
    world.end_timer()
    assert world.queue.sweep_due() == 1
    assert (world.place(), world.ready()) == ("Q", [KEY])
    assert [run.snapshot and run.snapshot.version for run in world.run_all()] == [1]


def test_a_renewed_lease_does_not_end(world: World) -> None:
    world.mark(1)
    taken = world.take()
    world.end_timer()
    assert world.queue.renew(taken, HOUR)
    assert world.queue.sweep_due() == 0
    assert world.queue.done(taken, None)


@pytest.mark.row("EV-09", "EV-10")
def test_a_token_never_comes_back_after_a_flush(world: World) -> None:
    """Rule nonce."""
    world.mark(1)
    paused = world.queue.take(KEY, HOUR, "same")
    world.redis.flushall()
    world.publish_anew()
    world.mark(1)
    heir = world.queue.take(KEY, HOUR, "same")
    assert isinstance(paused, LeasedKey)
    assert isinstance(heir, LeasedKey)
    assert paused.generation == heir.generation  # a counter is back where it was
    assert number(heir) > number(paused)
    assert not world.queue.done(paused, None)
    assert world.queue.renew(heir, HOUR)


@pytest.mark.row("EV-09")
def test_a_token_is_higher_than_the_last_although_the_clock_is_behind(world: World) -> None:
    """Rule nonce."""
    ahead = (world.now() + 3_600_000) * 1000
    world.redis.hset("{queue}meta", "tok", ahead)
    world.mark(1)
    assert number(world.take()) == ahead + 1


def test_two_takes_in_one_microsecond_have_different_numbers(world: World) -> None:
    keys = [f"pod/a/{n}" for n in range(200)]
    world.queue.touch(keys)
    assert len({number(world.take(key)) for key in keys}) == len(keys)


def number(taken: LeasedKey) -> int:
    return int(taken.token.partition("-")[0])
