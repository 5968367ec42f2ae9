"""The token of a pool's runners: made, replaced while nothing runs, good for as long as a pod has it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from events.kube.api import KubeApi
from tests.integration.pod_pools.conftest import MakeTokens
from tests.support.pods.token_world import SECRET, environment, token_condition
from workers.kube.pod_pools import owner_reference
from workers.kube.token_secret import TokenSecret
from workers.pod_pools.runner_tokens import RunnerTokens
from workers.stores.slots.user import RunnerUser


@pytest.mark.row("SD-26")
def test_pods_get_a_token_that_is_in_the_secret_and_good_in_redis(make_tokens: MakeTokens) -> None:
    world = make_tokens()
    world.pool.run()
    (token,) = world.stored()
    assert set(world.carried().values()) == {token}
    assert world.good() == set(world.stored().values())
    (pod,) = world.pool.pods()
    assert environment(pod)["BERTHMASTER_RUNNER__REDIS__USERNAME"]["value"] == world.user
    (owner,) = world.secret()["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("PodPool", "runners")
    issued = token_condition(world.pool)
    assert issued
    assert (issued["status"], issued["reason"]) == ("True", "Issued")
    world.pool.settle()
    assert list(world.stored()) == [token]
    assert (world.pool.views(), world.locked_out()) == (["open"], [])


@pytest.mark.row("SD-26", "SD-25")
def test_an_idle_pool_gets_a_new_token_and_forgets_the_old_one_when_no_pod_has_it(make_tokens: MakeTokens) -> None:
    world = make_tokens(minReplicas=2)
    world.pool.settle()
    (old,), pods = world.stored(), world.pool.names()
    world.rotate()
    assert len(world.stored()) == 2
    assert world.good() == set(world.stored().values())
    assert world.locked_out() == []
    world.pool.settle()
    (new,) = world.stored()
    assert new != old
    assert set(world.carried().values()) == {new}
    assert world.good() == set(world.stored().values())
    assert world.pool.names() & pods == set()
    events = world.pool.events()
    assert [e["message"] for e in events if e["reason"] == "TokenRotated"] == [
        f"pods with {old} are replaced when they are idle"
    ]


@pytest.mark.row("SD-26")
@pytest.mark.parametrize("phases", [("plan",), ("plan", "apply")], ids=["runs", "is reserved"])
def test_no_token_is_replaced_while_a_slot_is_in_use(make_tokens: MakeTokens, phases: tuple[str, ...]) -> None:
    world = make_tokens()
    world.pool.settle()
    before, pods = world.stored(), world.pool.names()
    world.pool.slots.submit("j", *phases)
    world.pool.slots.deliver_all()
    if len(phases) > 1:
        world.pool.finish_all()
        assert world.pool.slots.state("j") == "reserved"
    for _ in range(2):
        world.rotate()
    assert (world.stored(), world.pool.names()) == (before, pods)
    if len(phases) > 1:
        world.pool.slots.send(world.pool.slots.ledger.cancel("j").placed)
    world.pool.finish_all()
    world.rotate()
    assert len(world.stored()) == 2


@pytest.mark.row("SD-26")
def test_a_pod_that_gets_a_job_after_the_rotation_keeps_its_token_until_the_job_ends(make_tokens: MakeTokens) -> None:
    """Rule keepsecret."""
    world = make_tokens(maxReplicas=1)
    world.pool.settle()
    (old,), pods = world.stored(), world.pool.names()
    world.rotate()
    world.pool.slots.submit("j")
    world.pool.slots.deliver_all()
    world.lose_user()
    world.pool.settle()
    assert world.pool.names() == pods
    assert (old in world.stored(), world.locked_out()) == (True, [])
    world.pool.finish_all()
    world.pool.settle()
    assert old not in world.stored()
    assert world.pool.names() & pods == set()
    assert world.locked_out() == []


@pytest.mark.row("SD-26", "SL-13")
def test_a_lost_user_is_made_again_before_anybody_must_report(make_tokens: MakeTokens) -> None:
    world = make_tokens()
    world.pool.settle()
    world.pool.slots.submit("j")
    world.pool.slots.deliver_all()
    before, pods = world.stored(), world.pool.names()
    world.rotate_after("0s")
    world.pool.redis.flushall()
    world.lose_user()
    world.pool.claim()
    world.pool.run()  # not verified: nothing is known of the job
    assert world.good() == set(before.values())
    world.pool.settle()
    assert (world.stored(), world.pool.names(), world.locked_out()) == (before, pods, [])
    assert world.pool.slots.state("j") == "running"


@pytest.mark.row("SD-26")
def test_a_secret_that_was_deleted_locks_no_running_pod_out(make_tokens: MakeTokens) -> None:
    """Rule frompods."""
    world = make_tokens()
    world.pool.settle()
    (old,) = world.good()
    world.pool.slots.submit("j")
    world.pool.slots.deliver_all()
    world.pool.api.delete(f"{world.path}/{SECRET}")
    world.lose_user()
    world.pool.run()
    assert world.good() == {old, *world.stored().values()}
    assert len(world.good()) == 2
    world.pool.finish_all()
    world.pool.settle()
    assert world.good() == set(world.stored().values())
    assert world.locked_out() == []


@pytest.mark.row("SD-26")
def test_the_user_of_a_pool_that_is_gone_goes_when_no_pod_lives_by_it(make_tokens: MakeTokens) -> None:
    world = make_tokens()
    world.pool.settle()
    (name,) = world.pool.names()
    world.pool.api.patch(world.pool.pod_path(name), {"metadata": {"finalizers": ["example.com/ends-slowly"]}})
    world.pool.api.delete(f"{world.pool.path}/runners")
    world.pool.run()
    assert world.exists()
    world.pool.api.patch(world.pool.pod_path(name), {"metadata": {"finalizers": None}})
    world.pool.end(name)
    world.pool.run()
    assert not world.exists()


class ReadsSlowly(KubeApi):
    """After the Secret was read something happens."""

    def __init__(self, api: KubeApi, happens: Callable[[], object]) -> None:
        super().__init__(api.connection, api.timeout, api.agent)
        self._happens = [happens]

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        reply = super().get(path, **query)
        if "/secrets/" in path and self._happens:
            self._happens.pop()()
        return reply


@pytest.mark.row("SD-26")
def test_an_older_run_that_wakes_up_and_makes_a_token_takes_none_from_a_newer_run(make_tokens: MakeTokens) -> None:
    """Rule secretversion."""
    world = make_tokens(minReplicas=0)
    pool = world.pool
    pool.run()
    snapshot = pool.services.pools.read(pool.namespace, "runners")
    assert snapshot
    secret = TokenSecret(pool.api, pool.namespace, SECRET, "runners", owner_reference(snapshot))
    user, token = RunnerUser(pool.redis, f"{pool.namespace}/runners"), f"{time.time_ns() // 1000}-late"
    late = RunnerTokens(user, token, secret, timedelta(0), lambda: None, None)
    issued = late.verify([])
    wake_up = partial(late.rotate, issued, [], datetime.now(UTC), lambda: True)

    pool.change(minReplicas=1)
    pool.services = replace(pool.services, kube=ReadsSlowly(pool.api, wake_up))
    pool.run()
    assert (len(world.stored()), world.carried().popitem()[1]) == (2, issued.name)
    assert world.locked_out() == []
    pool.settle()
    assert world.locked_out() == []
