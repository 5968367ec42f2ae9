"""What the queue says of itself."""

from __future__ import annotations

from tests.integration.workqueue.world import EPOCH, HOUR, World, mark


def test_the_depth_counts_keys_by_where_they_are(world: World) -> None:
    keys = [f"pod/a/{n}" for n in range(4)]
    world.queue.marks(EPOCH, [mark(1, key) for key in keys])
    world.take(keys[0])
    world.queue.done(world.take(keys[1]), HOUR)
    world.queue.done(world.take(keys[2]), None)
    world.queue.touch(["portpool/p"], slow=True)
    depth = world.queue.depth()
    assert {name: depth[name] for name in ("dirty", "ready", "slow", "held", "timer")} == {
        "dirty": 3,
        "ready": 2,
        "slow": 1,
        "held": 1,
        "timer": 2,
    }


def test_the_age_is_that_of_the_oldest_ready_key_for_which_somebody_waits(world: World) -> None:
    assert world.queue.depth()["oldest_ready_seconds"] == 0
    world.queue.marks(EPOCH, [mark(1, "pod/a/b"), mark(1)])
    world.queue.touch(["portpool/p"], slow=True)
    world.ready_long_ago("portpool/p")
    assert world.queue.depth()["oldest_ready_seconds"] < 1000
    world.ready_long_ago()
    assert abs(world.queue.depth()["oldest_ready_seconds"] - world.now() / 1000) < 10
