"""Warm pods, and pods for claims that wait, on both Kubernetes servers."""

from __future__ import annotations

import pytest

from berthmaster.routing import pod_claim_key
from domain.kubernetes.names import ADDED_LABELS, CORDON, ENDPOINTS, PORTS, PORTS_ENABLED, PORTS_STATE, SESSIONS
from tests.integration.pod_pools.conftest import MakePool
from tests.support.claims.claimant import Claimant
from tests.support.pods.meanwhile import fill, keep_terminating, let_go, live
from tests.support.pods.pod_pool_world import TEMPLATE
from tests.support.pods.warm import cool, grow, offered, stands, waits, woken


@pytest.mark.row("WC-36")
def test_a_pool_keeps_as_many_warm_pods_as_it_shall(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=3, maxReplicas=5, slots=[], scaling={"upCooldown": "1h", "downCooldown": "1h"})
    pool.run()
    assert len(live(pool)) == 3, "at once, and no cooldown"
    grow(pool)
    first, second = Claimant(pool), Claimant(pool, "claim-2")
    assert first.take()
    grow(pool)
    assert (len(offered(pool)), len(live(pool))) == (3, 4)
    assert second.take()
    grow(pool)
    assert (len(offered(pool)), len(live(pool))) == (3, 5)
    assert stands(pool) == {"open": 3, "idle": 3, "claimed": 2}
    assert pool.status()["desiredReplicas"] == 3


@pytest.mark.row("WC-36", "WC-37")
def test_warm_pods_and_claimed_ones_are_no_more_than_the_maximum(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=3, maxReplicas=4, slots=[])
    grow(pool)
    claimants = [Claimant(pool, f"claim-{n}") for n in range(3)]
    for claimant in claimants:
        assert claimant.take()
        grow(pool)
    assert (len(live(pool)), len(offered(pool))) == (4, 1)


@pytest.mark.row("WC-37")
def test_a_pool_beyond_its_maximum_grows_to_it_only_and_still_gives_up_warm_pods(make_pool: MakePool) -> None:
    """Two of six are claimed when the maximum becomes four."""
    pool = make_pool(maxIdle=4, maxReplicas=6, slots=[])
    grow(pool)
    claimed = [Claimant(pool, f"claim-{n}") for n in range(2)]
    assert all(claimant.take() for claimant in claimed)
    grow(pool)
    assert len(live(pool)) == 6
    pool.change(maxReplicas=4)
    grow(pool)
    assert (len(live(pool)), len(offered(pool))) == (4, 2)
    assert {claimant.pod for claimant in claimed} <= live(pool)
    pool.end(claimed[0].pod)
    grow(pool)
    assert (len(live(pool)), len(offered(pool))) == (4, 3)


@pytest.mark.row("WC-36")
def test_warm_pods_beyond_the_wish_go_after_the_cooldown(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=3, slots=[], scaling={"downCooldown": "1h"})
    grow(pool)
    pool.change(maxIdle=1)
    grow(pool)
    assert len(offered(pool)) == 3
    for _ in range(3):
        cool(pool)
        grow(pool)
    assert len(live(pool)) == len(offered(pool)) == 1


@pytest.mark.row("WC-09", "WC-43", "WC-44")
def test_a_pool_grows_by_one_pod_for_each_claim_that_waits_and_by_no_more(make_pool: MakePool) -> None:
    pool = make_pool(slots=[], scaling={"upCooldown": "1h"})
    pool.run()
    waits(pool, "claim-1")
    waits(pool, "claim-2")
    waits(pool, "claim-3", pool="another")
    for _ in range(3):
        pool.run()
    assert len(live(pool)) == pool.status()["desiredReplicas"] == pool.status()["waitingClaims"] == 2
    grow(pool)
    for uid in ("claim-1", "claim-2"):
        assert Claimant(pool, uid).take()
        pool.run()  # it may come before the claim is off the list
        assert len(live(pool)) == 2
        pool.services.waiting.drop(pool.namespace, uid)
        pool.run()
    grow(pool)
    assert len(live(pool)) == 2
    assert stands(pool) == {"claimed": 2}


@pytest.mark.row("WC-09", "WC-36")
def test_warm_pods_stay_beside_those_for_claims_that_wait(make_pool: MakePool) -> None:
    """Rule additive: three warm, five claims: three have one at once."""
    pool = make_pool(maxIdle=3, slots=[])
    grow(pool)
    for n in range(3):
        assert Claimant(pool, f"claim-{n}").take()
    waits(pool, "claim-3")
    waits(pool, "claim-4")
    pool.run()
    pool.run()
    assert len(live(pool)) == 8
    grow(pool)
    for n in (3, 4):
        assert Claimant(pool, f"claim-{n}").take()
        pool.services.waiting.drop(pool.namespace, f"claim-{n}")
    grow(pool)
    assert (len(live(pool)), len(offered(pool))) == (8, 3)


@pytest.mark.row("WC-36")
def test_a_pod_that_a_claim_took_is_made_anew_only_where_it_is_wanted(make_pool: MakePool) -> None:
    """Without `maxIdle`: an idle pod that came back is taken by a claim."""
    pool = make_pool(slots=[], minReplicas=1, scaling={"downCooldown": "1h"})
    grow(pool)
    pool.change(minReplicas=0)
    assert Claimant(pool).take()
    grow(pool)
    assert (len(live(pool)), pool.status()["desiredReplicas"]) == (1, 0)


