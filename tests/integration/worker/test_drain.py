"""A drain on a real queue, in this process: how long it goes on, and what one key may do to the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis

from berthmaster import routing
from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from domain.backoff import RetryPolicy
from domain.outcome import Outcome, Settled
from events.workqueue import LeasedKey, Workqueue
from tests.support.ready_keys import SENT, ready_keys
from workers.drain import QueueDrain, Report, Slice
from workers.reconcile import Ending, Reconciler
from workers.run import Run

EPOCH, KEYS = "1:publisher", [f"pod/games/p-{number}" for number in range(5)]
POLICY = RetryPolicy(timedelta(seconds=1), timedelta(seconds=8), jitter=0.5)
LEASE = timedelta(seconds=30)
LONG = timedelta(hours=1)


class Ours:
    """A process that runs `do` for each key."""

    def __init__(self, do: Callable[[Run], Outcome] = lambda _: Settled()) -> None:
        self.do, self.stops, self.ends = do, False, dict[str, str]()

    def reconciler(self, key: str) -> Reconciler | None:
        return self.do if routing.is_key(key) else None

    @contextmanager
    def run_of(self, key: LeasedKey) -> Iterator[Report]:
        def report(ending: Ending | None) -> None:
            self.ends[key.key] = ending.name if ending else "stale"

        yield report

    def stopping(self) -> bool:
        return self.stops


@pytest.fixture
def queue(redis: Redis) -> Workqueue:
    return filled(redis)


def filled(redis: Redis) -> Workqueue:
    queue = Workqueue(redis, hint_queue=routing.LATENCY)
    assert queue.assume_epoch(EPOCH)
    assert queue.stamp(EPOCH)
    queue.touch(KEYS)
    return queue


def serve(queue: Workqueue, ours: Ours, limits: Slice) -> int:
    return QueueDrain(queue, ours, POLICY, LEASE, limits).serve("a hint")


def test_a_drain_serves_what_is_ready_and_ends(queue: Workqueue) -> None:
    ours = Ours()
    assert serve(queue, ours, Slice(50, LONG)) == len(KEYS)
    assert ours.ends == dict.fromkeys(KEYS, "settled")
    assert queue.depth()["held"] == queue.depth()["dirty"] == 0


@pytest.mark.row("EV-14")
@pytest.mark.parametrize("limits", [Slice(1, LONG), Slice(50, timedelta(0))], ids=["keys", "time"])
def test_a_drain_ends_with_its_slice_and_leaves_the_rest_to_another_message(
    queue: Workqueue, redis: Redis, limits: Slice
) -> None:
    """Rule slice: by a message, so that a tick gets the thread between two slices."""
    redis.delete(routing.LATENCY, "{queue}sent")
    assert serve(queue, Ours(), limits) == 1
    assert queue.depth()["held"] == 0
    assert len(ready_keys(redis)) == len(KEYS) - 1
    assert redis.llen(routing.LATENCY) >= 1


@pytest.mark.row("EV-14")
def test_a_process_that_is_asked_to_end_takes_no_other_key(queue: Workqueue, redis: Redis) -> None:
    """Rule slice."""

    def last(_: Run) -> Outcome:
        ours.stops = True
        return Settled()

    ours = Ours(last)
    assert serve(queue, ours, Slice(50, LONG)) == 1
    assert queue.depth()["held"] == 0
    assert len(ready_keys(redis)) == len(KEYS) - 1


@pytest.mark.row("EV-14")
def test_a_drain_that_begins_while_its_process_ends_takes_no_key_and_sends_another_hint(
    queue: Workqueue, redis: Redis
) -> None:
    """Rule decline: the worker had taken the message before, and its thread comes free only now."""
    ours = Ours()
    ours.stops = True
    sent: Any = redis.zrange(SENT, 0, -1)
    redis.rpop(routing.LATENCY)
    assert QueueDrain(queue, ours, POLICY, LEASE, Slice(50, LONG)).serve(sent[0].decode()) == 0
    assert len(ready_keys(redis)) == len(KEYS)
    assert redis.llen(routing.LATENCY) == redis.zcard(SENT) == len(sent)
    assert redis.zscore(SENT, sent[0]) is None


@pytest.mark.row("HO-02", "EV-13", "EV-24")
def test_a_fault_of_one_key_is_its_own(queue: Workqueue, redis: Redis) -> None:
    odd = "pod/games/Not_A_Name"
    redis.zadd("{queue}ready:pod", {odd: 1})
    redis.hset("{queue}dirty", odd, 1)

    def do(run: Run) -> Outcome:
        if run.key == KEYS[1]:
            raise ZeroDivisionError("a bug")
        return Settled()

    ours = Ours(do)
    assert serve(queue, ours, Slice(50, LONG)) == len(KEYS) + 1
    assert ours.ends == {odd: "settled"} | dict.fromkeys(KEYS, "settled") | {KEYS[1]: "failed"}
    assert queue.depth()["dirty"] == queue.depth()["held"] == 0
    assert queue.depth()["timer"] == 1


@pytest.mark.row("HO-02")
def test_a_reconciler_that_cannot_be_made_is_a_failure_of_its_key(queue: Workqueue) -> None:
    class Broken(Ours):
        def reconciler(self, key: str) -> Reconciler | None:
            raise LookupError(key)

    ours = Broken()
    assert serve(queue, ours, Slice(50, LONG)) == len(KEYS)
    assert ours.ends == dict.fromkeys(KEYS, "failed")


@pytest.mark.row("EV-09")
def test_a_run_that_lost_its_key_does_not_end_the_drain(queue: Workqueue, redis: Redis) -> None:
    def late(run: Run) -> Outcome:
        if run.key == KEYS[0] and run.tries == 0:
            redis.zadd("{queue}timer", {run.key: 1})
            assert queue.sweep_due() == 1
        return Settled()

    ours = Ours(late)
    assert serve(queue, ours, Slice(2, LONG)) == 2
    assert ours.ends == {KEYS[0]: "stale", KEYS[1]: "settled"}
    assert KEYS[0] in ready_keys(redis)


@pytest.mark.row("EV-11")
def test_a_redis_that_goes_away_in_a_drain_is_no_failure_of_the_task(server: RedisServer) -> None:
    queue = filled(connect(server.url))

    def interrupted(_: Run) -> Outcome:
        server.kill()
        return Settled()

    assert serve(queue, Ours(interrupted), Slice(50, LONG)) == 1
    assert serve(queue, Ours(interrupted), Slice(50, LONG)) == 0
