"""docs/eks-elasticache.md is an example that works as far as a machine without AWS can tell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from botocore import xform_name
from botocore.session import Session
from redis import Redis
from redis.exceptions import NoPermissionError

from domain.pod_pools.pod_pool import PodPoolSpec
from tests.fixtures.helm import CHARTS, Helm
from tests.support.deployed import DEPLOY, VERSION, by_name
from workers.settings import WorkerSettings
from workers.stores.slots.user import rights

Json = dict[str, Any]
TEXT = (DEPLOY.parent / "docs" / "eks-elasticache.md").read_text(encoding="utf-8")
JOBS = (DEPLOY.parent / "docs" / "jobs.md").read_text(encoding="utf-8")
BLOCKS = "\n".join(re.findall(r"```sh\n# yours\n(.*?)```", TEXT, re.DOTALL))
VALUES, POOL = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL))
GLOBAL = {"query", "output"}
"""Options of the command itself."""


def commands(*words: str) -> Iterator[list[str]]:
    """The commands of the page that begin so, as words."""
    for line in BLOCKS.replace("\\\n", " ").splitlines():
        if line.startswith(" ".join(words)):
            yield shlex.split(line)


def option(command: list[str], name: str) -> str:
    return command[command.index(f"--{name}") + 1]


def access() -> dict[str, str]:
    """Name of a user -> access string."""
    users = list(commands("aws", "elasticache", "create-user "))
    return {option(user, "user-name"): option(user, "access-string") for user in users}


def literals(secret: str) -> dict[str, str]:
    """What the page puts into a Secret."""
    (command,) = commands("kubectl", "create", "secret", "generic", f"{secret} ")
    pairs = [word.removeprefix("--from-literal=") for word in command if word.startswith("--from-literal")]
    return dict(pair.split("=", 1) for pair in pairs)


@pytest.fixture(scope="module")
def rendered(helm: Helm) -> list[Json]:
    return helm.template(CHARTS / "berthmaster", VALUES)


@pytest.mark.row("ST-61")
def test_the_values_give_a_fleet_without_a_redis_of_its_own(rendered: list[Json]) -> None:
    objects = by_name(rendered)
    assert not [name for name in objects if name[2] == "redis"]
    account = objects["ServiceAccount", "berthmaster", "worker"]["metadata"]["annotations"]
    assert account == {"eks.amazonaws.com/role-arn": "arn:aws:iam::210987654321:role/berthmaster-production"}
    assert ("RoleBinding", "ci", "berthmaster-pod-pools") in objects
    [container] = objects["Deployment", "berthmaster", "worker"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"210987654321.dkr.ecr.eu-west-1.amazonaws.com/berthmaster:{VERSION}"


@pytest.mark.row("ST-61")
def test_the_page_makes_each_secret_that_the_pods_read_and_no_other(rendered: list[Json]) -> None:
    read = set(re.findall(r"secretRef: \{name: ([\w-]+)|secretKeyRef: \{key: \w+, name: ([\w-]+)", flow(rendered)))
    pool = set(re.findall(r"secretKeyRef: \{key: (\w+), name: runners-redis\}", flow(POOL)))
    made = {command[4] for command in commands("kubectl", "create", "secret")}
    assert made == {name for pair in read for name in pair if name} | {"runners-redis"}
    assert literals("runners-redis").keys() == pool == {"username", "password"}
    assert literals("runners-redis")["username"] in access()


@pytest.mark.row("ST-61")
def test_processes_and_runners_take_the_addresses(rendered: list[Json], monkeypatch: pytest.MonkeyPatch) -> None:
    settings = by_name(rendered)["ConfigMap", "berthmaster", "berthmaster"]["data"]
    (endpoint,) = re.findall(r"^ENDPOINT=(\S+)$", BLOCKS, re.MULTILINE)
    secret = {name: value.replace("$ENDPOINT", endpoint) for name, value in literals("berthmaster").items()}
    for name, value in (settings | secret).items():
        monkeypatch.setenv(name, value)
    known = WorkerSettings()
    user, _, place = known.redis.url.removeprefix("rediss://").partition("@")
    assert user.partition(":")[0] in access()
    assert known.slots.runner_redis_url == f"rediss://{place}"
    assert place == f"{endpoint}:6379/0?ssl_cert_reqs=required"


@pytest.mark.row("ST-61")
def test_the_pool_is_valid_and_brings_its_own_user() -> None:
    PodPoolSpec.model_validate(POOL["spec"])
    assert f"{POOL['metadata']['namespace']}/{POOL['metadata']['name']}" == "ci/runners"
    assert VALUES["podPools"]["namespaces"] == [POOL["metadata"]["namespace"]]


@pytest.mark.row("ST-61")
def test_the_rights_of_a_runner_on_the_pages_are_those_of_the_code() -> None:
    expected = rights("ci/runners")
    (setuser,) = re.findall(r"^ACL SETUSER ci-runners (.*?)^```", JOBS, re.DOTALL | re.MULTILINE)
    assert setuser.split() == ["on", ">PASSWORD", *expected]
    without = [rule for rule in expected if rule != "resetchannels"]  # a new user reaches none
    assert access()["ci-runners"].split() == ["on", *without]


@pytest.mark.row("ST-61")
def test_a_server_takes_the_access_strings(redis: Redis, redis_url: str) -> None:
    server: Any = redis
    for name, rules in access().items():
        server.execute_command("ACL", "SETUSER", name, "reset", *rules.split(), ">a-password")
    try:
        fleet, runner = (Redis.from_url(redis_url, username=n, password="a-password") for n in ("fleet", "ci-runners"))
        assert fleet.set("elsewhere", "1")
        assert runner.hset("{sp:ci/runners}meta", "a", "1") == 1
        with pytest.raises(NoPermissionError):
            runner.get("elsewhere")
    finally:
        for name in access():
            redis.acl_deluser(name)


@pytest.mark.row("ST-61")
def test_aws_knows_each_option_and_gets_each_that_it_requires() -> None:
    model = Session().get_service_model("elasticache")
    operations = {xform_name(name, "-"): model.operation_model(name) for name in model.operation_names}
    named = [command for command in commands("aws", "elasticache ") if command[2] != "wait"]
    assert len(named) == 8
    for command in named:
        shape: Any = operations[command[2]].input_shape
        known = {xform_name(member, "-"): member for member in shape.members}
        given = {word.removeprefix("--") for word in command if word.startswith("--")} - GLOBAL
        assert given <= known.keys(), command[2]
        assert set(shape.required_members) <= {known[name] for name in given}, command[2]


def flow(body: Any) -> str:
    """As YAML in one style, to search in."""
    return yaml.safe_dump(body, default_flow_style=True, width=1_000_000)