@pytest.mark.row("WC-39")
def test_while_a_claim_waits_no_pod_goes(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=3, slots=[])
    grow(pool)
    before = live(pool)
    waits(pool, "claim-1", selector={"gpu": "yes"})
    pool.change(maxIdle=0, maxReplicas=2)
    grow(pool)
    assert before <= live(pool)
    pool.services.waiting.drop(pool.namespace, "claim-1")
    for _ in range(6):
        grow(pool)
    assert live(pool) == set()


@pytest.mark.row("WC-09")
def test_idle_pods_wake_as_many_claims_that_wait_the_oldest_that_fit_first(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=2, slots=[], template={"metadata": {"labels": {"app": "db"}}} | TEMPLATE)
    grow(pool)
    for n, selector in enumerate([{"gpu": "yes"}, {"app": "db"}, {"gpu": "yes"}, {}, {}]):
        waits(pool, f"claim-{n}", since=f"2026-01-0{n + 1}", selector=selector, pool=None)
    pool.run()
    keys = [pod_claim_key(pool.namespace, f"claim-{n}") for n in range(5)]
    assert [key in woken(pool) for key in keys] == [False, True, False, True, False]


@pytest.mark.row("WC-40")
def test_a_new_template_replaces_warm_pods_and_leaves_claimed_ones(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=2, slots=[])
    grow(pool)
    claimant = Claimant(pool)
    assert claimant.take()
    grow(pool)
    old = live(pool)
    pool.change(template={"spec": {"containers": [{"name": "runner", "image": "runner:2"}]}})
    grow(pool)
    assert live(pool) & old == {claimant.pod}
    assert (len(live(pool)), len(offered(pool))) == (3, 2)


@pytest.mark.row("WC-41")
def test_a_new_template_does_not_change_the_size(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=4, scaling={"downCooldown": "1h", "upCooldown": "0s"})
    fill(pool, 3)
    pool.settle(6)
    size = pool.status()["desiredReplicas"]
    assert size > 1
    pool.change(template={"spec": {"containers": [{"name": "runner", "image": "runner:2"}]}})
    pool.run()
    assert pool.status()["desiredReplicas"] == size


@pytest.mark.row("WC-42", "WC-44")
def test_pods_that_end_are_none_of_the_warm_ones_and_are_not_made_twice(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=2, maxReplicas=9, slots=[])
    grow(pool)
    (first, _) = sorted(live(pool))
    keep_terminating(pool, first)
    pool.api.delete(pool.pod_path(first))
    for _ in range(4):
        pool.run()
    assert stands(pool) == {"open": 1, "idle": 1, "booting": 1, "draining": 1}
    let_go(pool, first)
    pool.end(first)
    grow(pool)
    assert (len(live(pool)), len(offered(pool))) == (2, 2)


@pytest.mark.row("WC-44", "WC-39")
def test_down_and_up_again_at_once_makes_no_pod_too_many(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=3, maxReplicas=9, slots=[])
    grow(pool)
    before = sorted(live(pool))
    for name in before:
        keep_terminating(pool, name)
    pool.change(maxIdle=1)
    for _ in range(3):
        pool.run()
    assert len(live(pool)) == 1
    pool.change(maxIdle=3)
    for _ in range(3):
        pool.run()
    assert len(live(pool)) == 3
    for name in before:
        let_go(pool, name)


@pytest.mark.row("WC-46")
def test_a_cordoned_pod_gets_nothing_until_that_is_over(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=1, slots=[], scaling={"downCooldown": "1h"})
    grow(pool)
    (name,) = live(pool)
    pool.api.patch(pool.pod_path(name), {"metadata": {"annotations": {CORDON: "true"}}})
    pool.run()
    assert offered(pool) == []
    grow(pool)
    assert name in live(pool)
    assert stands(pool) == {"open": 1, "idle": 1, "cordoned": 1}, "another one is warm in its place"
    waits(pool, "claim-1")
    pool.api.patch(pool.pod_path(name), {"metadata": {"annotations": {CORDON: None}}})
    pool.run()
    assert (set(offered(pool)), len(live(pool))) == (live(pool), 2)
    assert name in offered(pool)


@pytest.mark.row("WC-46")
def test_jobs_on_a_cordoned_pod_end_and_no_others_come(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.settle()
    fill(pool, 1)
    (name,) = live(pool)
    pool.api.patch(pool.pod_path(name), {"metadata": {"annotations": {CORDON: "true"}}})
    pool.run()
    pool.slots.submit("late", "plan")
    assert (pool.slots.state("j0"), pool.slots.state("late")) == ("running", "waiting")
    pool.finish_all()
    pool.settle()
    assert (pool.slots.state("late"), live(pool)) == ("waiting", {name})
    pool.api.patch(pool.pod_path(name), {"metadata": {"annotations": {CORDON: None}}})
    pool.settle()
    assert pool.slots.state("late") == "running"


@pytest.mark.row("CL-41", "WC-46")
def test_a_template_that_was_exported_from_a_pod_gives_new_pods_none_of_its_results(make_pool: MakePool) -> None:
    asked = {PORTS: "game=7777/UDP@arena", PORTS_ENABLED: "false", "example.com/own": "x"}
    results = {PORTS_STATE: "Bound", ENDPOINTS: "[]", CORDON: "true", ADDED_LABELS: '{"app":null}', SESSIONS: "0 d"}
    pool = make_pool(minReplicas=1, maxReplicas=1, template={"metadata": {"annotations": asked | results}, **TEMPLATE})
    pool.run()
    (pod,) = pool.pods()
    annotations = pod["metadata"]["annotations"]
    assert annotations.items() >= asked.items()
    assert not annotations.keys() & results.keys()
