"""Pools whose pods only claims take: nobody reports for their pods but the pool's own run."""

from __future__ import annotations

import pytest

from tests.integration.pod_pools.conftest import MakePool
from tests.support.claims.claimant import Claimant
from tests.support.pods.meanwhile import keep_terminating, let_go, live, standing_still
from tests.support.pods.pod_pool_world import SILENCE, PodPoolWorld
from tests.support.waiting import eventually


def warm(make_pool: MakePool, pods: int = 2) -> PodPoolWorld:
    pool = make_pool(minReplicas=pods, maxReplicas=5, slots=[])
    grow(pool)
    return pool


def grow(pool: PodPoolWorld) -> None:
    """As `settle`, without runners."""
    for _ in range(3):
        pool.run()
        for name in live(pool):
            pool.ready(name, "True")
    pool.run()


@pytest.mark.row("WC-43", "SL-26")
def test_pods_without_runners_are_opened_once_they_are_ready(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, slots=[], runnerToken={"secretName": "unused"})
    pool.run()
    (pod,) = pool.pods()
    assert pool.ledger_pods() == ()
    assert not pod["spec"]["containers"][0].get("env")
    pool.ready(pod["metadata"]["name"], "True")
    pool.run()
    assert pool.views() == ["open"]
    pool.run()
    assert [pod.name for pod in Claimant(pool).offered()] == [pod["metadata"]["name"]]


@pytest.mark.row("WC-43")
def test_a_pod_without_a_runner_is_never_silent(make_pool: MakePool) -> None:
    pool = warm(make_pool)
    before = live(pool)
    for pod in pool.ledger_pods():
        pool.slots.runners[pod.uid] = None  # type: ignore[assignment]  # it has none
        pool.fall_silent(pod.uid)
    assert {pod.silent > SILENCE for pod in pool.ledger_pods()} == {True}
    pool.run()
    assert (pool.views(), live(pool)) == (["open", "open"], before)


@pytest.mark.row("WC-43", "WC-02")
def test_a_lost_redis_knows_pods_without_runners_again_after_one_run(make_pool: MakePool) -> None:
    pool = warm(make_pool)
    claimant = Claimant(pool)
    assert claimant.take()
    booting = make_one_more(pool)
    pool.redis.flushall()
    pool.claim()
    claimant.lives()
    pool.run()
    views = {pod.name: (pod.view, pod.token) for pod in pool.ledger_pods()}
    (idle,) = live(pool) - {claimant.pod, booting}
    assert views == {claimant.pod: ("claimed", "claim-1"), idle: ("open", "")}
    pool.run()
    assert [pod.name for pod in Claimant(pool, "claim-2").offered()] == [idle]
    assert len(live(pool)) == 3, "a pod that a claim has is none of the pool's size"


def make_one_more(pool: PodPoolWorld) -> str:
    """It boots."""
    before = live(pool)
    pool.run()
    (name,) = live(pool) - before
    return name


@pytest.mark.row("WC-43")
def test_a_pod_without_a_runner_that_is_not_ready_any_more_is_offered_to_nobody(make_pool: MakePool) -> None:
    pool = warm(make_pool, pods=1)
    (name,) = live(pool)
    pool.ready(name, "False")
    pool.run()
    assert (pool.views(), Claimant(pool).offered()) == (["away"], ())
    pool.ready(name, "True")
    pool.run()
    assert [pod.name for pod in Claimant(pool).offered()] == [name]


@pytest.mark.row("WC-43", "SL-20", "WC-42")
@pytest.mark.parametrize("when", ["before the list", "after the list"])
def test_a_pod_without_a_runner_that_terminates_is_not_opened(make_pool: MakePool, when: str) -> None:
    """Rule register: it is ready, and goes."""
    pool = make_pool(minReplicas=1, maxReplicas=1, slots=[])
    pool.run()
    (name,) = live(pool)
    keep_terminating(pool, name)
    pool.ready(name, "True")
    if when == "before the list":
        pool.api.delete(pool.pod_path(name))
    else:
        standing_still(pool, "PATCH", lambda _: pool.api.delete(pool.pod_path(name)))
    pool.run()
    assert (Claimant(pool).offered(), "open" in pool.views()) == ((), False)
    let_go(pool, name)


@pytest.mark.row("WC-43", "SL-20")
def test_a_pod_without_a_runner_that_never_becomes_ready_is_replaced(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, slots=[], readyTimeout="1s")
    pool.run()
    (name,) = live(pool)

    def gone() -> bool:
        pool.run()
        return name not in live(pool)

    eventually(gone, 10)  # nobody can change when a pod was made
