"""A pool whose slot ledger cannot be read costs claims that pool, and no other."""

from __future__ import annotations

import orjson
import pytest

from tests.support.claims.claim_world import ClaimWorld


@pytest.mark.row("HO-07")
@pytest.mark.parametrize("name", ["../../../pods", "p1/../../secrets/s"])
def test_a_forged_name_in_one_pool_leaves_a_claim_the_pods_of_another(world: ClaimWorld, name: str) -> None:
    world.pool("cold", {"size": "big"})
    world.pod("p1", "cold", size="big")
    world.pod("p2", size="big")
    facts = f"{{sp:{world.namespace}/cold}}claimable-facts"
    (uid,) = world.redis.hkeys(facts)
    world.redis.hset(facts, uid, orjson.dumps(orjson.loads(world.redis.hget(facts, uid) or b"") | {"name": name}))
    world.claim(poolName="", selector={"size": "big"})
    world.run()
    assert (world.phase(), world.pod_of()) == ("Bound", "p2")


@pytest.mark.row("HO-07")
def test_a_claim_on_an_unreadable_pool_says_why_it_waits(world: ClaimWorld) -> None:
    world.pod("p1")
    world.redis.set(f"{{sp:{world.namespace}/warm}}claimable", "a text")
    world.claim()
    world.run()
    assert world.phase() == "Pending"
    assert world.condition("Bound")["reason"] == "PoolNotVerified"
