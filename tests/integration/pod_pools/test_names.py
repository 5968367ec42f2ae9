"""Names are written down before pods are created: what becomes of those whose pods were refused, or are not wanted."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from events.kube.api import Denied, KubeError
from tests.integration.pod_pools.conftest import MakePool
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.pods.meanwhile import live
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.pods.warm import grow
from workers.kube.pool_pods import revision_of
from workers.pod_pools.observe import spec_of
from workers.stores.slots.view import view

QUOTA = Denied(403, "Forbidden", "exceeded quota")
WARM = {"maxIdle": 8, "maxReplicas": 10, "slots": []}


def run_refused(pool: PodPoolWorld, refusal: KubeError = QUOTA) -> None:
    """A run of the pool that may create no pod."""

    def refuse(_: str) -> None:
        raise refusal

    whole = pool.services
    pool.services = replace(whole, kube=InterposedKube(pool.api, "POST", "/pods", refuse, times=100))
    pool.run()
    pool.services = whole


def names(pool: PodPoolWorld) -> set[str]:
    return set(view(pool.slots.ledger).names)


@pytest.mark.row("SD-06")
def test_of_pods_that_were_refused_as_many_are_made_later_as_are_wanted_then(make_pool: MakePool) -> None:
    pool = make_pool(**WARM)
    run_refused(pool)
    assert (len(names(pool)), pool.pods()) == (8, [])
    pool.change(maxReplicas=2, maxIdle=1)
    pool.run()
    assert (len(live(pool)), names(pool)) == (2, set())
    grow(pool)
    assert (len(live(pool)), names(pool)) == (1, set())


@pytest.mark.row("SD-06", "SD-04")
def test_a_pod_that_is_there_stays_and_names_go_when_less_is_wanted(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=10)
    pool.settle()
    before = live(pool)
    pool.change(minReplicas=8)
    run_refused(pool)
    assert len(names(pool)) == 6
    pool.change(minReplicas=2, maxReplicas=2)
    pool.settle()
    assert (live(pool), names(pool)) == (before, set())


@pytest.mark.row("SL-30")
def test_a_pod_that_was_refused_is_made_by_its_name_when_it_is_still_wanted(make_pool: MakePool) -> None:
    """Whether it was made nobody knows, where the answer was lost."""
    pool = make_pool(minReplicas=3)
    run_refused(pool)
    enlisted = names(pool)
    pool.run()
    assert live(pool) == enlisted


@pytest.mark.row("SD-24")
def test_a_pool_that_pauses_makes_no_pod_by_a_name_of_before(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=3)
    run_refused(pool)
    fingerprint = revision_of(spec_of(pool.api.get(f"{pool.path}/runners")))
    pool.slots.ledger.never_ready(fingerprint, timedelta(0))
    pool.run()
    assert live(pool) == set()
    pool.let_pauses_pass()
    pool.run()
    assert len(live(pool)) == 3


@pytest.mark.row("SD-06", "SL-05")
def test_a_pool_made_anew_makes_no_pods_by_the_names_of_the_old_one(make_pool: MakePool) -> None:
    """A job waits for a pool of that name, so that its ledger stays."""
    pool = make_pool(minReplicas=8, maxReplicas=10)
    pool.slots.submit("late", "plan")
    run_refused(pool)
    old = names(pool)
    spec = pool.api.get(f"{pool.path}/runners")
    pool.api.delete(f"{pool.path}/runners")
    pool.run()
    assert names(pool) == set()
    again = {key: spec[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": "runners"}}
    pool.api.create(pool.path, again | {"spec": spec["spec"] | {"minReplicas": 0, "maxReplicas": 1}})
    pool.run()
    assert len(live(pool)) == 1
    assert not live(pool) & old


@pytest.mark.row("SL-05")
def test_a_late_run_for_a_pool_that_is_gone_takes_no_name_off_the_one_that_was_made_anew(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=2)
    run_refused(pool)
    before, size = names(pool), pool.redis.hgetall(f"{pool.slots.ledger.prefix}meta")
    pool.slots.ledger.forget_size("1-late")
    assert (names(pool), pool.redis.hgetall(f"{pool.slots.ledger.prefix}meta")) == (before, size)


@pytest.mark.row("SL-30", "SL-13")
def test_names_of_an_older_copy_of_redis_are_not_used_again(make_pool: MakePool) -> None:
    """Their pods were there, and are gone."""
    pool = make_pool(maxIdle=3, maxReplicas=3, slots=[])
    grow(pool)
    old = live(pool)
    for name in old:
        pool.end(name)
    pool.redis.sadd(f"{pool.slots.ledger.prefix}names", *old)
    pool.redis.hset(f"{pool.slots.ledger.prefix}meta", mapping={"inc": "another", "seen": "another"})
    grow(pool)
    assert len(live(pool)) == 3
    assert not live(pool) & old
