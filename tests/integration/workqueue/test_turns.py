"""Classes of ready keys are served in turns, so that no kind waits behind the backlog of another: keys are counted."""

from __future__ import annotations

import pytest

from berthmaster.kinds import ReadyClass
from events.workqueue import LeasedKey
from tests.integration.workqueue.world import KEY, World
from tests.support.ready_keys import classes_of

CLAIM, SET, POOL, PORT_POOL = "podclaim/a/c", "podclaimset/a/s", "podpool/a/p", "portpool/p"
MANY = 1500
FAST, SLOW = 4, 8
"""Keys that are served, at most, until a key of the class is that has none of its class before it."""


@pytest.fixture
def busy(world: World) -> World:
    """Fifteen hundred pods are ready."""
    world.queue.touch([f"pod/a/{number:04}" for number in range(MANY)])
    return world


def served_until(world: World, key: str, most: int) -> int:
    taken, served = world.begin(), 1
    while taken.key != key:
        assert served <= most, f"{key} was not among {served} keys"
        ended = world.then(taken)
        assert isinstance(ended.next, LeasedKey)
        taken, served = ended.next, served + 1
    return served


@pytest.mark.row("EV-25")
@pytest.mark.parametrize("key", [CLAIM, SET, POOL, PORT_POOL])
@pytest.mark.parametrize("turn", range(8))
def test_no_kind_waits_behind_the_backlog_of_pods(busy: World, key: str, turn: int) -> None:
    """Rule turns: one line for all would put it behind 1,500."""
    busy.redis.hset("{queue}meta", "turn", turn)
    busy.queue.touch([key])
    assert served_until(busy, key, FAST) <= FAST


@pytest.mark.row("EV-25")
@pytest.mark.parametrize("turn", range(8))
def test_what_can_wait_does_not_starve(busy: World, turn: int) -> None:
    """Rule turns."""
    busy.redis.hset("{queue}meta", "turn", turn)
    busy.queue.touch([POOL], slow=True)
    assert served_until(busy, POOL, SLOW) <= SLOW


def test_a_class_without_keys_leaves_its_turn_to_the_first_in_the_order_of_priority(world: World) -> None:
    world.redis.hset("{queue}meta", "turn", 7)
    world.queue.touch([POOL], slow=True)
    world.queue.touch([KEY, CLAIM])
    assert [run.key for run in world.run_all()] == [CLAIM, KEY, POOL]


def test_keys_of_a_class_are_served_in_the_order_in_which_they_became_ready(world: World) -> None:
    keys = ["pod/a/c", "pod/a/a", "pod/a/b"]
    world.queue.touch(keys)
    for age, key in enumerate(keys):
        world.redis.zadd("{queue}ready:pod", {key: age})
    assert [run.key for run in world.run_all()] == keys


def test_each_kind_has_its_class(world: World) -> None:
    found = {}
    for key in (CLAIM, SET, POOL, PORT_POOL, KEY):
        world.queue.touch([key])
        found[key] = classes_of(world.redis, key)
    assert found == {
        CLAIM: [ReadyClass.CLAIM],
        SET: [ReadyClass.CLAIM],
        POOL: [ReadyClass.POOL],
        PORT_POOL: [ReadyClass.POOL],
        KEY: [ReadyClass.POD],
    }


@pytest.mark.row("EV-25")
def test_an_event_moves_a_key_that_nobody_waited_for(world: World) -> None:
    """Rule promote: else the event waits behind the audit's keys."""
    world.queue.touch([KEY], slow=True)
    assert classes_of(world.redis, KEY) == [ReadyClass.SLOW]
    assert world.mark(1) == 0
    assert classes_of(world.redis, KEY) == [ReadyClass.POD]
    assert len(world.run_all()) == 1


def test_an_audit_moves_no_key_back(world: World) -> None:
    """Rule promote."""
    world.mark(1)
    world.queue.touch([KEY], slow=True)
    assert classes_of(world.redis, KEY) == [ReadyClass.POD]


def test_a_slow_key_that_is_touched_again_keeps_its_place(world: World) -> None:
    world.queue.touch([KEY], slow=True)
    before = world.redis.zscore("{queue}ready:slow", KEY)
    world.redis.zadd("{queue}ready:slow", {KEY: 1})
    world.queue.touch([KEY], slow=True)
    assert world.redis.zscore("{queue}ready:slow", KEY) == 1
    assert before != 1


def test_a_key_that_was_touched_while_it_ran_is_ready_in_its_own_class(world: World) -> None:
    world.mark(1)
    taken = world.begin()
    world.queue.touch([KEY], slow=True)
    assert world.queue.done(taken, None)
    assert classes_of(world.redis, KEY) == [ReadyClass.POD]
