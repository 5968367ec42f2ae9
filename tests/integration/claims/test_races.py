"""Workers that run side by side, on the sandbox's API server and a real Redis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest
from redis import Redis

from berthmaster.jobs.slot_ledger import SlotLedger
from domain.claims.pod import PoolPod
from domain.kubernetes.names import CLAIMED_BY, PHASE
from domain.kubernetes.objects import KubeObject, Pod
from tests.fixtures.kube import SandboxKube
from tests.support.claims.claim_world import ClaimWorld
from tests.support.jobs.slot_world import SlotWorld
from workers.claims.bind import BindRefusal, PodBinder
from workers.claims.observe import request_of
from workers.claims.pod_additions import PodAdditions
from workers.claims.services import ClaimServices
from workers.kube.claim_pods import pool_pod
from workers.run import Run
from workers.stores.slots.view import view

RUNS = 1000


@pytest.fixture
def world_sandbox(redis: Redis, kube_sandbox: SandboxKube, crds_sandbox: None) -> ClaimWorld:
    harness = ClaimWorld(redis, kube_sandbox.api, kube_sandbox.namespace)
    harness.pool()
    return harness


def binder_of(world: ClaimWorld, name: str, services: ClaimServices) -> Callable[[PoolPod], Pod | BindRefusal]:
    """What a run of that claim does to get one pod."""

    class Kept(Run):
        def __init__(self) -> None:
            self.token = f"run-of-{name}"

        def keep(self, at_least: timedelta) -> None:
            """It has its lease."""

    return PodBinder(
        services,
        Kept(),
        world.namespace,
        name,
        request_of(KubeObject(world.claim(name))),
        PodAdditions(services, world.namespace),
    ).bind


@pytest.mark.row("WC-03", "WC-04")
@pytest.mark.parametrize("ledgers", ["one", "one each"])
def test_of_two_claims_and_one_pod_exactly_one_gets_it_in_a_thousand_runs(
    world_sandbox: ClaimWorld, ledgers: str
) -> None:
    """Also where Redis was lost and each sees the pod open: then its version in Kubernetes decides alone."""
    world, won = world_sandbox, Counter[str]()
    pod = pool_pod(Pod(world.pod("p1")), world.clock)
    other = SlotWorld(world.redis, f"{world.namespace}/other")
    other.add(pod.uid, ())
    mine = {"a": world.slots["warm"].ledger, "b": world.slots["warm"].ledger if ledgers == "one" else other.ledger}
    services = {name: with_ledger(world, ledger) for name, ledger in mine.items()}
    other.redis.hset(f"{other.ledger.prefix}meta", "revision", world.revision)
    takes = {name: binder_of(world, name, services[name]) for name in mine}
    with ThreadPoolExecutor(2) as workers:
        for _ in range(RUNS // 2):
            start = Barrier(2)

            def run(name: str, start: Barrier = start) -> str:
                start.wait()
                return name if isinstance(takes[name](pod), Pod) else ""

            (winner,) = set(workers.map(run, ("a", "b"))) - {""}
            assert world.holder("p1") == f"Bound {winner}"
            won[winner] += 1
            free_again(world, set(mine.values()), pod.uid)
    assert min(won["a"], won["b"]) > 0, "they did race"


def with_ledger(world: ClaimWorld, ledger: SlotLedger) -> ClaimServices:
    return replace(world.services, ledger=lambda _: ledger)


def free_again(world: ClaimWorld, ledgers: set[SlotLedger], uid: str) -> None:
    """Whoever had it."""
    world.api.patch(f"{world.pods_path()}/p1", {"metadata": {"labels": {PHASE: "Idle", CLAIMED_BY: None}}})
    for ledger in ledgers:
        (slots,) = view(ledger).pods
        if slots.view != "open":
            assert ledger.take_over(uid, slots.token, "again")
            ledger.open(uid, "again")


@pytest.mark.row("WC-03")
def test_many_claims_share_as_many_pods(world_sandbox: ClaimWorld) -> None:
    world, names = world_sandbox, [f"c{n}" for n in range(30)]
    for n in range(len(names)):
        world.pod(f"p{n}", offer=False)
    world.offer()
    for name in names:
        world.claim(name)
    with ThreadPoolExecutor(8) as workers:
        list(workers.map(world.run, names))  # a quarrel ends a run: the next goes on
    for name in names:
        world.lease_ends(name)
        world.run(name)
    assert len({world.pod_of(name) for name in names}) == len(names)
    assert all(world.holder(world.pod_of(name)) == f"Bound {name}" for name in names)
