"""What somebody who reaches Redis may do to the records of a pool."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.jobs.slot_world import SlotWorld

Break = Callable[[SlotWorld, str], object]
UNREADABLE = '{"form": 2}'


def lose(world: SlotWorld, job: str) -> None:
    world.redis.hdel(f"{world.ledger.prefix}jobs", job)


def spoil(world: SlotWorld, job: str) -> None:
    world.redis.hset(f"{world.ledger.prefix}jobs", job, UNREADABLE)


def lose_pod(world: SlotWorld, uid: str) -> None:
    world.redis.hdel(f"{world.ledger.prefix}pods", uid)


def spoil_pod(world: SlotWorld, uid: str) -> None:
    world.redis.hset(f"{world.ledger.prefix}pods", uid, UNREADABLE)


def holder_and_next(world: SlotWorld) -> None:
    """Two jobs of one serial key, of which the first has a slot."""
    world.add("a", layout=("*",))
    world.submit("one", "apply", serial_key="w")
    world.submit("two", "apply", serial_key="w")
