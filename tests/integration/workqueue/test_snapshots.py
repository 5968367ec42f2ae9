"""What is stored of an object, and what a run leaves behind for the next."""

from __future__ import annotations

from datetime import timedelta

import pytest

from events.workqueue import Snapshot, StoredVersion
from tests.integration.workqueue.world import EPOCH, HOUR, KEY, OTHER, World, mark, written


def test_a_version_that_is_not_newer_changes_nothing(world: World) -> None:
    world.mark(10)
    world.run_all()
    assert [world.mark(10), world.mark(9)] == [0, 0]
    assert not world.dirty()
    assert world.mark(100) == 1  # not compared as text


def test_versions_beyond_what_a_lua_number_holds_are_compared_exactly(world: World) -> None:
    large = 2**64 - 2
    assert world.mark(large) == 1
    assert world.mark(large + 1) == 0  # queued already
    assert world.take().snapshot == stored(large + 1)


def test_what_redis_knows_is_what_was_marked(world: World) -> None:
    world.queue.marks(EPOCH, [mark(1, uid="u1"), mark(2, OTHER, gone=True, uid="u2")])
    assert world.queue.stored_versions() == {
        KEY: StoredVersion(1, "u1", gone=False),
        OTHER: StoredVersion(2, "u2", gone=True),
    }


def test_no_snapshot_means_unknown(world: World) -> None:
    """Rule unknown."""
    world.queue.touch([KEY])
    assert world.ready() == [KEY]
    assert world.take().snapshot is None


def test_a_request_of_one_s_own_runs_a_settled_key_on_its_snapshot(world: World) -> None:
    """Rule markfirst."""
    world.mark(3)
    world.run_all()
    world.queue.touch([KEY, OTHER])
    world.queue.touch([KEY])
    assert world.ready() == [KEY, OTHER]
    assert [run.snapshot and run.snapshot.version for run in world.run_all()] == [3, None]


def test_a_gone_object_is_forgotten_when_its_run_is_done(world: World) -> None:
    world.mark(1, gone=True)
    assert world.queue.done(world.take(), None, tries=2)
    assert world.queue.stored_versions() == {}
    assert not world.redis.hexists("{queue}tries", KEY)


def test_a_gone_object_is_not_forgotten_when_it_came_back_meanwhile(world: World) -> None:
    world.mark(1, gone=True)
    taken = world.take()
    world.mark(2)
    assert world.queue.done(taken, None)
    assert world.queue.stored_versions() == {KEY: StoredVersion(2, "u1", gone=False)}


def test_no_text_of_a_user_makes_an_object_look_gone(world: World) -> None:
    world.queue.marks(EPOCH, [mark(1, body=b'{"a": "|gone|G|"}', uid="G")])
    assert world.queue.done(world.take(), None)
    assert world.queue.snapshot(KEY) == stored(1, "G", {"a": "|gone|G|"})


def test_attempts_and_pools_are_handed_on_until_they_are_cleared(world: World) -> None:
    world.mark(1)
    first = world.take()
    assert world.queue.renew(first, HOUR, ["arena", "backup"])
    world.queue.done(first, HOUR, tries=3)
    world.mark(2)
    second = world.take()
    assert (second.tries, second.pools) == (3, ("arena", "backup"))
    world.queue.done(second, None, pools=["backup"])
    world.mark(3)
    third = world.take()
    assert (third.tries, third.pools) == (0, ("backup",))
    world.queue.done(third, None, pools=[])
    assert not world.redis.exists("{queue}tries", "{queue}pools")


def test_where_a_name_may_hold_ports_outlives_its_object(world: World) -> None:
    world.mark(1, gone=True)
    world.queue.done(world.take(), None, pools=["arena"])
    world.mark(2)
    assert world.take().pools == ("arena",)


def stored(version: int, uid: str = "u1", body: dict[str, str] | None = None) -> Snapshot:
    return Snapshot(version, uid, gone=False, body=body or {})


# ---- what a run wrote itself


@pytest.mark.row("EV-12")
def test_the_event_of_a_run_s_own_write_is_no_news(world: World) -> None:
    world.mark(1)
    assert world.queue.done(world.take(), None, written=written(2))
    assert world.queue.snapshot(KEY) == written(2)
    assert world.mark(2) == 0
    assert not world.dirty()


@pytest.mark.row("EV-12")
@pytest.mark.parametrize("wait", [None, HOUR])
def test_the_event_of_a_write_that_comes_before_its_run_is_done_is_no_news_either(
    world: World, wait: timedelta | None
) -> None:
    world.mark(1)
    taken = world.take()
    world.mark(2)
    world.mark(3)
    assert world.queue.done(taken, wait, written=written(3))
    assert (world.place(), world.dirty()) == ("W" if wait else "-", False)
    assert world.queue.snapshot(KEY) == stored(3)


@pytest.mark.row("EV-03", "EV-12")
@pytest.mark.parametrize("first", ["request", "event"])
def test_a_request_before_or_after_the_event_of_a_run_s_own_write_runs_the_key_again(world: World, first: str) -> None:
    """Rule onlyechoes."""
    world.mark(1)
    taken = world.take()
    if first == "request":
        world.queue.touch([KEY])
    world.mark(2)
    if first == "event":
        world.queue.touch([KEY])
    assert world.queue.done(taken, None, written=written(2))
    assert world.place() == "Q"


@pytest.mark.row("EV-03")
def test_the_end_of_the_object_is_no_echo(world: World) -> None:
    """Rule onlyechoes."""
    world.mark(1)
    taken = world.take()
    world.mark(2, gone=True)
    assert world.queue.done(taken, None, written=written(2))
    assert world.place() == "Q"


@pytest.mark.row("EV-03", "EV-09")
def test_events_of_an_earlier_holder_s_time_are_no_echoes_of_the_next(world: World) -> None:
    world.mark(1)
    world.take()
    world.mark(2)
    world.end_timer()
    heir = world.take()
    world.mark(3)
    world.mark(4)
    assert world.queue.done(heir, None, written=written(3))
    assert world.place() == "Q"
    last = world.take()
    assert last.snapshot == stored(4)
    assert world.queue.done(last, None)
    assert not world.dirty()


def test_an_own_write_does_not_hide_a_newer_version(world: World) -> None:
    """Rule onlynewer."""
    world.mark(1)
    taken = world.take()
    world.mark(3)
    assert world.queue.done(taken, None, written=written(2))
    assert world.queue.snapshot(KEY) == stored(3)
    assert world.take().snapshot == stored(3)


def test_an_own_write_does_not_revive_a_gone_object(world: World) -> None:
    world.mark(1, gone=True)
    assert world.queue.done(world.take(), HOUR, written=written(2))
    assert world.queue.stored_versions() == {KEY: StoredVersion(1, "u1", gone=True)}


def test_an_own_write_makes_no_snapshot_of_an_unknown_object(world: World) -> None:
    world.queue.touch([KEY])
    assert world.queue.done(world.take(), None, written=written(2))
    assert world.queue.stored_versions() == {}


@pytest.mark.row("EV-09")
def test_a_stale_holder_s_own_write_is_not_stored(world: World) -> None:
    world.mark(1)
    paused = world.take()
    world.end_timer()
    world.queue.sweep_due()
    assert not world.queue.done(paused, None, written=written(2))
    assert world.queue.stored_versions() == {KEY: StoredVersion(1, "u1", gone=False)}
