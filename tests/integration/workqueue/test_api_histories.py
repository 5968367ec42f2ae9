"""The API's versions go back: the shortest traces of the model in tests/models/history.py, forced on the queue."""

from __future__ import annotations

import pytest

from events.workqueue import StoredVersion
from tests.integration.workqueue.brokers import Here
from tests.integration.workqueue.world import EPOCH, HOUR, KEY, OTHER, World, mark, written

pytestmark = pytest.mark.row("KU-11")


@pytest.fixture
def served(world: World) -> World:
    """By a publisher that has named the history."""
    assert world.queue.enter_history(EPOCH)
    return world


def test_a_new_history_takes_lower_versions_and_what_became_of_an_object(served: World) -> None:
    """Rule ownhistory."""
    served.queue.marks(EPOCH, [mark(50), mark(60, OTHER)])
    served.run_all()
    assert served.queue.enter_history(EPOCH, anew=True)
    served.queue.marks(EPOCH, [mark(40, uid="u2"), mark(45, OTHER, gone=True)])
    assert served.queue.stored_versions() == {
        KEY: StoredVersion(40, "u2", gone=False, history=2),
        OTHER: StoredVersion(45, "u1", gone=True, history=2),
    }
    assert served.ready() == [KEY, OTHER]


def test_within_the_new_history_versions_are_compared_again(served: World) -> None:
    served.mark(50)
    served.queue.enter_history(EPOCH, anew=True)
    assert [served.mark(version) for version in (40, 39, 40)] == [0, 0, 0]  # it is queued; only the first counts
    assert served.queue.stored_versions()[KEY].version == 40


def test_what_a_run_wrote_before_the_restore_is_not_stored_after_it(served: World) -> None:
    """Rule laterun."""
    served.mark(50)
    late = served.take()
    served.queue.enter_history(EPOCH, anew=True)
    served.mark(40)
    assert served.queue.done(late, None, written=written(55))
    assert served.queue.stored_versions()[KEY].version == 40
    assert served.mark(41) == 0
    assert [run.snapshot and run.snapshot.version for run in served.run_all()] == [41]


def test_a_list_of_the_new_history_is_no_echo_of_a_late_run(served: World) -> None:
    served.mark(50)
    late = served.take()
    served.queue.enter_history(EPOCH, anew=True)
    served.mark(40)
    served.queue.done(late, None, written=written(55))
    assert served.place() == "Q"


def test_what_a_run_of_the_new_history_wrote_is_no_news(served: World) -> None:
    served.queue.enter_history(EPOCH, anew=True)
    served.mark(40)
    served.queue.done(served.take(), None, written=written(41))
    assert served.mark(41) == 0
    assert not served.dirty()


def test_a_late_run_of_a_restored_redis_stores_nothing_over_what_is_older(served: World) -> None:
    """Redis went back as well: the history of the run is newer than the one that is stored."""
    served.queue.enter_history(EPOCH, anew=True)
    served.mark(40)
    late = served.take()
    served.redis.hset("{queue}meta", "history", "000001")
    served.mark(30)
    served.queue.done(late, None, written=written(41))
    assert served.queue.stored_versions()[KEY] == StoredVersion(30, "u1", gone=False, history=1)


def test_the_history_goes_on_with_the_next_publisher_and_is_begun_by_the_one_that_claimed(served: World) -> None:
    served.queue.enter_history(EPOCH, anew=True)
    heir = Here(served.redis).workqueue()
    assert heir.assume_epoch("8:heir")
    assert heir.enter_history("8:heir")
    assert heir.history == 2
    assert not served.queue.enter_history(EPOCH, anew=True)
    assert heir.enter_history("8:heir", anew=True)
    assert heir.history == 3


def test_what_an_earlier_release_stored_is_read_and_marked_anew(served: World) -> None:
    earlier = f"{50:020d}Lu1|".encode() + b'{"name":"a"}'
    served.redis.hset("{queue}snap", KEY, earlier)
    assert served.queue.stored_versions() == {KEY: StoredVersion(50, "u1", gone=False)}
    assert served.mark(50) == 1
    assert served.queue.stored_versions() == {KEY: StoredVersion(50, "u1", gone=False, history=1)}


def test_an_end_that_an_earlier_release_stored_is_forgotten_after_its_run(served: World) -> None:
    served.redis.hset("{queue}snap", KEY, f"{50:020d}Gu1|{{}}")
    served.queue.touch([KEY])
    assert served.queue.done(served.take(), None)
    assert served.queue.stored_versions() == {}


def test_a_run_that_began_on_what_an_earlier_release_stored_ends_well(served: World) -> None:
    served.redis.hset("{queue}snap", KEY, f"{50:020d}Lu1|{{}}")
    served.queue.touch([KEY])
    taken = served.take()
    assert served.mark(50) == 0
    assert served.queue.done(taken, HOUR, written=written(51))
    assert served.place() == "Q"
