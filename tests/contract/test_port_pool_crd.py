"""The definition of PortPool on API servers: what it takes, what it refuses and in which words, what may change."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compose.sandbox.kube.apply import apply, manifests
from domain.port_pools.port_pool import PortPoolSpec
from domain.port_pools.status import LoadBalancerLine, pool_status
from events.kube.api import Invalid, NotFound
from tests.fixtures.kube import Kube

Json = dict[str, Any]
EXAMPLES = Path(__file__).parents[2] / "deploy" / "examples"
pytestmark = pytest.mark.usefixtures("crds")
PATH = "/apis/berthmaster.dev/v1alpha1/portpools"
EXISTING: Json = {
    "region": "eu-central-1",
    "vpcId": "vpc-1",
    "startPort": 7000,
    "endPort": 7999,
    "loadBalancers": ["a"],
}
GROWING: Json = {
    "region": "eu-central-1",
    "vpcId": "vpc-1",
    "startPort": 7000,
    "autoCreate": {"enabled": True, "parameters": {"subnets": ["subnet-1"]}},
}


class Pools:
    """PortPools of one test."""

    def __init__(self, kube: Kube) -> None:
        self.api, self.names = kube.api, list[str]()

    def create(self, spec: Json) -> Json:
        name = f"crd-{secrets.token_hex(4)}"
        body = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "PortPool", "metadata": {"name": name}, "spec": spec}
        made = self.api.create(PATH, body)
        self.names.append(name)
        return made

    def refusal(self, spec: Json) -> str:
        with pytest.raises(Invalid) as refused:
            self.create(spec)
        return refused.value.message

    def change(self, pool: Json, **spec: Any) -> Json:
        return self.api.patch(f"{PATH}/{pool['metadata']['name']}", {"spec": spec})

    def set_status(self, pool: Json, status: Json) -> Json:
        return self.api.patch(f"{PATH}/{pool['metadata']['name']}/status", {"status": status})


@pytest.fixture
def pools(kube: Kube) -> Iterator[Pools]:
    made = Pools(kube)
    yield made
    for name in made.names:
        kube.api.delete(f"{PATH}/{name}")


@pytest.mark.row("PP-01", "PP-02", "PP-03", "PP-07")
@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        (EXISTING | {"startPort": 0}, "spec.startPort", "greater than or equal to 1"),
        (EXISTING | {"endPort": 65536}, "spec.endPort", "less than or equal to 65535"),
        (EXISTING | {"endPort": 7000}, "spec.endPort", "endPort must be greater than startPort"),
        (EXISTING | {"startPort": 65535, "endPort": None}, "spec.endPort", "endPort must be greater than startPort"),
        (EXISTING | {"startPort": "7000"}, "spec.startPort", "must be of type integer"),
        (EXISTING | {"listenerQuota": 51}, "spec.listenerQuota", "less than or equal to 50"),
        (GROWING | {"listenerQuota": 20}, "spec.listenerQuota", "it cannot be set while autoCreate.enabled is true"),
        (EXISTING | {"loadBalancers": []}, "spec.loadBalancers", "the pool would never have a port"),
        (EXISTING | {"loadBalancers": ["a", "a"]}, "spec.loadBalancers[1]", "Duplicate value"),
        (GROWING | {"autoCreate": {"enabled": True}}, "spec.autoCreate.parameters.subnets", "at least one subnet"),
        (EXISTING | {"lbPolicy": "Best"}, "spec.lbPolicy", "supported values"),
        (EXISTING | {"segmentLength": 51}, "spec.segmentLength", "less than or equal to 50"),
        (EXISTING | {"segmentLength": 9, "listenerQuota": 8}, "spec.segmentLength", "no port could ever be given"),
        (EXISTING | {"precreate": {"tcp": 30, "udp": 30}}, "spec.precreate", "more listeners than listenerQuota"),
        (EXISTING | {"precreate": {"tcp": 1}, "segmentLength": 2}, "spec.precreate", "cannot be combined"),
        (EXISTING | {"deregistrationDelay": "2h"}, "spec.deregistrationDelay", "the hour that AWS allows"),
        (EXISTING | {"deregistrationDelay": "2"}, "spec.deregistrationDelay", "should match"),
        (GROWING | {"targetAddressType": "ipv6"}, "spec.targetAddressType", "dualstack"),
        (
            GROWING | {"autoCreate": {"parameters": {"namePrefix": "internal"}}, "loadBalancers": ["a"]},
            "spec.autoCreate.parameters.namePrefix",
            "which AWS keeps for itself",
        ),
        ({"startPort": 7000, "loadBalancers": ["a"], "vpcId": "vpc-1"}, "spec.region", "Required value"),
    ],
)
def test_a_faulty_pool_is_refused_with_the_field_named(pools: Pools, spec: Json, field: str, words: str) -> None:
    message = pools.refusal(spec)
    assert field in message
    assert words in message


@pytest.mark.row("PP-02", "PP-03")
def test_every_broken_rule_is_named_at_once(pools: Pools) -> None:
    message = pools.refusal(EXISTING | {"startPort": 9, "endPort": 8, "loadBalancers": []})
    assert "endPort must be greater than startPort" in message
    assert "loadBalancers is empty and autoCreate.enabled is false" in message


@pytest.mark.row("PP-05")
@pytest.mark.parametrize("spec", [EXISTING, GROWING, {**EXISTING, "listenerQuota": 20, "lbPolicy": "Uniform"}])
def test_a_good_pool_is_stored_with_the_defaults_of_the_model(pools: Pools, spec: Json) -> None:
    stored = pools.create(spec)["spec"]
    wanted = PortPoolSpec.model_validate(spec)
    assert PortPoolSpec.model_validate(stored) == wanted
    assert stored == wanted.model_dump(by_alias=True, mode="json", exclude_none=True)


@pytest.mark.row("PP-04")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("startPort", 7001),
        ("endPort", 8000),
        ("region", "eu-west-1"),
        ("vpcId", "vpc-2"),
        ("segmentLength", 2),
        ("precreate", {"tcp": 1}),
        ("targetAddressType", "ipv6"),
        ("listenerQuota", 21),
        ("listenerQuota", None),
    ],
)
def test_what_bound_ports_depend_on_cannot_be_changed(pools: Pools, field: str, value: Any) -> None:
    pool = pools.create(EXISTING | {"listenerQuota": 20})
    with pytest.raises(Invalid) as refused:
        pools.change(pool, **{field: value})
    assert f"{field} is immutable" in refused.value.message


@pytest.mark.row("PP-04", "PP-02")
def test_a_quota_cannot_be_added_later(pools: Pools) -> None:
    pool = pools.create(EXISTING)
    with pytest.raises(Invalid, match="listenerQuota is immutable"):
        pools.change(pool, listenerQuota=20)


@pytest.mark.row("PP-04")
def test_policy_load_balancers_and_growth_can_be_changed(pools: Pools) -> None:
    pool = pools.create(EXISTING)
    growth = {"enabled": True, "maxLoadBalancers": 7, "parameters": {"subnets": ["subnet-1"]}}
    changed = pools.change(pool, lbPolicy="Random", loadBalancers=["b", "a"], autoCreate=growth)["spec"]
    assert (changed["lbPolicy"], changed["loadBalancers"]) == ("Random", ["b", "a"])
    assert changed["autoCreate"]["maxLoadBalancers"] == 7


@pytest.mark.row("PP-20")
def test_a_status_is_stored_as_it_was_written(pools: Pools) -> None:
    line = LoadBalancerLine("bm-1", "arn:1", "bm-1.example", 3, 47, auto_created=True, foreign=3)
    status = pool_status("Active", "1790000000000", 2, [line], 1)
    assert pools.set_status(pools.create(GROWING), status)["status"] == status


def test_a_status_may_say_more_than_this_version_knows(pools: Pools) -> None:
    status = {"state": "Active", "later": 1, "loadBalancers": [{"name": "x", "later": 2}]}
    assert pools.set_status(pools.create(GROWING), status)["status"] == status


@pytest.mark.row("PP-20")
def test_kubectl_shows_what_a_pool_has(kube: Kube) -> None:
    definition = kube.api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/portpools.berthmaster.dev")
    columns = [column["name"] for column in definition["spec"]["versions"][0]["additionalPrinterColumns"]]
    assert columns == ["State", "Ready", "Reason", "Capacity", "Allocated", "Waiting", "LBs", "Epoch", "Age"]


def test_the_examples_are_taken(pools: Pools, kube: Kube) -> None:
    bodies = manifests(EXAMPLES)
    for body in bodies:
        if body["kind"] == "PortPool":
            pools.names.append(body["metadata"]["name"])
        else:
            body["metadata"]["namespace"] = kube.namespace
    apply(kube.api, bodies)
    stored = [kube.api.get(f"{PATH}/{name}") for name in pools.names]
    assert [PortPoolSpec.model_validate(pool["spec"]).start_port for pool in stored] == [30000, 20000]


def test_a_pool_is_of_the_whole_cluster(pools: Pools, kube: Kube) -> None:
    pool = pools.create(GROWING)
    assert "namespace" not in pool["metadata"]
    with pytest.raises(NotFound):
        kube.api.list(kube.path("portpools", group="berthmaster.dev/v1alpha1"))
