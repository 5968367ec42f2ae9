"""The token of a pool's runners: made, replaced while nothing runs, good for as long as a pod has it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from redis import Redis

from events.incarnation import connect
from events.kube_api import Denied, KubeApi
from tests.fixtures.kube import Kube
from tests.integration.podpools.conftest import MakePool
from tests.support.pod_pool_world import PodPoolWorld
from tests.support.token_world import PASSWORD, SECRET, TokenWorld, environment
from workers.kube.pod_pools import owner_reference
from workers.kube.token_secret import TokenSecret
from workers.podpools.tokens import RunnerTokens
from workers.stores.slots.user import RunnerUser

Make = Callable[..., TokenWorld]
WISH = {"secretName": SECRET}


@pytest.fixture
def make(make_pool: MakePool) -> Iterator[Make]:
    made: list[TokenWorld] = []

    def world(**spec: Any) -> TokenWorld:
        made.append(TokenWorld(make_pool(**{"minReplicas": 1, "maxReplicas": 3, "runnerToken": WISH} | spec)))
        return made[-1]

    yield world
    for each in made:
        each.lose_user()


def condition(pool: PodPoolWorld) -> dict[str, str] | None:
    return next((c for c in pool.status()["conditions"] if c["type"] == "RunnerToken"), None)


def refused(world: TokenWorld, reason: str, *words: str) -> None:
    """No pod, and both conditions say why."""
    told, status = condition(world.pool), world.pool.status()
    assert told
    assert (told["status"], told["reason"]) == ("False", reason)
    assert [word for word in words if word not in told["message"]] == []
    [ready] = [each for each in status["conditions"] if each["type"] == "Ready"]
    assert (ready["status"], ready["reason"], ready["message"]) == ("False", "NoRunnerToken", told["message"])
    assert world.pool.pods() == []


@pytest.mark.row("SD-26")
def test_pods_get_a_token_that_is_in_the_secret_and_good_in_redis(make: Make) -> None:
    world = make()
    world.pool.run()
    (token,) = world.stored()
    assert set(world.carried().values()) == {token}
    assert world.good() == set(world.stored().values())
    (pod,) = world.pool.pods()
    assert environment(pod)["BERTHMASTER_RUNNER__REDIS__USERNAME"]["value"] == world.user
    (owner,) = world.secret()["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("PodPool", "runners")
    told = condition(world.pool)
    assert told
    assert (told["status"], told["reason"]) == ("True", "Issued")
    world.pool.settle()
    assert list(world.stored()) == [token]
    assert (world.pool.views(), world.locked_out()) == (["open"], [])


@pytest.mark.row("SD-26", "SD-25")
def test_an_idle_pool_gets_a_new_token_and_forgets_the_old_one_when_no_pod_has_it(make: Make) -> None:
    world = make(minReplicas=2)
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
def test_no_token_is_replaced_while_a_slot_is_in_use(make: Make, phases: tuple[str, ...]) -> None:
    world = make()
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
def test_a_pod_that_gets_a_job_after_the_rotation_keeps_its_token_until_the_job_ends(make: Make) -> None:
    world = make(maxReplicas=1)
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
def test_a_lost_user_is_made_again_before_anybody_must_report(make: Make) -> None:
    world = make()
    world.pool.settle()
    world.pool.slots.submit("j")
    world.pool.slots.deliver_all()
    before, pods = world.stored(), world.pool.names()
    world.wish("0s")
    world.pool.redis.flushall()
    world.lose_user()
    world.pool.claim()
    world.pool.run()  # not verified: nothing is known of the job
    assert world.good() == set(before.values())
    world.pool.settle()
    assert (world.stored(), world.pool.names(), world.locked_out()) == (before, pods, [])
    assert world.pool.slots.state("j") == "running"


@pytest.mark.row("SD-26")
def test_a_secret_that_was_deleted_locks_no_running_pod_out(make: Make) -> None:
    world = make()
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


@pytest.mark.row("SD-26", "HO-04")
def test_a_secret_of_another_is_left_alone_and_no_pod_is_made(make: Make) -> None:
    world = make(minReplicas=0)
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
def test_a_worker_that_may_not_touch_secrets_makes_no_pod_and_says_so(make: Make) -> None:
    world = make()
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
        world = TokenWorld(PodPoolWorld(client, kube.api, kube.namespace, minReplicas=1, runnerToken=WISH))
        world.pool.settle()
        refused(world, "AclRefused", "no permissions to run the 'acl|setuser' command", "allow the workers' user")
        redis.execute_command("ACL", "SETUSER", "operator", "+acl", "-script")  # type: ignore[no-untyped-call] # the same
        redis.script_flush()
        world.pool.settle()
        refused(world, "ScriptsRefused", "allow the workers' user")
        redis.execute_command("ACL", "SETUSER", "operator", "+script")  # type: ignore[no-untyped-call] # the same
        world.pool.settle()
        assert (world.pool.views(), set(world.carried().values())) == (["open"], set(world.stored()))
        told = condition(world.pool)
        assert told
        assert told["reason"] == "Issued"
        world.lose_user()
    redis.acl_deluser("operator")


@pytest.mark.row("HO-04")
def test_an_address_that_needs_a_secret_of_the_workers_makes_no_pod(make: Make) -> None:
    world = make()
    world.pool.services = replace(world.pool.services, withheld="sentinel_password is for the workers alone")
    world.pool.settle()
    refused(world, "AddressWithheld", "sentinel_password is for the workers alone")


@pytest.mark.row("SD-26", "HO-04")
def test_a_pool_without_the_field_has_a_token_in_a_secret_of_its_own_name(make: Make) -> None:
    world = make(runnerToken=None)
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
def test_a_pool_that_needs_no_token_forgets_the_one_that_it_had(make: Make, change: dict[str, Any]) -> None:
    world = make()
    world.pool.settle()
    world.pool.change(**change)
    world.pool.layout = () if "slots" in change else world.pool.layout
    world.pool.run()
    assert world.exists()
    world.pool.settle(6)
    assert (world.exists(), condition(world.pool)) == (False, None)
    [pod] = world.pool.pods()
    given = environment(pod).get(PASSWORD)
    assert given == (None if "slots" in change else OWN_USER)


@pytest.mark.row("HO-12")
def test_a_token_that_confines_nobody_is_told_as_such(make: Make, redis: Redis) -> None:
    world = make()
    world.pool.settle()
    told = condition(world.pool)
    assert told
    assert "lets everybody in as its default user, without a password; set requirepass" in told["message"]
    redis.config_set("requirepass", "x")
    try:
        world.pool.settle()
        told = condition(world.pool)
    finally:
        redis.config_set("requirepass", "")
    assert told
    assert (told["reason"], "everybody" in told["message"]) == ("Issued", False)


@pytest.mark.row("SD-26")
def test_the_user_of_a_pool_that_is_gone_goes_when_no_pod_lives_by_it(make: Make) -> None:
    world = make()
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
        found = super().get(path, **query)
        if "/secrets/" in path and self._happens:
            self._happens.pop()()
        return found


@pytest.mark.row("SD-26")
def test_an_older_run_that_wakes_up_and_makes_a_token_takes_none_from_a_newer_run(make: Make) -> None:
    world = make(minReplicas=0)
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
