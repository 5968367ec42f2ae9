"""What one step of a job makes Redis do: as much among a hundred pods and thousands of jobs as in a pool of two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from tests.support.jobs.slot_world import SlotWorld

SCANS = {"hgetall", "hvals", "hkeys", "hscan", "keys", "scan", "zscan"}
"""Commands whose one call reads as much as there is."""
Cost = dict[str, int]


class Pool:
    """`full`: every slot is taken, and as many jobs wait as have ended."""

    def __init__(self, redis: Redis, name: str, pods: int, ended: int, full: bool = False) -> None:
        self.redis, self.world = redis, SlotWorld(redis, f"ci/{name}")
        for n in range(pods):
            self.world.add(f"p{n}", ("*",))
        for n in range(ended):
            self.run(f"ended-{n}", serial_key="once")
        if full:
            for n in range(pods + ended):
                self.world.submit(f"more-{n}", "apply", serial_key=f"k{n}")
        self.world.deliver_all()

    def run(self, job: str, **options: Any) -> None:
        self.world.submit(job, "apply", **options)
        self.world.deliver_all()
        uid = self.world.record(job).uid
        self.world.ended(uid, self.world.only(uid))
        self.world.runners[uid].ended.clear()

    def cost(self, step: Callable[[], object]) -> Cost:
        before = self.commands()
        step()
        after = self.commands()
        return {name: calls - before.get(name, 0) for name, calls in after.items() if calls > before.get(name, 0)}

    def commands(self) -> Cost:
        """How often each was called, those inside scripts included; asking for it is left out."""
        stats: Any = self.redis.info("commandstats")
        names = {name.removeprefix("cmdstat_"): int(told["calls"]) for name, told in stats.items()}
        return {name: calls for name, calls in names.items() if name != "info"}


def life(pool: Pool) -> dict[str, Cost]:
    """Of a job of two phases, from its submission to its end."""
    world = pool.world
    costs = {"submit": pool.cost(lambda: world.submit("j", "plan", "apply", serial_key="mine"))}
    costs["start"] = pool.cost(world.deliver_all)
    uid = world.record("j").uid
    plan = world.only(uid)
    world.end(uid, plan)
    costs["plan ends"] = pool.cost(lambda: world.tell(uid, plan))
    costs["report"] = pool.cost(lambda: world.beat(uid))
    costs["confirm"] = pool.cost(lambda: world.confirm("j", plan))
    world.deliver_all()
    apply = world.only(uid)
    world.end(uid, apply)
    costs["finish"] = pool.cost(lambda: world.tell(uid, apply))
    world.submit("k", "plan")
    return costs | {"cancel": pool.cost(lambda: world.cancel("k"))}


def in_a_full(pool: Pool) -> list[Cost]:
    return [pool.cost(lambda: pool.world.submit("late")), end_of_one(pool)]


def end_of_one(pool: Pool) -> Cost:
    """Its slot goes to the next that waits."""
    uid = pool.world.record("more-0").uid
    attempt = pool.world.only(uid)
    pool.world.end(uid, attempt)
    return pool.cost(lambda: pool.world.tell(uid, attempt))


@pytest.mark.row("SL-31", "SL-04")
def test_the_steps_of_a_job_cost_the_same_whatever_the_number_of_pods_and_jobs(redis: Redis) -> None:
    life(Pool(redis, "first", pods=2, ended=1))  # the server knows the scripts from here on
    small = life(Pool(redis, "small", pods=2, ended=1))
    large = life(Pool(redis, "large", pods=100, ended=300))
    assert large == small
    assert not {name for cost in large.values() for name in cost} & SCANS


@pytest.mark.row("SL-31", "SL-04")
def test_in_a_full_pool_a_job_lines_up_and_takes_a_slot_at_the_same_cost(redis: Redis) -> None:
    small, large = Pool(redis, "small", 2, 4, full=True), Pool(redis, "large", 100, 300, full=True)
    costs = in_a_full(large)
    assert costs == in_a_full(small)
    assert not {name for cost in costs for name in cost} & SCANS
