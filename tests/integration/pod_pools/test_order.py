"""The order of a run: what is gone, then the runners' token, then pods that are missing, then health."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
from redis import Redis

from tests.fixtures.kube import SandboxKube, make_namespace
from tests.support.faults.interruption import Fuse, Killed
from tests.support.jobs.slot_world import Runner
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.pods.token_world import SECRET, TokenWorld

OLD = {"secretName": SECRET, "rotateAfter": "0s"}


def due(redis: Redis, kube: SandboxKube) -> tuple[TokenWorld, str, str]:
    """Everything is due: a pod is gone, another may be opened, the token is old, and pods are missing."""
    namespace = make_namespace(kube.api)
    world = TokenWorld(PodPoolWorld(redis, kube.api, namespace, minReplicas=2, runnerToken={"secretName": SECRET}))
    world.pool.run()
    first, second = (pod["metadata"] for pod in world.pool.pods())
    for meta in (first, second):
        world.pool.slots.runners[meta["uid"]] = Runner(meta["uid"], pod=meta["name"])
        for _ in range(2):
            world.pool.slots.beat(meta["uid"])
    world.pool.ready(second["name"], "True")
    world.pool.end(first["name"])
    world.pool.change(runnerToken=OLD, minReplicas=3)
    return world, first["uid"], second["uid"]


def done(world: TokenWorld, gone: str, opened: str) -> tuple[bool, ...]:
    """Which of the four has happened."""
    views = {pod.uid: pod.view for pod in world.pool.ledger_pods()}
    return gone not in views, len(world.stored()) > 1, len(world.pool.pods()) > 1, views.get(opened) == "open"


@pytest.mark.row("SD-22", "SD-26")
def test_a_run_that_is_killed_anywhere_has_done_the_first_things_first(
    redis: Redis, kube_sandbox: SandboxKube, crds_sandbox: None
) -> None:
    states = []
    for at in count():
        world, gone, opened = due(redis, kube_sandbox)
        whole = world.pool.services
        world.pool.services = replace(whole, kube=Fuse(at).guard(world.pool.api))
        try:
            world.pool.run()
        except Killed:
            states.append(done(world, gone, opened))
            world.lose_user()
        else:
            break
    assert done(world, gone, opened) == (True, True, True, True)
    assert len(set(world.carried().values())) == 2, "pods that the run creates have the token that it made"
    world.lose_user()
    assert sorted(states) == states
    assert set(states) >= {
        (False,) * 4,
        (True, False, False, False),
        (True, True, False, False),
        (True, True, True, False),
    }
