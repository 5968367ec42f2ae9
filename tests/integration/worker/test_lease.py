"""A run's lease, on a real queue and with a clock of the test's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from redis import Redis

from berthmaster import routing
from berthmaster.errors import StaleToken, TerminalError, TransientError
from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from domain.backoff import RetryPolicy
from domain.outcome import Outcome, Settled, Wait
from events.workqueue import LeasedKey, Mark, Snapshot, Workqueue
from workers.reconcile import reconcile
from workers.run import Run

EPOCH, KEY = "1:publisher", "pod/games/lobby-0"
LEASE = timedelta(seconds=30)
POLICY = RetryPolicy(timedelta(seconds=1), timedelta(seconds=8), jitter=0.5)
PAST = 1  # ms since 1970


class Clock:
    """Seconds that the test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def queue(redis: Redis) -> Workqueue:
    queue = Workqueue(redis, hint_queue=routing.LATENCY)
    assert queue.assume_epoch(EPOCH)
    assert queue.stamp(EPOCH)
    queue.marks(EPOCH, [Mark(KEY, 1, "uid-1", gone=False, body=b"{}")])
    return queue


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def run(queue: Workqueue, clock: Clock) -> Run:
    taken = queue.take(KEY, LEASE, "nonce")
    assert isinstance(taken, LeasedKey)
    return Run(queue, taken, LEASE, clock(), clock)


def ends(redis: Redis) -> float:
    """When the lease ends, by Redis (ms)."""
    score = redis.zscore("{queue}timer", KEY)
    assert score is not None
    return float(score)


def lose(redis: Redis, queue: Workqueue) -> None:
    """The lease's time is over and a sweep has seen it."""
    redis.zadd("{queue}timer", {KEY: PAST})
    assert queue.sweep_due() == 1


@pytest.mark.row("EV-09")
def test_a_young_lease_is_kept_without_a_command(run: Run, redis: Redis, queue: Workqueue) -> None:
    lose(redis, queue)
    run.keep(timedelta(seconds=29))  # no renewal, so no refusal: the run's own clock has proved enough


@pytest.mark.row("EV-09")
def test_a_lease_that_would_end_during_the_call_is_renewed_first(run: Run, redis: Redis, clock: Clock) -> None:
    before = ends(redis)
    clock.now += 20
    run.keep(timedelta(seconds=15))
    assert ends(redis) >= before
    run.keep(timedelta(seconds=29))  # known to be long enough: no command


@pytest.mark.row("EV-09")
def test_a_call_longer_than_the_lease_gets_a_longer_one(run: Run, redis: Redis) -> None:
    before = ends(redis)
    run.keep(timedelta(seconds=90))
    assert ends(redis) - before >= 55_000


@pytest.mark.row("EV-09")
def test_a_lost_lease_ends_the_run_before_its_call(run: Run, redis: Redis, queue: Workqueue, clock: Clock) -> None:
    lose(redis, queue)
    clock.now += 31
    with pytest.raises(StaleToken):
        run.keep(timedelta(seconds=1))


def test_pools_are_recorded_at_once_and_cleared_when_the_run_ends(queue: Workqueue) -> None:
    def holding(run: Run) -> Outcome:
        run.hold(["arena", "backup"])
        return Settled()

    def releasing(run: Run) -> Outcome:
        assert run.pools == ("arena", "backup")
        run.hold([])
        return Settled()

    def empty(run: Run) -> Outcome:
        assert run.pools == ()
        return Settled()

    for version, reconciler in enumerate((holding, releasing, empty), start=2):
        queue.marks(EPOCH, [Mark(KEY, version, "uid-1", gone=False, body=b"{}")])
        assert reconcile(queue, KEY, reconciler, POLICY, LEASE) == Settled()


@pytest.mark.row("EV-06")
def test_what_a_run_wrote_itself_is_no_news(queue: Workqueue) -> None:
    def writes(run: Run) -> Outcome:
        run.record_write(Snapshot(7, "uid-1", gone=False, body={"written": True}))
        return Settled()

    assert reconcile(queue, KEY, writes, POLICY, LEASE) == Settled()
    assert queue.marks(EPOCH, [Mark(KEY, 7, "uid-1", gone=False, body=b"{}")]) == [0]


def raising(error: Exception) -> Callable[[Run], Outcome]:
    def reconciler(_: Run) -> Outcome:
        raise error

    return reconciler


@pytest.mark.row("EV-13")
@pytest.mark.parametrize(
    "error", [TransientError("tired"), StaleToken("fence"), ZeroDivisionError("bug"), ConnectionError("reset")]
)
def test_every_failure_leaves_its_key_with_a_wait(queue: Workqueue, redis: Redis, error: Exception) -> None:
    outcome = reconcile(queue, KEY, raising(error), POLICY, LEASE)
    assert isinstance(outcome, Wait)
    assert timedelta(seconds=0.5) <= outcome.for_ <= timedelta(seconds=1)
    assert redis.hget("{queue}tries", KEY) == b"1"
    assert redis.zscore("{queue}timer", KEY)


@pytest.mark.row("EV-13")
def test_a_success_forgets_the_failures(queue: Workqueue, redis: Redis) -> None:
    reconcile(queue, KEY, raising(TransientError("tired")), POLICY, LEASE)
    queue.touch([KEY])
    reconcile(queue, KEY, lambda _: Wait(timedelta(seconds=1), "as told"), POLICY, LEASE)
    assert not redis.hexists("{queue}tries", KEY)


def test_a_terminal_failure_leaves_the_key_clean(queue: Workqueue) -> None:
    assert reconcile(queue, KEY, raising(TerminalError("never")), POLICY, LEASE) == Settled()
    assert queue.depth()["dirty"] == queue.depth()["timer"] == 0


@pytest.mark.row("EV-09")
def test_a_run_that_lost_its_key_leaves_it_dirty_for_the_heir(queue: Workqueue, redis: Redis) -> None:
    def late(run: Run) -> Outcome:
        lose(redis, queue)
        taken = queue.take(run.key, LEASE, "heir")
        assert isinstance(taken, LeasedKey)
        assert queue.done(taken, None)
        return Settled()

    assert reconcile(queue, KEY, late, POLICY, LEASE) is None
    assert queue.depth()["dirty"] == queue.depth()["ready"] == 1


@pytest.mark.row("EV-11")
def test_a_redis_that_goes_away_in_a_run_is_no_failure_of_the_task(server: RedisServer) -> None:
    queue = Workqueue(connect(server.url), hint_queue=routing.LATENCY)
    assert queue.assume_epoch(EPOCH)
    assert queue.stamp(EPOCH)
    queue.marks(EPOCH, [Mark(KEY, 1, "uid-1", gone=False, body=b"{}")])

    def interrupted(_: Run) -> Outcome:
        server.kill()
        return Settled()

    assert reconcile(queue, KEY, interrupted, POLICY, LEASE) is None
    assert reconcile(queue, KEY, interrupted, POLICY, LEASE) is None
