"""Faults of the runners' token: a Secret that cannot be read or was edited, and what a runner does to its own user."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import NoPermissionError

from berthmaster.redis.incarnation import connect
from domain.kubernetes.names import POOL, RUNNER_TOKEN
from domain.kubernetes.objects import Pod
from events.kube.api import Denied, KubeApi
from tests.integration.pod_pools.conftest import MakePool
from tests.support.pods.token_world import SECRET, TokenWorld, text
from workers.pod_pools.runner_tokens import NoTokens
from workers.stores.slots.user import RunnerUser

Make = Callable[..., TokenWorld]


@pytest.fixture
def make(make_pool: MakePool) -> Iterator[Make]:
    worlds: list[TokenWorld] = []

    def world(**spec: Any) -> TokenWorld:
        token_spec = {"runnerToken": {"secretName": SECRET}}
        worlds.append(TokenWorld(make_pool(**{"minReplicas": 1, "maxReplicas": 3} | token_spec | spec)))
        return worlds[-1]

    yield world
    for token_world in worlds:
        token_world.lose_user()


class NoSecrets(KubeApi):
    """Secrets are refused for a while."""

    def request(self, method: str, path: str, *args: Any, **options: Any) -> dict[str, Any]:
        if "/secrets" in path:
            raise Denied(403, "Forbidden", "secrets is forbidden")
        return super().request(method, path, *args, **options)


def api_of(kind: type[KubeApi], world: TokenWorld) -> KubeApi:
    api = world.pool.api
    return kind(api.connection, api.timeout, api.agent)


def deny(world: TokenWorld) -> None:
    world.pool.services = replace(world.pool.services, kube=api_of(NoSecrets, world))


@pytest.mark.row("SD-26", "SL-13")
@pytest.mark.parametrize("why", ["denied", "taken"])
def test_a_user_that_is_lost_while_the_secret_cannot_be_read_comes_back_for_the_pods(make: Make, why: str) -> None:
    world = make()
    world.pool.settle()
    good = world.good()
    if why == "denied":
        deny(world)
    else:
        world.pool.api.patch(f"{world.path}/{SECRET}", {"metadata": {"labels": {POOL: None}}})
    world.lose_user()
    world.pool.run()
    assert world.good() == good


@pytest.mark.row("SD-26")
def test_idle_pods_stay_while_the_secret_cannot_be_read(make: Make) -> None:
    world = make(minReplicas=2)
    world.pool.settle()
    before = world.pool.names()
    deny(world)
    world.pool.settle()
    assert world.pool.names() == before


@pytest.mark.row("SD-26")
@pytest.mark.parametrize("order", [1, -1])
def test_pods_with_two_passwords_of_one_token_both_stay(make: Make, order: int) -> None:
    """A person has changed the password in the Secret, or the Secret was made again by hand."""
    world = make()
    world.pool.settle()
    (token,), (old,) = world.stored(), world.good()
    pods = [*map(Pod, world.pool.pods()), Pod({"metadata": {"annotations": {RUNNER_TOKEN: f"{token}:{'0' * 64}"}}})]
    user = RunnerUser(world.pool.redis, f"{world.pool.namespace}/runners")
    NoTokens(user, f"{time.time_ns() // 1000}-late").verify(pods[::order])
    assert world.good() == {old, "0" * 64}


class NoPatches(KubeApi):
    """Secrets may be read and made, and not be changed: no such right, or one that is immutable."""

    def request(self, method: str, path: str, *args: Any, **options: Any) -> dict[str, Any]:
        if "/secrets" in path and method == "PATCH":
            raise Denied(403, "Forbidden", "secrets is forbidden")
        return super().request(method, path, *args, **options)


@pytest.mark.row("SD-26")
def test_a_secret_that_cannot_be_changed_costs_no_pod_its_token(make: Make) -> None:
    world = make()
    world.pool.settle()
    before, stored = world.pool.names(), world.stored()
    world.pool.services = replace(world.pool.services, kube=api_of(NoPatches, world))
    world.rotate_after("0s")
    world.pool.settle()
    assert world.pool.names() == before
    world.pool.change(minReplicas=2)
    world.pool.settle()
    assert set(world.carried().values()) == set(stored)
    (refused,) = (c for c in world.pool.status()["conditions"] if c["type"] == "RunnerToken")
    assert (refused["status"], refused["reason"]) == ("False", "SecretRefused")
    events = world.pool.api.list(f"/api/v1/namespaces/{world.pool.namespace}/events")["items"]
    assert [e for e in events if e["reason"] == "TokenRotated"] == []


@pytest.mark.row("SD-26")
def test_a_runner_cannot_keep_its_user_from_being_changed(redis: Redis, redis_url: str) -> None:
    user = RunnerUser(redis, "ci/runners")
    user.ensure("1-a", ["0" * 64])
    redis.execute_command("ACL", "SETUSER", user.name, ">runner")  # type: ignore[no-untyped-call] # redis-py has no types there
    with connect(redis_url.replace("//", "//berthmaster%3Aci%2Frunners:runner@")) as runner:
        for key in redis.keys(f"*{user.pool}*"):
            with suppress(NoPermissionError):
                runner.set(text(key), f"{time.time_ns()}-mine")
    user.remove("2-b")
    assert user.name not in {text(name) for name in redis.acl_users()}
