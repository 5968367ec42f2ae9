"""A worker is killed at any write, before the write or before its answer. The next run continues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from tests.support.claims.claim_meanwhile import Dying
from tests.support.claims.claim_world import ClaimWorld
from tests.support.faults.interruption import Killed

MOST = 12


def bind(world: ClaimWorld) -> None:
    world.pod("p1")
    world.pod("p2")
    world.claim(ownerName="alice", additionalPodLabels={"match": "7"})


def lose(world: ClaimWorld) -> None:
    bind(world)
    world.run()
    world.status(world.pod_of(), {"phase": "Failed"})


def move(world: ClaimWorld) -> None:
    bind(world)
    world.run()
    (target,) = {"p1", "p2"} - {world.pod_of()}
    world.move(target)


def delete(world: ClaimWorld) -> None:
    bind(world)
    world.run()
    world.delete()


def bound_to_one(world: ClaimWorld) -> None:
    """It has one pod, and what it has left is not its own."""
    assert world.phase() == "Bound"
    assert world.holder(world.pod_of()) == "Bound a"
    assert world.labels(world.pod_of())["match"] == "7"
    assert Counter(world.holder(pod)[:5] for pod in ("p1", "p2"))["Bound"] == 1


def ended(world: ClaimWorld) -> None:
    assert world.gone()
    assert not any(world.holder(pod).startswith("Bound") for pod in ("p1", "p2"))
    assert list(world.redis.scan_iter("{claims:*")) == []


STORIES: dict[str, tuple[Callable[[ClaimWorld], None], Callable[[ClaimWorld], None]]] = {
    "bind": (bind, bound_to_one),
    "lose": (lose, bound_to_one),
    "move": (move, bound_to_one),
    "delete": (delete, ended),
}


@pytest.mark.row("WC-06", "WC-03", "WC-19", "WC-27")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("scenario", STORIES)
def test_whatever_write_a_run_is_killed_at_the_next_goes_on(world: ClaimWorld, scenario: str, after: bool) -> None:
    begin, end = STORIES[scenario]
    begin(world)
    killed = 0
    for at in range(MOST):
        dying = Dying(world.api, at, after=after)
        try:
            world.run(services=world.on(dying))
        except Killed:
            killed += 1
            world.lease_ends()
            continue
        break
    world.later(timedelta(seconds=10))
    world.run()
    end(world)
    assert killed, "it had nothing to write"


@pytest.mark.row("WC-06", "WC-03")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(6))
def test_a_killed_bind_ends_with_one_pod_and_leaves_the_other_free(world: ClaimWorld, at: int, after: bool) -> None:
    bind(world)
    died = True
    try:
        world.run(services=world.on(Dying(world.api, at, after=after)))
        died = False
    except Killed:
        world.lease_ends()
    world.run()
    bound_to_one(world)
    (other,) = {"p1", "p2"} - {world.pod_of()}
    assert (world.holder(other), world.views()[other]) == ("Idle", "open")
    assert died == (at < 5), "finalizer, pod, claim, event, status"


@pytest.mark.row("WC-06")
@pytest.mark.parametrize("at", range(6))
def test_a_bind_that_is_killed_with_the_loss_of_redis_ends_with_one_pod(world: ClaimWorld, at: int) -> None:
    bind(world)
    with suppress(Killed):
        world.run(services=world.on(Dying(world.api, at, after=True)))
    world.redis.flushall()
    assert world.queue.assume_epoch("1:test")
    world.queue.stamp("1:test")
    world.run()
    world.slots["warm"].begin()
    for pod in ("p1", "p2"):
        world.slots["warm"].add(world.get(pod)["metadata"]["uid"], ())
    world.offer()
    world.run()
    bound_to_one(world)
