"""Which pods claims are offered: an index of idle pods that mends itself, on both Kubernetes servers."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import orjson
import pytest

from berthmaster.jobs.runner_ledger import NotVerified
from berthmaster.routing import pod_claim_key
from domain.kubernetes.names import LAST_OWNER
from tests.integration.pod_pools.conftest import MakePool
from tests.support.claims.claimant import Claimant
from tests.support.pods.meanwhile import fill
from tests.support.pods.pod_pool_world import PodPoolWorld
from workers.stores.slots.claimable import page, present_revision


def offered(pool: PodPoolWorld, owner: str = "", start: int = 0, count: int = 50) -> list[str]:
    return [pod.name for pod in page(pool.slots.ledger, owner, start, count)]


def three(make_pool: MakePool) -> tuple[PodPoolWorld, list[str]]:
    """Their names, the oldest first; of one second, by UID."""
    pool = make_pool(minReplicas=3, maxReplicas=5)
    pool.settle()
    pods = [
        (pod["metadata"]["creationTimestamp"], pod["metadata"]["uid"], pod["metadata"]["name"]) for pod in pool.pods()
    ]
    return pool, [name for *_, name in sorted(pods)]


@pytest.mark.row("WC-07")
def test_the_pods_of_the_last_owner_come_first_and_then_the_oldest(make_pool: MakePool) -> None:
    pool, names = three(make_pool)
    pool.api.patch(pool.pod_path(names[2]), {"metadata": {"labels": {LAST_OWNER: "ann"}}})
    pool.run()
    assert offered(pool) == offered(pool, "bob") == names
    assert offered(pool, "ann") == [names[2], names[0], names[1]]
    assert offered(pool, "ann", 1, 1) == [names[1]]
    pool.api.patch(pool.pod_path(names[2]), {"metadata": {"labels": {LAST_OWNER: "bob"}}})
    pool.run()
    assert (offered(pool, "ann"), offered(pool, "bob")[0]) == (names, names[2])
    pool.end(names[2])
    pool.run()
    pool.run()
    assert set(offered(pool, "bob")[:2]) == set(names[:2])


@pytest.mark.row("WC-08", "WC-43")
def test_a_pod_that_gets_a_job_is_offered_again_when_it_is_done(make_pool: MakePool) -> None:
    pool, names = three(make_pool)
    fill(pool, 1)
    assert len(offered(pool, count=1)) == 1
    idle = offered(pool)
    assert len(idle) == 2
    pool.run()
    assert offered(pool) == idle
    pool.finish_all()
    pool.run()
    assert offered(pool) == names


@pytest.mark.row("WC-38", "WC-03")
@pytest.mark.parametrize("closing", ["claim", "fence", "aside", "gone"])
def test_a_pod_that_is_closed_is_offered_to_nobody_from_that_moment_on(make_pool: MakePool, closing: str) -> None:
    pool, names = three(make_pool)
    ledger, uid = pool.slots.ledger, page(pool.slots.ledger, "", 0, 1)[0].uid
    pool.api.patch(pool.pod_path(names[0]), {"metadata": {"labels": {LAST_OWNER: "ann"}}})
    pool.run()
    if closing == "claim":
        assert ledger.claim(uid, "c") is None
    elif closing == "fence":
        assert ledger.fence(uid, "f", 0) is None
    elif closing == "aside":
        assert ledger.quarantine(uid)
    else:
        ledger.remove_pod(uid)
    assert pool.redis.zcard(f"{ledger.prefix}claimable") == pool.redis.hlen(f"{ledger.prefix}claimable-facts") == 2
    assert not pool.redis.exists(f"{ledger.prefix}owned:ann")
    assert offered(pool, "ann") == names[1:]


def test_fields_of_a_newer_version_are_ignored_and_the_next_run_writes_its_own(make_pool: MakePool) -> None:
    """During a rollout, workers of two versions read each other's entries."""
    pool, names = three(make_pool)
    key = f"{pool.slots.ledger.prefix}claimable-facts"
    before: Any = pool.redis.hgetall(key)
    for uid, facts in before.items():
        pool.redis.hset(key, uid, orjson.dumps(orjson.loads(facts) | {"zone": {"name": "a"}}))
    assert offered(pool) == names
    pool.run()
    assert pool.redis.hgetall(key) == before


@pytest.mark.row("WC-08", "WC-40")
def test_pods_of_an_older_template_are_offered_to_nobody_and_those_who_have_one_are_told(make_pool: MakePool) -> None:
    pool, names = three(make_pool)
    claimant = Claimant(pool)
    assert claimant.take()
    pool.services.claims.remember(pool.namespace, "mine", claimant.uid, [claimant.pod], "run")
    pool.services.claims.noticed(pool.namespace, {claimant.pod: claimant.uid})
    before, key = present_revision(pool.slots.ledger), pod_claim_key(pool.namespace, "mine")
    fill(pool, 2)
    pool.run()
    assert not pool.redis.hexists("{queue}dirty", key)
    pool.change(template={"spec": {"containers": [{"name": "runner", "image": "runner:2"}]}})
    pool.run()
    assert present_revision(pool.slots.ledger) != before
    assert pool.redis.hexists("{queue}dirty", key)
    pool.finish_all()
    pool.run()
    assert not set(offered(pool)) & set(names)


def test_nothing_is_offered_before_it_is_known_what_runs(make_pool: MakePool) -> None:
    pool, names = three(make_pool)
    pool.redis.flushall()
    pool.claim()
    pool.run()
    with pytest.raises(NotVerified):
        offered(pool)
    pool.kubelet_reports()
    pool.run()
    assert offered(pool) == names


def test_a_deleted_pool_offers_nothing(make_pool: MakePool) -> None:
    pool, _ = three(make_pool)
    pool.api.delete(f"{pool.path}/runners")
    pool.run()
    with suppress(NotVerified):  # of a pool without pods nothing is left at all
        assert offered(pool) == []
    assert present_revision(pool.slots.ledger) is None
