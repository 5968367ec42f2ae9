"""Claims that wait for ports and pods that have none: such pods come last, and an outdated one is given back."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from domain.kubernetes.names import PORTS
from tests.integration.claims.test_addresses import asking, bound_with_ports, endpoint, ports, shown
from tests.support.claims.claim_world import ClaimWorld
from tests.support.faults.interposed_kube import InterposedKube
from workers.claims.bind import PAGE
from workers.stores.slots.claimable import page


@pytest.mark.row("CL-41")
@pytest.mark.parametrize(("waits", "taken"), [(True, "p99"), (False, "p00")])
def test_a_pod_without_its_ports_blocks_no_claim_while_another_has_them(
    world: ClaimWorld, waits: bool, taken: str
) -> None:
    """One that somebody has isolated by `ports-enabled`, for example; here more than one page of them."""
    olds = [f"p{number:02}" for number in range(PAGE + 1)]
    for name in (*olds, "p99"):
        world.pod(name, offer=False)
        world.annotate(name, PORTS, "game=7777/UDP@arena")
    ports(world, "Bound", endpoint(), pod="p99")
    world.offer(created={name: world.clock - timedelta(hours=1, seconds=-n) for n, name in enumerate(olds)})
    assert world.bound(waitForPorts=waits) == taken
    assert world.phase() == "Bound"
    assert world.bound("b") == ("p00" if waits else "p99"), "better one without ports than none"
    assert world.phase("b") == ("Pending" if waits else "Bound")


@pytest.mark.row("CL-41")
def test_an_entry_of_an_older_version_counts_as_a_pod_with_ports(world: ClaimWorld) -> None:
    asking(world)
    ledger = world.slots["warm"].ledger
    assert [pod.lacks_ports for pod in page(ledger, None, 0, 1)] == [True]
    facts = f"{ledger.prefix}claimable-facts"
    for uid, stored in world.redis.hgetall(facts).items():
        world.redis.hset(facts, uid, json.dumps({k: v for k, v in json.loads(stored).items() if k != "lacksPorts"}))
    assert [pod.lacks_ports for pod in page(ledger, None, 0, 1)] == [False]


def with_new_template(world: ClaimWorld) -> None:
    """Give the pool another template and one warm pod of it, p2, which has its ports."""
    world.revision = "r2"
    asking(world, "p2")
    ports(world, "Bound", endpoint(31000), pod="p2")
    world.offer()


@pytest.mark.row("CL-41")
def test_a_claim_that_waits_for_ports_on_an_outdated_pod_takes_another(world: ClaimWorld) -> None:
    """Rule givesway: the template asked for a port that nobody serves, and is mended."""
    asking(world)
    world.claim()
    world.run()
    assert (world.pod_of(), world.phase()) == ("p1", "Pending")
    with_new_template(world)
    world.run()
    assert (world.pod_of(), world.phase(), world.holder("p1")) == ("p2", "Bound", "Draining")
    assert world.read()["status"]["endpoints"] == [shown(31000)]


@pytest.mark.row("CL-41")
def test_a_claim_that_was_bound_keeps_its_outdated_pod_without_ports(world: ClaimWorld) -> None:
    """Rules givesway, staysbound."""
    bound_with_ports(world)
    ports(world, "Failed")
    with_new_template(world)
    world.run()
    assert (world.pod_of(), world.phase(), world.holder("p1")) == ("p1", "Outdated", "Bound a")


@pytest.mark.row("CL-41")
def test_ports_that_come_right_before_a_pod_is_given_back_keep_it(world: ClaimWorld) -> None:
    """Rule givesway: the claim names no pod first, so that a late status which shows it Bound conflicts."""
    asking(world)
    world.claim()
    world.run()
    world.revision = "r2"
    world.offer()

    def come(_: str) -> None:
        assert world.pod_of() == ""
        ports(world, "Bound", endpoint())

    world.run(services=world.on(InterposedKube(world.api, "PATCH", "/pods/p1", come)))
    world.run()
    assert (world.pod_of(), world.phase(), world.holder("p1")) == ("p1", "Outdated", "Bound a")


@pytest.mark.row("CL-41", "WC-16")
def test_a_claim_that_stays_lost_takes_another_pod_if_it_was_never_bound_to_the_one_that_it_lost(
    world: ClaimWorld,
) -> None:
    asking(world)
    world.claim(whenLost="Stay")
    world.run()
    assert world.phase() == "Pending"
    world.status("p1", {"phase": "Failed"})
    asking(world, "p2")
    ports(world, "Bound", endpoint(31000), pod="p2")
    world.run()
    assert (world.pod_of(), world.phase()) == ("p2", "Bound")
    world.status("p2", {"phase": "Failed"})
    asking(world, "p3")
    world.run()
    assert (world.pod_of(), world.phase(), world.holder("p3")) == ("", "Lost", "Idle")
