"""Whose runners get no token: no pod is made, none ever gets a credential of the workers, and people are told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from redis import Redis

from berthmaster.redis.incarnation import connect
from events.kube.api import Denied, KubeApi
from tests.fixtures.kube import Kube
from tests.integration.pod_pools.conftest import MakeTokens
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.pods.token_world import PASSWORD, SECRET, TOKEN_SPEC, TokenWorld, environment, token_condition


def refused(world: TokenWorld, reason: str, *words: str) -> None:
    """No pod, and both conditions say why."""
    issued, status = token_condition(world.pool), world.pool.status()
    assert issued
    assert (issued["status"], issued["reason"]) == ("False", reason)
    assert [word for word in words if word not in issued["message"]] == []
    [ready] = [item for item in status["conditions"] if item["type"] == "Ready"]
    assert (ready["status"], ready["reason"], ready["message"]) == ("False", "NoRunnerToken", issued["message"])
    assert world.pool.pods() == []


@pytest.mark.row("SD-26", "HO-04")
def test_a_secret_of_another_is_left_alone_and_no_pod_is_made(make_tokens: MakeTokens) -> None:
    world = make_tokens(minReplicas=0)
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "data": {"token-1-00000000": "eA=="}}
    before = world.pool.api.create(world.path, body)
    world.pool.slots.submit("j")
    world.pool.settle()
    refused(world, "SecretOfAnother", "name another one in runnerToken.secretName")
    assert world.secret()["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert not world.exists()
    world.pool.change(runnerToken={"secretName": "another"})
    world.pool.settle()
    assert world.pool.slots.state("j") == "running"
    world.pool.finish_all()


class NoSecrets(KubeApi):
    """As for a service account that may do all but this."""

    def request(self, method: str, path: str, *args: Any, **options: Any) -> dict[str, Any]:
        if "/secrets" in path:
            raise Denied(403, "Forbidden", "secrets is forbidden")
        return super().request(method, path, *args, **options)


@pytest.mark.row("SD-26", "EV-18", "HO-04")
def test_a_worker_that_may_not_touch_secrets_makes_no_pod_and_says_so(make_tokens: MakeTokens) -> None:
    world = make_tokens()
    api, services = world.pool.api, world.pool.services
    world.pool.services = replace(services, kube=NoSecrets(api.connection, api.timeout, api.agent))
    world.pool.settle()
    refused(world, "SecretRefused", "secrets is forbidden", "bind the role berthmaster-pod-pools")
    world.pool.services = services
    world.pool.settle()
    assert (world.pool.views(), set(world.carried().values())) == (["open"], set(world.stored()))


@pytest.mark.row("SD-26", "HO-04")
def test_a_redis_that_lets_no_user_be_made_gets_no_pod_and_is_told(
    redis: Redis, redis_url: str, kube: Kube, crds: None
) -> None:
    redis.execute_command("ACL", "SETUSER", "operator", "on", ">x", "~*", "&*", "+@all", "-acl")  # type: ignore[no-untyped-call] # redis-py has no types there
    with connect(redis_url.replace("//", "//operator:x@")) as client:
        world = TokenWorld(PodPoolWorld(client, kube.api, kube.namespace, minReplicas=1, runnerToken=TOKEN_SPEC))
        world.pool.settle()
        refused(world, "AclRefused", "no permissions to run the 'acl|setuser' command", "allow the workers' user")
        redis.execute_command("ACL", "SETUSER", "operator", "+acl", "-script")  # type: ignore[no-untyped-call] # the same
        redis.script_flush()
        world.pool.settle()
        refused(world, "ScriptsRefused", "allow the workers' user")
        redis.execute_command("ACL", "SETUSER", "operator", "+script")  # type: ignore[no-untyped-call] # the same
        world.pool.settle()
        assert (world.pool.views(), set(world.carried().values())) == (["open"], set(world.stored()))
        issued = token_condition(world.pool)
        assert issued
        assert issued["reason"] == "Issued"
        world.lose_user()
    redis.acl_deluser("operator")


@pytest.mark.row("HO-04")
def test_an_address_that_needs_a_secret_of_the_workers_makes_no_pod(make_tokens: MakeTokens) -> None:
    world = make_tokens()
    world.pool.services = replace(world.pool.services, withheld="sentinel_password is for the workers alone")
    world.pool.settle()
    refused(world, "AddressWithheld", "sentinel_password is for the workers alone")


@pytest.mark.row("SD-26", "HO-04")
def test_a_pool_without_the_field_has_a_token_in_a_secret_of_its_own_name(make_tokens: MakeTokens) -> None:
    world = make_tokens(runnerToken=None)
    world.pool.settle()
    [secret] = world.pool.api.list(world.path)["items"]
    assert secret["metadata"]["name"] == "runners-runner-token"
    assert set(world.carried().values()) == set(secret["data"])


OWN_USER = {"name": PASSWORD, "valueFrom": {"secretKeyRef": {"name": "mine", "key": "password"}}}


@pytest.mark.row("SD-26", "HO-04")
@pytest.mark.parametrize(
    "change",
    [
        {"slots": []},
        {"template": {"spec": {"containers": [{"name": "runner", "image": "runner:1", "env": [OWN_USER]}]}}},
    ],
    ids=["without slots", "with a user of its own"],
)
def test_a_pool_that_needs_no_token_forgets_the_one_that_it_had(
    make_tokens: MakeTokens, change: dict[str, Any]
) -> None:
    world = make_tokens()
    world.pool.settle()
    world.pool.change(**change)
    world.pool.layout = () if "slots" in change else world.pool.layout
    world.pool.run()
    assert world.exists()
    world.pool.settle(6)
    assert (world.exists(), token_condition(world.pool)) == (False, None)
    [pod] = world.pool.pods()
    given = environment(pod).get(PASSWORD)
    assert given == (None if "slots" in change else OWN_USER)


@pytest.mark.row("HO-12")
def test_a_token_that_confines_nobody_is_told_as_such(make_tokens: MakeTokens, redis: Redis) -> None:
    world = make_tokens()
    world.pool.settle()
    issued = token_condition(world.pool)
    assert issued
    assert "lets everybody in as its default user, without a password; set requirepass" in issued["message"]
    redis.config_set("requirepass", "x")
    try:
        world.pool.settle()
        issued = token_condition(world.pool)
    finally:
        redis.config_set("requirepass", "")
    assert issued
    assert (issued["reason"], "everybody" in issued["message"]) == ("Issued", False)
