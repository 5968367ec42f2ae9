"""Runs that are killed, at each call of Kubernetes: nobody is locked out, and the next run goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from redis import Redis

from tests.fixtures.kube import SandboxKube
from tests.support.faults.interruption import Fuse, Killed
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.pods.token_world import SECRET, TokenWorld

TOKEN_SPEC = {"secretName": SECRET}


@pytest.fixture
def sandboxed(redis: Redis, kube_sandbox: SandboxKube, crds_sandbox: None) -> Iterator[TokenWorld]:
    world = TokenWorld(
        PodPoolWorld(
            redis, kube_sandbox.api, kube_sandbox.namespace, minReplicas=2, maxReplicas=4, runnerToken=TOKEN_SPEC
        )
    )
    yield world
    world.lose_user()


@pytest.mark.row("SD-26")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(12))
def test_wherever_a_run_is_killed_nobody_is_locked_out_and_the_next_goes_on(
    sandboxed: TokenWorld, at: int, after: bool
) -> None:
    """Rule goodfirst.

    At each call of Kubernetes, in the run that makes the token, the one that replaces it, and the one after that.
    """
    world, pool = sandboxed, sandboxed.pool
    killed(world, at, after)
    pool.settle()
    world.rotate_after("0s")
    killed(world, at, after)
    world.rotate_after("24h")
    killed(world, at, after)
    pool.settle()
    (token,) = world.stored()
    assert set(world.carried().values()) == {token}
    assert (world.good(), pool.views()) == (set(world.stored().values()), ["open", "open"])


def killed(world: TokenWorld, at: int, after: bool) -> None:
    pool = world.pool
    whole = pool.services
    pool.services = replace(whole, kube=Fuse(at, after).guard(pool.api))
    try:
        pool.run()
    except Killed:
        pool.lease_ends()
    pool.services = whole
    assert world.locked_out() == []
    world.lose_user()
    pool.run()
    assert world.locked_out() == []
