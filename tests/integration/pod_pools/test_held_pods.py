"""Pods that claims have: never opened, fenced or given jobs, whatever Redis has lost, on both Kubernetes servers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from domain.kubernetes.names import CLAIMED_BY, PHASE
from tests.integration.pod_pools.conftest import MakePool
from tests.support.claims.claimant import Claimant
from tests.support.jobs.slot_world import Runner
from tests.support.pods.meanwhile import fill, live, standing_still, states
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.waiting import eventually


def bound(make_pool: MakePool, **spec: int) -> tuple[PodPoolWorld, Claimant]:
    """A claim has one of two pods."""
    pool = make_pool(**{"minReplicas": 2, "maxReplicas": 2} | spec)
    pool.settle()
    claimant = Claimant(pool)
    assert claimant.take()
    return pool, claimant


def stage(pool: PodPoolWorld, name: str) -> str:
    return str(pool.api.get(pool.pod_path(name))["metadata"]["labels"].get(PHASE))


@pytest.mark.row("WC-43", "WC-02")
def test_a_pod_is_unknown_to_claims_until_it_is_opened(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1)
    pool.run()
    (name,) = pool.names()
    assert (stage(pool, name), Claimant(pool).offered()) == ("Unknown", ())
    pool.ready(name, "False")
    pool.kubelet_reports()
    pool.run()
    assert (stage(pool, name), Claimant(pool).offered()) == ("Unknown", ())
    pool.settle()
    assert stage(pool, name) == "Idle"
    assert [pod.name for pod in Claimant(pool).offered()] == [name]


@pytest.mark.row("WC-43")
def test_a_pod_that_is_open_since_before_claims_were_known_becomes_idle(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1)
    pool.settle()
    (name,) = pool.names()
    pool.api.patch(pool.pod_path(name), {"metadata": {"labels": {PHASE: None}}})
    pool.run()
    pool.run()
    assert (stage(pool, name), [pod.name for pod in Claimant(pool).offered()]) == ("Idle", [name])


def test_labels_of_ours_in_a_template_are_of_no_effect(make_pool: MakePool) -> None:
    template = {
        "metadata": {"labels": {CLAIMED_BY: "x", "app": "db"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    pool = make_pool(minReplicas=1, template=template)
    pool.run()
    (pod,) = pool.pods()
    assert (pod["metadata"]["labels"].get(CLAIMED_BY), pod["metadata"]["labels"]["app"]) == (None, "db")


def redis_is_lost(pool: PodPoolWorld, uid: str) -> None:
    pool.redis.flushall()
    pool.claim()
    Claimant(pool).lives()
    pool.run()
    pool.kubelet_reports()


def it_is_open_again(pool: PodPoolWorld, uid: str) -> None:
    """Lifted too soon by who wrote the pod before the claim did."""
    assert pool.slots.ledger.take_over(uid, "claim-1", "sweep")
    assert pool.slots.ledger.open(uid, "sweep") is not None


def it_is_fenced(pool: PodPoolWorld, uid: str) -> None:
    it_is_open_again(pool, uid)
    assert pool.slots.ledger.fence(uid, "another run", 0) is None


def it_is_away(pool: PodPoolWorld, uid: str) -> None:
    it_is_open_again(pool, uid)
    assert pool.slots.ledger.quarantine(uid)


def it_is_ending(pool: PodPoolWorld, uid: str) -> None:
    assert pool.slots.ledger.quarantine(uid, for_good=True)


def another_took_it(pool: PodPoolWorld, uid: str) -> None:
    it_is_open_again(pool, uid)
    assert pool.slots.ledger.claim(uid, "claim-2") is None


@pytest.mark.row("WC-02", "WC-38")
@pytest.mark.parametrize(
    "happens", [redis_is_lost, it_is_open_again, it_is_fenced, it_is_away, it_is_ending, another_took_it]
)
def test_the_label_of_a_claim_is_the_truth(make_pool: MakePool, happens: Callable[[PodPoolWorld, str], None]) -> None:
    """Rules take, write: whatever the ledger thinks, the pod is its claim's, and takes no jobs."""
    pool, claimant = bound(make_pool)
    uid = claimant.read["metadata"]["uid"]
    happens(pool, uid)
    pool.run()
    held = next(pod for pod in pool.ledger_pods() if pod.uid == uid)
    assert (held.view, held.token) == ("claimed", "claim-1")
    fill(pool, 2)
    pool.settle()
    assert claimant.pod in live(pool)
    assert {pool.slots.record(f"j{n}").uid for n in range(2)} & {uid} == set()
    assert claimant.labels[CLAIMED_BY] == "claim-1"


@pytest.mark.row("WC-38", "WC-02")
def test_a_pod_that_a_claim_took_is_not_fenced(make_pool: MakePool) -> None:
    """Rule take: between the look and the fence of a scale-down."""
    pool = make_pool(minReplicas=2, maxReplicas=2)
    pool.settle()
    pool.change(minReplicas=1)
    claimant = Claimant(pool)

    def others(name: str) -> None:
        (uid,) = (pod.uid for pod in pool.ledger_pods() if pod.name == name)
        assert claimant.takes(name, uid)
        assert claimant.bind()

    standing_still(pool, "GET", others)
    pool.settle()
    assert claimant.pod in live(pool)


