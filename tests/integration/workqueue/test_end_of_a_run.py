"""What the end of a run may and may not undo: pools added meanwhile, and a wait, however short."""

from __future__ import annotations

from datetime import timedelta

from redis import Redis

from berthmaster import routing
from events.workqueue import LeasedKey, Workqueue
from tests.support.waiting import eventually

KEY = "pod/a/b"


def queue_on(redis: Redis) -> Workqueue:
    queue = Workqueue(redis, hint_queue=routing.LATENCY)
    assert queue.assume_epoch("1:me")
    assert queue.stamp("1:me")
    return queue


def taken(queue: Workqueue) -> LeasedKey:
    answer = queue.take(KEY, timedelta(seconds=30), "n")
    assert isinstance(answer, LeasedKey), answer
    return answer


def test_a_pool_added_during_a_run_survives_the_end_of_that_run(redis: Redis) -> None:
    queue = queue_on(redis)
    queue.touch([KEY], ["one"])
    run = taken(queue)
    queue.touch([KEY], ["two"])
    assert queue.done(run, None, pools=[])
    assert taken(queue).pools == ("one", "two")


def test_a_clean_run_forgets_the_pools_that_it_left(redis: Redis) -> None:
    queue = queue_on(redis)
    queue.touch([KEY], ["one"])
    assert queue.done(taken(queue), None, pools=[])
    queue.touch([KEY])
    assert taken(queue).pools == ()


def test_a_renewal_adds_pools_and_drops_none(redis: Redis) -> None:
    queue = queue_on(redis)
    queue.touch([KEY], ["one"])
    run = taken(queue)
    assert queue.renew(run, timedelta(seconds=30), ["two"])
    assert queue.done(run, None)
    queue.touch([KEY])
    assert taken(queue).pools == ("one", "two")


def test_a_run_whose_key_was_marked_meanwhile_adds_what_it_knows_and_drops_nothing(redis: Redis) -> None:
    queue = queue_on(redis)
    queue.touch([KEY], ["one"])
    run = taken(queue)
    queue.touch([KEY])
    assert queue.done(run, None, pools=["two"])
    assert taken(queue).pools == ("one", "two")


def test_a_wait_of_nothing_is_not_an_end(redis: Redis) -> None:
    queue = queue_on(redis)
    queue.touch([KEY])
    assert queue.done(taken(queue), timedelta(0))
    eventually(lambda: queue.sweep_due() == 1)
    assert taken(queue)
