"""What the queue says of itself."""

from __future__ import annotations

from tests.integration.workqueue.world import EPOCH, HOUR, World, mark


def test_the_depth_counts_keys_by_where_they_are(world: World) -> None:
    keys = [f"pod/a/{n}" for n in range(4)]
    world.queue.marks(EPOCH, [mark(1, key) for key in keys])
    world.take(keys[0])
    world.queue.done(world.take(keys[1]), HOUR)
    world.queue.done(world.take(keys[2]), None)
    depth = world.queue.depth()
    assert {name: depth[name] for name in ("dirty", "queued", "held", "timer")} == {
        "dirty": 2,
        "queued": 1,
        "held": 1,
        "timer": 2,
    }


def test_the_age_is_that_of_the_oldest_hint(world: World) -> None:
    assert world.queue.depth()["oldest_queued_seconds"] == 0
    world.queue.marks(EPOCH, [mark(1, "pod/a/b"), mark(1)])
    world.queued_long_ago()
    assert abs(world.queue.depth()["oldest_queued_seconds"] - world.now() / 1000) < 10