@pytest.mark.row("WC-38", "WC-02")
def test_a_pod_that_became_a_claims_in_kubernetes_only_is_not_deleted(make_pool: MakePool) -> None:
    """Rule order: the live read before the fence sees what Redis has lost, or never had."""
    pool = make_pool(minReplicas=2, maxReplicas=2)
    pool.settle()
    pool.change(minReplicas=1)
    claimant = Claimant(pool)

    def others(name: str) -> None:
        claimant.pod = name
        claimant.look()
        assert claimant.bind()

    standing_still(pool, "GET", others)
    pool.settle()
    assert claimant.pod in live(pool)
    assert claimant.labels[CLAIMED_BY] == "claim-1"


@pytest.mark.row("WC-38", "WC-02")
def test_a_pod_that_is_fenced_is_no_claims(make_pool: MakePool) -> None:
    """Rule take: between the fence and the deletion."""
    pool = make_pool(minReplicas=2, maxReplicas=2)
    pool.settle()
    pool.change(minReplicas=1)
    claimant, before = Claimant(pool), pool.names()

    def others(name: str) -> None:
        (uid,) = (pod.uid for pod in pool.ledger_pods() if pod.name == name)
        assert name not in [pod.name for pod in claimant.offered()]
        assert not claimant.takes(name, uid)

    standing_still(pool, "DELETE", others)
    assert len(live(pool) & before) == 1


@pytest.mark.row("WC-38")
def test_a_pod_whose_take_was_lifted_is_not_written_by_the_claim(make_pool: MakePool) -> None:
    """Rules bump, lift: taken, read; lifted and given a job; the late write conflicts."""
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.settle()
    claimant = Claimant(pool)
    ((name, uid),) = ((pod.name, pod.uid) for pod in claimant.offered())
    assert claimant.takes(name, uid)
    ledger, pods = pool.slots.ledger, pool.pods()
    assert ledger.take_over(uid, "claim-1", "sweep")
    pool.api.patch(pool.pod_path(name), {"metadata": {"annotations": {"berthmaster.dev/opened": "sweep"}}})
    pool.slots.send(ledger.open(uid, "sweep") or ())
    fill(pool, 1)
    assert not claimant.bind()
    assert (states(pool, 1), len(pods)) == (["running"], 1)


@pytest.mark.row("WC-38", "WC-39")
def test_pods_that_claims_have_count_for_the_floor(make_pool: MakePool) -> None:
    """Rule floor: open and claimed pods are counted when the fence is asked for, not when it was decided."""
    pool, claimant = bound(make_pool, minReplicas=2)
    ledger = pool.slots.ledger
    (idle,) = (pod.uid for pod in pool.ledger_pods() if pod.view == "open")
    assert ledger.fence(idle, "a run", 2) == "FLOOR"
    assert ledger.fence(idle, "a run", 1) is None
    assert ledger.fence(claimant.read["metadata"]["uid"], "a run", 0) == "CLOSED"


@pytest.mark.row("WC-38")
def test_the_silence_of_a_runner_removes_no_pod_that_a_claim_has(make_pool: MakePool) -> None:
    pool, claimant = bound(make_pool)
    pool.fall_silent(claimant.read["metadata"]["uid"])
    pool.run()
    pool.run()
    assert claimant.pod in live(pool)


@pytest.mark.row("WC-02", "SL-13")
def test_a_claim_whose_runner_is_dead_keeps_no_pool_from_its_verification(make_pool: MakePool) -> None:
    """It never reports to the new Redis; after `readyTimeout` the run says for it that it has nothing."""
    pool, claimant = bound(make_pool, readyTimeout="1s")  # type: ignore[arg-type]  # a length
    uid = claimant.read["metadata"]["uid"]
    del pool.slots.runners[uid]
    redis_is_lost(pool, uid)
    pool.slots.submit("j0", "apply")
    assert states(pool, 1) == ["waiting"]
    mark = int(pool.redis.hget(f"{pool.slots.ledger.prefix}meta", "mark") or 0)
    pool.redis.hset(f"{pool.slots.ledger.prefix}meta", "mark", mark - 2_000_000)  # asked two seconds ago
    for runner in pool.slots.runners.values():
        runner.mark = str(mark - 2_000_000)

    def runs() -> bool:
        pool.run()
        pool.kubelet_reports()
        return states(pool, 1) == ["running"]

    eventually(runs)
    assert next(pod.view for pod in pool.ledger_pods() if pod.uid == uid) == "claimed"
    assert claimant.pod in live(pool)
    pool.slots.runners[uid] = Runner(uid, pod=claimant.pod)
    pool.kubelet_reports()
    assert next(len(pod.slots) for pod in pool.ledger_pods() if pod.uid == uid) == 3, "it lives after all"


@pytest.mark.row("WC-02")
def test_what_runs_on_a_pod_that_is_labelled_with_a_claim_ends_first(make_pool: MakePool) -> None:
    """Nobody follows the rules who labels it; its job is not killed all the same, and no other comes."""
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.settle()
    fill(pool, 1)
    claimant = Claimant(pool, pod=next(iter(pool.names())))
    claimant.look()
    assert claimant.bind()
    pool.run()
    assert (pool.views(), states(pool, 1)) == (["away"], ["running"])
    pool.finish_all()
    pool.run()
    assert (pool.views(), states(pool, 1)) == (["claimed"], ["done"])
