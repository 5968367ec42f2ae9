"""A message is a hint that keys are ready: it may be lost, doubled, early or late, and nothing depends on it but speed.

The traces of the rules are the shortest ones of tests/models/drain_queue.py.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from events.workqueue import AHEAD, EndOfRun, LeasedKey, Refusal
from tests.integration.workqueue.world import EPOCH, HOUR, KEY, OTHER, World, mark

THIRD = "pod/games/lobby-2"
LOST_AFTER = timedelta(seconds=5)


@pytest.mark.row("EV-06")
def test_a_thousand_events_of_a_key_are_one_message_and_one_run_of_the_last(world: World) -> None:
    world.queue.marks(EPOCH, [mark(version) for version in range(1, 1001)])
    assert len(world.hints()) == 1
    assert [run.snapshot and run.snapshot.version for run in world.run_all()] == [1000]
    assert world.place() == "-"


@pytest.mark.row("EV-06")
def test_a_thousand_events_during_a_run_are_one_more_run(world: World) -> None:
    """Rule generation."""
    world.mark(1)
    taken = world.begin()
    assert sum(world.queue.marks(EPOCH, [mark(version) for version in range(2, 1002)])) == 0
    assert world.hints() == []
    assert world.queue.done(taken, None)
    assert (world.ready(), len(world.hints())) == ([KEY], 1)
    assert [run.snapshot and run.snapshot.version for run in world.run_all()] == [1001]


def test_a_done_with_a_wait_gives_way_to_a_mark_during_the_run(world: World) -> None:
    """Rule generation."""
    world.mark(1)
    taken = world.begin()
    world.mark(2)
    assert world.queue.done(taken, HOUR)
    assert (world.place(), len(world.hints())) == ("Q", 1)


@pytest.mark.row("EV-07")
def test_doubled_hints_run_a_key_once(world: World) -> None:
    world.mark(1)
    (hint,) = world.hints()
    taken = world.begin()
    assert world.try_begin(hint) is Refusal.CLEAN
    assert world.queue.done(taken, None)
    assert world.try_begin(hint) is Refusal.CLEAN
    assert world.run_all() == []


def test_a_hint_that_nobody_knows_begins_a_drain(world: World) -> None:
    world.mark(1)
    assert world.begin("of an earlier time").key == KEY


@pytest.mark.row("EV-06", "EV-24")
def test_many_ready_keys_are_few_messages(world: World) -> None:
    keys = [f"pod/a/{number:03}" for number in range(300)]
    world.queue.marks(EPOCH, [mark(1, key) for key in keys])
    assert len(world.hints()) == AHEAD
    assert sorted(run.key for run in world.run_all()) == keys


def test_a_mark_sends_a_hint(world: World) -> None:
    """Rule cover: in a script that makes a key ready."""
    world.mark(1)
    assert len(world.hints()) == 1


def test_a_drain_that_begins_wakes_the_next_thread(world: World) -> None:
    """Rule cover: in take_next, or the second thread idles while the first one runs."""
    world.queue.marks(EPOCH, [mark(1, key) for key in (KEY, OTHER, THIRD)])
    for left in (1, 0):
        world.begin()
        assert len(world.hints()) == min(left + 1, AHEAD)


def test_a_key_that_was_marked_while_it_ran_is_covered_when_its_drain_goes_on_with_another(world: World) -> None:
    """Rule cover: in done."""
    world.queue.marks(EPOCH, [mark(1), mark(1, OTHER)])
    taken = world.begin()
    world.mark(2, taken.key)
    world.try_begin()
    assert world.hints() == []
    ended = world.then(taken, goes_on=False)
    assert ended.accepted
    assert len(world.hints()) == 1


def test_a_hint_that_was_begun_counts_no_more(world: World) -> None:
    """Rule unbegun: else a key that is marked during a long run gets no hint."""
    for number in range(AHEAD):
        world.mark(1, f"pod/a/{number}")
        world.begin()
    assert world.unbegun() == []
    world.mark(1)
    assert len(world.hints()) == 1


@pytest.mark.row("EV-03")
def test_a_lost_hint_is_replaced_by_the_tick(world: World) -> None:
    """Rule forget."""
    world.mark(1)
    world.broker.lose_all()
    assert world.queue.forget(LOST_AFTER) == 0
    assert world.hints() == []
    world.sent_long_ago()
    assert world.queue.forget(LOST_AFTER) == 1
    assert len(world.run_all()) == 1


@pytest.mark.row("EV-03")
def test_a_process_that_dies_between_script_and_publish_leaves_a_key_that_the_tick_finds(apart: World) -> None:
    """Rule forget."""
    apart.broker.down = True  # type: ignore[union-attr]  # only `apart` has a broker that can be down
    with pytest.raises(ConnectionError):
        apart.mark(1)
    apart.broker.down = False  # type: ignore[union-attr]  # as above
    assert (apart.place(), apart.hints()) == ("Q", [])
    assert apart.mark(2) == 0  # a later mark trusts the hint that was never sent
    apart.sent_long_ago()
    assert apart.queue.forget(LOST_AFTER) == 1
    assert [run.snapshot and run.snapshot.version for run in apart.run_all()] == [2]


@pytest.mark.row("EV-03")
def test_a_tick_that_dies_before_it_publishes_is_made_good_by_a_later_one(apart: World) -> None:
    apart.mark(1)
    apart.broker.lose_all()
    apart.sent_long_ago()
    apart.broker.down = True  # type: ignore[union-attr]  # as above
    with pytest.raises(ConnectionError):
        apart.queue.forget(LOST_AFTER)
    apart.broker.down = False  # type: ignore[union-attr]  # as above
    apart.sent_long_ago()
    assert apart.queue.forget(LOST_AFTER) == 1
    assert len(apart.run_all()) == 1


def test_ticks_through_a_backlog_send_no_more_hints_than_are_ahead(world: World) -> None:
    keys = [f"pod/a/{n}" for n in range(50)]
    world.queue.marks(EPOCH, [mark(1, key) for key in keys])
    for key in keys:
        world.ready_long_ago(key)  # however old a backlog is
    runs = 0
    while message := world.broker.pop():
        taken = world.try_begin(message.argument)
        if isinstance(taken, LeasedKey):
            runs += 1
            world.then(taken, goes_on=False)  # slices of one key
        world.queue.forget(LOST_AFTER)
        assert len(world.hints()) <= AHEAD
    assert runs == len(keys)


@pytest.mark.row("TM-03")
def test_a_hint_of_the_future_was_sent_before_the_clock_went_back(world: World) -> None:
    """Rule forget."""
    world.mark(1)
    world.broker.lose_all()
    world.redis.zadd("{queue}sent", {world.unbegun()[0]: world.now() + 3_600_000})
    assert world.queue.forget(LOST_AFTER) == 1
    assert len(world.run_all()) == 1


@pytest.mark.row("EV-10")
def test_a_closed_queue_takes_a_hint_off_and_sends_none(world: World) -> None:
    """Rule silent: else the workers and the queue send each other hints until the queue is open."""
    world.mark(1)
    world.redis.hdel("{queue}meta", "run")
    assert world.try_begin() is Refusal.NOT_READY
    assert (world.unbegun(), world.hints()) == ([], [])
    world.queue.touch([OTHER])
    assert world.queue.forget(LOST_AFTER) == 0
    assert world.hints() == []


@pytest.mark.row("EV-10")
def test_a_queue_that_opens_sends_hints(world: World) -> None:
    """Rule opened."""
    world.redis.flushall()
    assert world.queue.assume_epoch(EPOCH)
    world.queue.marks(EPOCH, [mark(1)], relist=True)
    world.redis.zadd("{queue}sent", {"of another server": world.now()})
    assert world.hints() == []
    assert world.queue.stamp(EPOCH)
    assert (len(world.hints()), len(world.run_all())) == (1, 1)


def test_a_key_that_is_popped_is_under_a_lease(world: World) -> None:
    """Rule one-script."""
    world.mark(1)
    taken = world.begin()
    assert world.place() == "H"
    world.mark(1, OTHER)
    ended = world.then(taken)
    assert isinstance(ended.next, LeasedKey)
    assert [world.place(), world.place(OTHER)] == ["-", "H"]


@pytest.mark.row("EV-05", "EV-11")
def test_a_drain_that_asks_again_for_its_first_key_gets_the_same(world: World) -> None:
    """Rule same: else that key is held by nobody until its lease ends."""
    world.queue.marks(EPOCH, [mark(1), mark(1, OTHER)])
    first, again = (world.queue.take_next("hint", HOUR, "drain", "nonce") for _ in range(2))
    assert isinstance(first, LeasedKey)
    assert first == again
    assert len(world.ready()) == 1


@pytest.mark.row("EV-05", "EV-11")
def test_a_drain_that_asks_again_for_its_next_key_gets_the_same(world: World) -> None:
    """Rule same."""
    world.queue.marks(EPOCH, [mark(1, key) for key in (KEY, OTHER, THIRD)])
    taken = world.queue.take_next("hint", HOUR, "drain", "first")
    assert isinstance(taken, LeasedKey)
    ended, again = (world.queue.done_and_next(taken, EndOfRun(), HOUR, "drain", "second") for _ in range(2))
    assert ended.accepted
    assert ended == again
    assert isinstance(ended.next, LeasedKey)
    assert not world.dirty(taken.key)  # the repeated end is not taken for a late one
    assert len(world.ready()) == 1


def test_a_reply_whose_key_was_lost_since_is_not_repeated(world: World) -> None:
    """The lease of the key ended between the two requests, and another run has it."""
    world.queue.marks(EPOCH, [mark(1), mark(1, OTHER)])
    first = world.queue.take_next("hint", HOUR, "drain", "nonce")
    assert isinstance(first, LeasedKey)
    world.end_timer(first.key)
    world.queue.sweep_due()
    assert world.take(first.key).token != first.token
    again = world.queue.take_next("hint", HOUR, "drain", "nonce")
    assert isinstance(again, LeasedKey)
    assert again.key != first.key


@pytest.mark.row("EV-07", "EV-11")
def test_a_key_that_is_asked_for_again_by_its_name_is_granted_once(world: World) -> None:
    """Rule same."""
    first, again = (world.queue.take(KEY, HOUR, "nonce", requested=True) for _ in range(2))
    assert isinstance(first, LeasedKey)
    assert first == again
    assert world.queue.done(first, None)
    assert not world.dirty()


@pytest.mark.row("EV-07")
def test_a_service_s_request_is_marked_and_taken_in_one_step(world: World) -> None:
    """Rule markfirst."""
    world.mark(3)
    world.run_all()
    taken = world.queue.take(KEY, HOUR, "n", requested=True)
    assert isinstance(taken, LeasedKey)
    assert taken.snapshot
    assert (taken.snapshot.version, world.place()) == (3, "H")
    assert world.queue.take(KEY, HOUR, "m", requested=True) is Refusal.HELD  # and runs once more
    assert world.queue.done(taken, None)
    assert world.ready() == [KEY]


@pytest.mark.row("HO-02")
@pytest.mark.parametrize("stored", [b"no snapshot", b"", b"000001.00000000000000000001Lu1|no json"])
def test_a_snapshot_that_cannot_be_read_is_an_unknown_one_and_delays_nobody(world: World, stored: bytes) -> None:
    world.queue.marks(EPOCH, [mark(1), mark(1, OTHER)])
    world.redis.hset("{queue}snap", KEY, stored)
    assert {run.key: run.snapshot is None for run in world.run_all()} == {KEY: True, OTHER: False}
