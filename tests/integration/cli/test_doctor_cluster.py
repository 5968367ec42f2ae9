"""The doctor's look at Kubernetes and AWS: content with what is right, and a line with the way out for what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest

from berthmaster.kinds import OUR_KINDS
from compose.sandbox.kube.apply import apply, manifests
from compose.sandbox.kube.small import SmallKube
from compose.sandbox.redis_server import RedisServer
from events.kube.api import NotFound
from tests.fixtures.aws import CREDENTIALS, Aws
from tests.fixtures.kube import CRDS, Kube, SandboxKube
from tests.support.command_line import berthmaster, places_of

Json = dict[str, Any]
Places = dict[str, str | None]
GROUP = "berthmaster.dev/v1alpha1"
PORT_POOLS = f"/apis/{GROUP}/portpools"


@pytest.fixture(scope="module")
def redis_right(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("durable")).start()
    yield server
    server.kill()


@pytest.fixture
def places_right(kube_sandbox: SandboxKube, crds_sandbox: None, redis_right: RedisServer, aws: Aws) -> Places:
    return {
        **places_of(kube_sandbox, redis_right.url),
        **CREDENTIALS,
        "BERTHMASTER_AWS__ENDPOINT_URL": aws.endpoint_url,
    }


def examined(places: Places, *options: str) -> dict[str, str]:
    """What fails, and what is said of it."""
    result = berthmaster(places, "doctor", "--json", *options)
    wrong = {check["name"]: check["found"] for check in orjson.loads(result.stdout) if not check["ok"]}
    assert result.exit_code == (1 if wrong else 0), result.output
    return wrong


def test_an_administrator_of_either_server_is_well(kube: Kube, crds: None, redis_right: RedisServer) -> None:
    places: Places = {**places_of(kube, redis_right.url)}
    assert examined(places) == {}
    assert examined(places, "--for", "publisher") == {}


def test_an_account_without_any_permission_is_told_each_and_its_role(
    kube: Kube, crds: None, redis_right: RedisServer
) -> None:
    places: Places = {**places_of(kube, redis_right.url), "BERTHMASTER_KUBERNETES__TOKEN": kube.server.other_token}
    wrong = examined(places)
    assert "deploy/base/worker-access.yaml" in wrong["May patch pods/status"]
    assert all(said.startswith("bind this account to the cluster role berthmaster-worker") for said in wrong.values())
    told = examined(places, "--for", "publisher")
    assert "berthmaster-publisher" in told["May watch pods"]
    assert (
        f"role in namespace {kube.namespace}"
        in told[f"May update leases.coordination.k8s.io berthmaster-publisher in namespace {kube.namespace}"]
    )


@pytest.mark.parametrize(
    "limits, name, out",
    [
        (
            {"verbs": ["patch"], "resources": ["portpools/status"]},
            "May patch portpools.berthmaster.dev/status",
            "cluster role berthmaster-worker",
        ),
        (
            {"verbs": ["create"], "resources": ["secrets"]},
            "May create secrets in namespace {}",
            "kubectl create rolebinding berthmaster-pod-pools -n {} --clusterrole=berthmaster-pod-pools",
        ),
    ],
)
def test_one_permission_that_is_missing_is_one_line(
    places_right: Places, kube_sandbox: SandboxKube, limits: Json, name: str, out: str
) -> None:
    template = {"spec": {"containers": [{"name": "runner", "image": "runner"}]}}
    pool = {"apiVersion": GROUP, "kind": "PodPool", "metadata": {"name": "p"}, "spec": {"template": template}}
    kube_sandbox.api.create(kube_sandbox.path("podpools", group=GROUP), pool)
    kube_sandbox.server.fault("deny", clients=["berthmaster"], **limits)
    wrong = examined(places_right)
    space = kube_sandbox.namespace
    assert name.format(space) in wrong
    assert out.format(space) in wrong[name.format(space)]
    assert all(key.startswith(name.partition(" in ")[0]) for key in wrong)  # other namespaces may have pools as well


@pytest.fixture
def bare(tmp_path: Path, redis_right: RedisServer) -> Iterator[tuple[SmallKube, Places]]:
    """A server without our kinds."""
    server = SmallKube(tmp_path / "kube").start()
    token = {"BERTHMASTER_KUBERNETES__TOKEN": server.token, "BERTHMASTER_KUBERNETES__SERVER": server.url}
    yield server, {"BERTHMASTER_REDIS__URL": redis_right.url, **token}
    server.stop()


def test_kinds_that_are_not_installed_are_named(bare: tuple[SmallKube, Places]) -> None:
    wrong = examined(bare[1])
    assert wrong == {f"{kind.name} is installed": "not installed: kubectl apply -f deploy/crds" for kind in OUR_KINDS}


def without_precreate(spec: Json) -> None:
    del spec["properties"]["precreate"]


def with_one_policy(spec: Json) -> None:
    spec["properties"]["lbPolicy"]["enum"] = ["InOrder"]


def with_more(spec: Json) -> None:
    spec["properties"]["colour"] = {"type": "string"}


@pytest.mark.parametrize(
    "change, said",
    [
        (without_precreate, "older than this version, lacks spec.precreate"),
        (with_one_policy, "older than this version, lacks spec.lbPolicy=Random"),
        (with_more, "newer than this version, has spec.colour as well"),
    ],
)
def test_a_definition_of_another_version_is_found_by_its_fields(
    bare: tuple[SmallKube, Places], change: Callable[[Json], None], said: str
) -> None:
    server, places = bare
    definitions = deepcopy(manifests(CRDS))
    [ports] = [each for each in definitions if each["metadata"]["name"].startswith("portpools")]
    schema = ports["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema.pop("x-kubernetes-validations")
    change(schema)
    apply(server.api(), definitions)
    wrong = examined(places)
    assert list(wrong) == ["PortPool is installed"]
    assert wrong["PortPool is installed"].startswith(said)


def test_a_kubernetes_that_does_not_answer_is_one_line(places_right: Places) -> None:
    wrong = examined({**places_right, "BERTHMASTER_KUBERNETES__SERVER": "http://127.0.0.1:1"})
    assert list(wrong) == ["Kubernetes answers"]
    assert "lead to an API server that runs?" in wrong["Kubernetes answers"]


@pytest.fixture
def in_ireland(kube_sandbox: SandboxKube, places_right: Places) -> Iterator[Places]:
    """A pool in eu-west-1."""
    spec = {"region": "eu-west-1", "vpcId": "vpc-1", "startPort": 7000, "autoCreate": {"enabled": False}}
    arn = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/net/a/0123456789abcdef"
    body = {"apiVersion": GROUP, "kind": "PortPool", "metadata": {"name": "doctored"}}
    kube_sandbox.api.create(PORT_POOLS, {**body, "spec": {**spec, "loadBalancers": [arn]}})
    yield places_right
    with suppress(NotFound):
        kube_sandbox.api.delete(f"{PORT_POOLS}/doctored")


def of_aws(wrong: dict[str, str]) -> dict[str, str]:
    """Pools of other tests are in other regions."""
    return {name: said for name, said in wrong.items() if "AWS in eu-west-1" in name}


def test_an_aws_that_answers_is_well(in_ireland: Places, aws: Aws) -> None:
    assert examined(in_ireland) == {}
    assert set(aws.counts()) == {"DescribeAccountLimits", "DescribeLoadBalancers", "DescribeTargetGroups"}
    aws.reset()
    assert examined(in_ireland, "--for", "publisher") == {}
    assert aws.counts() == {}


def test_an_action_that_aws_does_not_allow_is_named(in_ireland: Places, aws: Aws) -> None:
    aws.fault("DescribeLoadBalancers", code="AccessDenied", status=403, times=None)
    wrong = of_aws(examined(in_ireland))
    assert list(wrong) == ["AWS in eu-west-1: DescribeLoadBalancers"]
    assert "attach deploy/iam/policy.json" in wrong["AWS in eu-west-1: DescribeLoadBalancers"]


NOBODY = {
    **dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE")),
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_CONFIG_FILE": "/dev/null",
}


@pytest.mark.parametrize(
    "away, said",
    [
        (NOBODY, "no credentials: give the pod's service account a role"),
        (
            {"BERTHMASTER_AWS__ENDPOINT_URL": "http://127.0.0.1:1"},
            "is the region right, and may this machine reach AWS?",
        ),
    ],
)
def test_an_aws_that_cannot_be_asked_is_one_line_with_the_way_out(in_ireland: Places, away: Places, said: str) -> None:
    wrong = of_aws(examined({**in_ireland, **away}))
    assert list(wrong) == ["AWS in eu-west-1"]
    assert said in wrong["AWS in eu-west-1"]


def test_credentials_that_have_expired_are_said_once(in_ireland: Places, aws: Aws) -> None:
    aws.fault("*", code="ExpiredToken", status=403, times=None)
    wrong = of_aws(examined(in_ireland))
    assert list(wrong) == ["AWS in eu-west-1"]
    assert "does not accept the credentials (ExpiredToken)" in wrong["AWS in eu-west-1"]
