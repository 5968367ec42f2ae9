"""A run that cannot go on gives its key back with a wait."""

from __future__ import annotations

from datetime import timedelta

import pytest

from berthmaster import routing
from events.workqueue import Refusal
from tests.integration.workqueue.world import HOUR, KEY, World
from tests.support.waiting import eventually


@pytest.fixture
def waiting(world: World) -> World:
    """The key has waited since a run with version 1."""
    world.mark(1)
    assert world.queue.done(world.begin(), HOUR, tries=1)
    assert (world.place(), world.dirty()) == ("W", False)
    return world


@pytest.mark.row("EV-12")
def test_an_early_hint_runs_nothing_and_leaves_the_wait(waiting: World) -> None:
    waiting.broker.send(routing.hint("early"))
    assert waiting.run_all() == []
    assert waiting.place() == "W"
    assert waiting.try_take() is Refusal.CLEAN


def test_no_sweep_ends_a_wait_before_its_time(waiting: World) -> None:
    assert waiting.queue.sweep_due() == 0
    assert waiting.queue.forget(timedelta(0)) == 0
    assert waiting.ready() == waiting.hints() == []


def test_a_mark_ends_a_wait(waiting: World) -> None:
    """Rule timer."""
    assert waiting.mark(2) == 1
    assert (waiting.place(), waiting.ready()) == ("Q", [KEY])
    assert [run.tries for run in waiting.run_all()] == [1]
    assert waiting.queue.sweep_due() == 0  # nothing is left of it


def test_an_old_version_does_not_end_a_wait(waiting: World) -> None:
    assert waiting.mark(1) == 0
    assert waiting.place() == "W"


def test_a_wait_that_is_over_runs_the_key_once(waiting: World) -> None:
    """Rule timer."""
    waiting.end_timer()
    assert waiting.queue.sweep_due() == 1
    assert waiting.queue.sweep_due() == 0
    assert waiting.ready() == [KEY]
    assert len(waiting.run_all()) == 1
    assert waiting.place() == "-"


def test_a_wait_is_as_long_as_was_said(world: World) -> None:
    world.mark(1)
    world.queue.done(world.take(), timedelta(milliseconds=80))
    before = world.now()
    eventually(lambda: world.queue.sweep_due() == 1, every=0.005)
    assert world.now() - before >= 75


def test_a_wait_of_less_than_a_millisecond_is_a_wait(world: World) -> None:
    world.mark(1)
    world.queue.done(world.take(), timedelta(microseconds=1))
    assert world.place() == "W"


def test_a_gone_object_is_remembered_while_its_key_waits(world: World) -> None:
    world.mark(1, gone=True)
    world.queue.done(world.take(), HOUR)
    assert world.queue.snapshot(KEY) is not None


def test_due_keys_beyond_the_limit_come_next(world: World) -> None:
    keys = [f"pod/a/{n}" for n in range(5)]
    world.queue.touch(keys)
    for key in keys:
        world.queue.done(world.take(key), HOUR)
        world.end_timer(key)
    world.broker.lose_all()
    assert [world.queue.sweep_due(limit=3) for _ in range(3)] == [3, 2, 0]
    assert sorted(world.ready()) == keys
