"""A message is a hint: it may be lost, doubled, early or late, and nothing depends on it but speed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from berthmaster import routing
from events.workqueue import Refusal
from tests.integration.workqueue.world import EPOCH, HOUR, KEY, World, mark
from tests.support.waiting import eventually


@pytest.mark.row("EV-06")
def test_a_thousand_events_of_a_key_are_one_message_and_one_run_of_the_last(world: World) -> None:
    world.queue.marks(EPOCH, [mark(version) for version in range(1, 1001)])
    assert world.waiting() == [KEY]
    assert [run.snapshot and run.snapshot.version for run in world.run_all()] == [1000]
    assert world.place() == "-"


@pytest.mark.row("EV-06")
def test_a_thousand_events_during_a_run_are_one_more_run(world: World) -> None:
    """Rule generation."""
    world.mark(1)
    world.broker.pop()
    taken = world.take()
    assert sum(world.queue.marks(EPOCH, [mark(version) for version in range(2, 1002)])) == 0
    assert world.waiting() == []
    assert world.queue.done(taken, None)
    assert world.waiting() == [KEY]
    assert [run.snapshot and run.snapshot.version for run in world.run_all()] == [1001]


def test_a_done_with_a_wait_gives_way_to_a_mark_during_the_run(world: World) -> None:
    """Rule generation."""
    world.mark(1)
    world.broker.pop()
    taken = world.take()
    world.mark(2)
    assert world.queue.done(taken, HOUR)
    assert (world.place(), world.waiting()) == ("Q", [KEY])


@pytest.mark.row("EV-07")
def test_doubled_hints_run_a_key_once(world: World) -> None:
    world.mark(1)
    world.broker.send(routing.hint(KEY))
    world.broker.send(routing.hint(KEY))
    taken = world.take()
    assert world.try_take() is Refusal.HELD
    assert world.queue.done(taken, None)
    assert world.try_take() is Refusal.CLEAN
    assert world.run_all() == []


@pytest.mark.row("EV-03")
def test_a_lost_hint_is_sent_again_by_the_sweep(world: World) -> None:
    """Rule lostsweep."""
    world.mark(1)
    world.queued_long_ago()
    world.broker.lose_all()
    sent = world.queue.ask_sweep_lost()
    assert sent is not None
    assert world.queue.sweep_lost(sent) == 1
    assert len(world.run_all()) == 1


@pytest.mark.row("EV-03")
def test_a_process_that_dies_between_script_and_publish_leaves_a_key_that_the_sweep_finds(apart: World) -> None:
    apart.broker.down = True  # type: ignore[union-attr]  # only `apart` has a broker that can be down
    with pytest.raises(ConnectionError):
        apart.mark(1)
    apart.broker.down = False  # type: ignore[union-attr]  # as above
    assert (apart.place(), apart.waiting()) == ("Q", [])
    assert apart.mark(2) == 0  # a later mark trusts the hint that was never sent
    assert apart.queue.sweep_lost(apart.now() + 1) == 1
    assert [run.snapshot and run.snapshot.version for run in apart.run_all()] == [2]


@pytest.mark.row("EV-03")
def test_a_sweep_that_dies_before_it_publishes_is_made_good_by_the_next(apart: World) -> None:
    apart.mark(1)
    apart.broker.lose_all()
    apart.broker.down = True  # type: ignore[union-attr]  # as above
    with pytest.raises(ConnectionError):
        apart.queue.sweep_lost(apart.now() + 1)
    apart.broker.down = False  # type: ignore[union-attr]  # as above
    assert apart.queue.sweep_lost(apart.now() + 1) == 1
    assert apart.waiting() == [KEY]


def test_sweeps_through_a_backlog_send_nothing_twice(world: World) -> None:
    """Rule lostsweep."""
    keys = [f"pod/a/{n}" for n in range(300)]
    world.queue.marks(EPOCH, [mark(1, key) for key in keys])
    for key in keys:
        world.queued_long_ago(key)  # however old a hint in a backlog is
    runs, sweeps = 0, 0
    ask(world)
    while message := world.broker.pop():
        if message.task == routing.QUEUE_SWEEP_LOST:
            assert world.queue.sweep_lost(message.argument) == 0
            sweeps += 1
        else:
            assert world.queue.done(world.take(message.argument), None)
            runs += 1
            ask(world)  # the timer that asks is much faster than the backlog
    assert (runs, sweeps) == (len(keys), 1)


def test_one_sweep_is_outstanding(world: World) -> None:
    """Rule lostsweep."""
    sent = world.queue.ask_sweep_lost()
    assert sent is not None
    assert world.queue.ask_sweep_lost() is None
    world.queue.sweep_lost(sent)
    assert world.queue.ask_sweep_lost() is not None


def test_a_late_sweep_does_not_end_the_turn_of_another(world: World) -> None:
    sent = world.queue.ask_sweep_lost()
    assert sent is not None
    world.queue.sweep_lost(sent - 60_000)
    assert world.queue.ask_sweep_lost() is None


@pytest.mark.row("RD-22")
def test_a_sweep_that_is_lost_with_the_hints_is_asked_for_again_after_two_of_its_periods(world: World) -> None:
    period = timedelta(seconds=3)
    assert world.queue.ask_sweep_lost(period) is not None
    assert 0 < int(str(world.redis.pttl("{queue}sweep"))) <= 6_000
    world.redis.pexpire("{queue}sweep", 1)
    eventually(lambda: world.queue.ask_sweep_lost(period) is not None)


@pytest.mark.row("EV-07")
def test_a_doubled_sweep_sends_nothing_twice(world: World) -> None:
    world.mark(1)
    world.queued_long_ago()
    world.broker.lose_all()
    sent = world.now()
    assert [world.queue.sweep_lost(sent), world.queue.sweep_lost(sent)] == [1, 0]
    assert world.waiting() == [KEY]


def test_a_hint_that_was_sent_after_the_sweep_is_not_lost(world: World) -> None:
    sent = world.queue.ask_sweep_lost()
    assert sent is not None
    world.mark(1)
    assert world.queue.sweep_lost(sent) == 0


def ask(world: World) -> None:
    sent = world.queue.ask_sweep_lost()
    if sent is not None:
        world.broker.send(routing.message(routing.QUEUE_SWEEP_LOST, sent))
