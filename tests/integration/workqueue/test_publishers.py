"""Epochs, and the stamp that opens the queue: a publisher that is no longer the one changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from berthmaster.redis.identity import AnotherFleet, Identity
from berthmaster.redis.incarnation import INCARNATION, connect, doubt
from events.workqueue import LOST, Refusal
from events.workqueue.shard import AHEAD
from tests.integration.workqueue.brokers import Here
from tests.integration.workqueue.world import EPOCH, KEY, World, mark

NEXT = "8:publisher-b"


def test_a_lower_number_is_refused_and_does_not_end_the_higher(world: World) -> None:
    assert not world.queue.assume_epoch("6:publisher-z")
    assert world.mark(1) == 1


def test_numbers_are_compared_as_numbers(world: World) -> None:
    assert world.queue.assume_epoch("10:a")
    assert not world.queue.assume_epoch("9:a")


def test_an_equal_number_of_another_identity_takes_over(world: World) -> None:
    assert world.queue.assume_epoch("7:publisher-b")
    assert world.mark(1) == LOST
    assert world.queue.marks("7:publisher-b", [mark(1)]) == [1]


def test_after_a_handover_the_old_publisher_marks_nothing(world: World) -> None:
    heir = Here(world.redis).workqueue()
    assert heir.assume_epoch(NEXT)
    assert world.mark(2) == LOST
    assert world.queue.marks(EPOCH, [mark(2)], relist=True) == [LOST]
    assert world.queue.stored_versions() == {}
    assert heir.marks(NEXT, [mark(1)]) == [1]


def test_workers_go_on_through_a_handover(world: World) -> None:
    world.mark(1)
    Here(world.redis).workqueue().assume_epoch(NEXT)
    world.take()


def test_the_stamp_is_refused_when_another_has_claimed(world: World) -> None:
    assert world.queue.assume_epoch(EPOCH)
    Here(world.redis).workqueue().assume_epoch(NEXT)
    assert not world.queue.stamp(EPOCH)


def test_nobody_stamps_without_a_claim_of_its_own(world: World) -> None:
    assert not Here(world.redis).workqueue().stamp(EPOCH)
    assert not world.queue.assume_epoch("6:a")
    assert not world.queue.stamp(EPOCH)


def test_a_claim_stands_once_it_is_stamped_and_until_another_s(world: World) -> None:
    assert world.queue.stands(EPOCH)
    heir = Here(world.redis).workqueue()
    assert heir.highest_epoch() == 7
    assert heir.assume_epoch(NEXT)
    assert not world.queue.stands(EPOCH)
    world.redis.flushall()
    heir.assume_epoch(NEXT)
    assert not heir.stands(NEXT)
    assert heir.stamp(NEXT)
    assert heir.stands(NEXT)


@pytest.mark.row("EV-10")
def test_a_flush_is_noticed_by_every_side(world: World) -> None:
    world.mark(1)
    world.redis.flushall()
    assert world.mark(2) == LOST
    assert world.queue.marks(EPOCH, [mark(2)], relist=True) == [LOST]
    assert not world.queue.stands(EPOCH)
    assert not world.queue.stamp(EPOCH)
    assert world.try_take() is Refusal.NOT_READY
    world.queue.touch([KEY])
    assert world.try_take() is Refusal.NOT_READY  # and the request is kept until the queue is ready
    world.publish_anew()
    assert world.take().snapshot is None


@pytest.mark.row("EV-10")
def test_workers_take_nothing_before_the_list_is_complete(world: World) -> None:
    world.redis.flushall()
    world.queue.assume_epoch(EPOCH)
    assert world.queue.marks(EPOCH, [mark(1)], relist=True) == [1]
    assert world.mark(2) == LOST  # nor does a mark of the watch count
    assert world.try_take() is Refusal.NOT_READY
    assert world.queue.stamp(EPOCH)
    assert len(world.run_all()) == 1


def test_an_entry_of_the_stream_goes_with_each_mark_that_counts(world: World) -> None:
    """A worker may have stored the version already; others have not heard of it."""
    assert world.queue.marks(EPOCH, [mark(1), mark(1)], entries=[b"a", b"b"], length=10) == [1, 0]
    assert world.queue.marks(NEXT, [mark(2)], entries=[b"c"], length=10) == [LOST]
    entries: Any = world.redis.xrange("berthmaster:events")
    assert [fields for _, fields in entries] == [{b"event": b"a"}, {b"event": b"b"}]


def test_hints_are_sent_once_for_all_marks_of_a_call(world: World) -> None:
    """Rule cover: as many as are allowed ahead, not one a mark."""
    assert world.queue.marks(EPOCH, [mark(1, f"pod/games/p{n}") for n in range(5)]) == [1] * 5
    assert len(world.hints()) == AHEAD


def test_an_empty_batch_of_marks_is_allowed(world: World) -> None:
    assert world.queue.marks(EPOCH, []) == []


BLUE, GREEN = Identity("blue", "uid-of-blue"), Identity("green", "uid-of-green")


@pytest.mark.row("RD-23")
@pytest.mark.parametrize("other", [GREEN, Identity("blue", "uid-of-another"), Identity("green")])
def test_a_claim_makes_a_redis_its_fleet_s_and_another_fleet_s_changes_nothing(world: World, other: Identity) -> None:
    assert world.queue.assume_epoch(NEXT, BLUE)
    assert world.queue.stamp(NEXT)
    before = world.redis.hgetall("{queue}meta")
    with pytest.raises(AnotherFleet, match=f"belongs to fleet {BLUE}, and this process to fleet {other}"):
        Here(world.redis).workqueue().assume_epoch("9:other", other)
    assert world.redis.hgetall("{queue}meta") == before
    assert world.queue.stands(NEXT)
    world.redis.flushall()
    assert Here(world.redis).workqueue().assume_epoch("9:other", other)  # what is lost belongs to nobody
    assert world.queue.owner() == other


@pytest.mark.row("RD-23")
def test_a_publisher_that_may_not_read_kube_system_is_known_by_its_name_until_one_may(world: World) -> None:
    assert world.queue.assume_epoch(NEXT, Identity("blue"))
    assert world.queue.owner() == Identity("blue")
    assert world.queue.assume_epoch(NEXT, BLUE)
    assert world.queue.assume_epoch(NEXT, Identity("blue"))
    assert world.queue.owner() == BLUE


@pytest.mark.row("RD-23")
def test_every_connection_refuses_the_redis_of_another_fleet_before_its_first_command(
    world: World, redis_url: str
) -> None:
    world.queue.assume_epoch(NEXT, BLUE)
    with connect(redis_url, GREEN) as stranger, connect(redis_url, Identity("blue")) as own:
        with pytest.raises(AnotherFleet):
            stranger.set("key", 1)
        assert own.get("key") is None
        assert own.set("key", 1)
        assert world.queue.adopt(BLUE, GREEN)
        assert stranger.set("key", 2)
        doubt(own)
        with pytest.raises(AnotherFleet):  # over the connection that it has
            own.echo(INCARNATION)


@pytest.mark.row("RD-23")
def test_a_redis_that_is_adopted_is_open_to_nobody_before_its_new_publisher_has_listed(world: World) -> None:
    assert world.queue.assume_epoch(NEXT, BLUE)
    assert world.queue.stamp(NEXT)
    assert not world.queue.adopt(Identity("blue"), GREEN)  # exactly as it is named
    assert world.queue.adopt(BLUE, GREEN)
    assert world.queue.marks(NEXT, [mark(1)]) == [LOST]
    assert world.try_take() is Refusal.NOT_READY
    assert world.queue.assume_epoch("1:green", GREEN)  # though its Lease counts from the beginning
