"""What a PortPool may declare; tests/contract shows that API servers judge alike."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from domain.port_pools.port_pool import LoadBalancerPolicy, PortPoolSpec
from domain.port_pools.providers import MOST_LISTENERS
from domain.spec_errors import spec_problem

Json = dict[str, Any]
EXISTING: Json = {"region": "eu-central-1", "vpcId": "vpc-1", "startPort": 7000, "loadBalancers": ["arn:a"]}


def growing(**growth: Any) -> Json:
    create = {"enabled": True, "parameters": {"subnets": ["subnet-1"]}} | growth
    return {"region": "eu-central-1", "vpcId": "vpc-1", "startPort": 7000, "autoCreate": create}


def problem(spec: Json) -> str:
    with pytest.raises(ValidationError) as refused:
        PortPoolSpec.model_validate(spec)
    return spec_problem(refused.value)


@pytest.mark.row("PP-01")
@pytest.mark.parametrize(
    ("ports", "words"),
    [
        ({"startPort": 0}, "spec.startPort: Input should be greater than or equal to 1"),
        ({"startPort": -1}, "spec.startPort: Input should be greater than or equal to 1"),
        ({"startPort": 65536}, "spec.startPort: Input should be less than or equal to 65535"),
        ({"endPort": 65536}, "spec.endPort: Input should be less than or equal to 65535"),
        ({"startPort": 7000, "endPort": 7000}, "endPort must be greater than startPort"),
        ({"startPort": 7001, "endPort": 7000}, "endPort must be greater than startPort"),
        ({"startPort": 65535}, "endPort must be greater than startPort"),
        ({"startPort": "x"}, "spec.startPort: Input should be a valid integer"),
    ],
)
def test_a_range_that_is_none_is_refused(ports: Json, words: str) -> None:
    assert words in problem(EXISTING | ports)


@pytest.mark.row("PP-05")
def test_without_an_end_a_range_ends_at_the_last_port() -> None:
    spec = PortPoolSpec.model_validate(EXISTING | {"startPort": 65530})
    assert (spec.end_port, spec.range_size, spec.capacity_of_one) == (65535, 6, 6)


@pytest.mark.row("PP-02")
def test_a_quota_excludes_created_load_balancers() -> None:
    assert "listenerQuota is for existing load balancers" in problem(growing() | {"listenerQuota": 20})


@pytest.mark.row("PP-03")
@pytest.mark.parametrize("create", [{}, {"enabled": False, "parameters": {"subnets": ["subnet-1"]}}])
def test_a_pool_needs_a_load_balancer_from_somewhere(create: Json) -> None:
    assert "the pool would never have a port" in problem(EXISTING | {"loadBalancers": [], "autoCreate": create})


@pytest.mark.row("PP-03")
def test_a_load_balancer_cannot_be_created_without_a_subnet() -> None:
    assert "autoCreate.parameters.subnets is empty" in problem(growing(parameters={}))


@pytest.mark.row("PP-07")
@pytest.mark.parametrize(("quota", "words"), [(51, "less than or equal to 50"), (0, "greater than or equal to 1")])
def test_a_quota_beyond_what_a_load_balancer_carries_is_refused(quota: int, words: str) -> None:
    assert f"spec.listenerQuota: Input should be {words}" in problem(EXISTING | {"listenerQuota": quota})


@pytest.mark.row("PP-06", "PP-07")
@pytest.mark.parametrize(
    ("ports", "capacity"),
    [
        ({}, MOST_LISTENERS),
        ({"listenerQuota": 20}, 20),
        ({"endPort": 7004}, 5),
        ({"endPort": 7004, "listenerQuota": 3}, 3),
    ],
)
def test_a_load_balancer_gives_what_quota_and_range_allow(ports: Json, capacity: int) -> None:
    assert PortPoolSpec.model_validate(EXISTING | ports).capacity_of_one == capacity


@pytest.mark.row("PP-02", "PP-03")
def test_unknown_and_doubled_values_are_named_by_their_outside_names() -> None:
    words = problem(EXISTING | {"loadBalancers": ["arn:a", "arn:a"], "lbPolicy": "Best", "segments": 2})
    assert "spec.loadBalancers: Duplicate value: arn:a" in words
    assert "spec.lbPolicy: Input should be 'InOrder', 'Uniform' or 'Random'" in words
    assert "spec.segments: Extra inputs are not permitted" in words


def test_a_long_list_of_faults_is_cut_and_counted() -> None:
    words = problem({f"field{n}": n for n in range(9)})
    assert words.count("; ") == 4
    assert words.endswith("(and 7 more)")


def test_what_is_nested_is_named_with_its_path() -> None:
    words = problem(growing(maxLoadBalancers=0, parameters={"subnets": ["s"], "scheme": "public"}))
    assert "spec.autoCreate.maxLoadBalancers: Input should be greater than or equal to 1" in words
    assert "spec.autoCreate.parameters.scheme: Input should be 'internet-facing' or 'internal'" in words


def test_a_spec_is_written_as_kubernetes_writes_it_and_reads_back() -> None:
    spec = PortPoolSpec.model_validate(growing() | {"lbPolicy": "Uniform"})
    written = spec.model_dump(by_alias=True, mode="json")
    assert (written["lbPolicy"], written["autoCreate"]["maxPerRound"]) == (LoadBalancerPolicy.UNIFORM, 10)
    assert PortPoolSpec.model_validate(written) == spec


@pytest.mark.row("PP-16", "PP-17")
@pytest.mark.parametrize(
    ("spec", "most"),
    [
        (EXISTING, 50),
        (EXISTING | {"loadBalancers": ["arn:a", "arn:b"], "listenerQuota": 10}, 20),
        (growing(maxLoadBalancers=3), 150),
        (growing(maxLoadBalancers=3) | {"loadBalancers": ["arn:a"], "endPort": 7009}, 40),
        (EXISTING | {"autoCreate": {"enabled": False, "maxLoadBalancers": 9}}, 50),
    ],
)
def test_a_demand_that_the_pool_can_never_meet_is_known_beforehand(spec: Json, most: int) -> None:
    read = PortPoolSpec.model_validate(spec)
    assert read.unsatisfiable([1] * most) is None
    assert f"{most + 1} ports are asked for" in str(read.unsatisfiable([1] * (most + 1)))


@pytest.mark.row("PP-08")
@pytest.mark.parametrize(
    ("spec", "capacity"),
    [
        ({"segmentLength": 4}, 48),
        ({"segmentLength": 50}, 50),
        ({"segmentLength": 4, "listenerQuota": 7}, 4),
        ({"segmentLength": 4, "endPort": 7008}, 8),
    ],
)
def test_a_load_balancer_gives_whole_segments(spec: Json, capacity: int) -> None:
    assert PortPoolSpec.model_validate(EXISTING | spec).capacity_of_one == capacity


@pytest.mark.row("PP-08")
@pytest.mark.parametrize("spec", [{"segmentLength": 8, "listenerQuota": 7}, {"segmentLength": 9, "endPort": 7007}])
def test_a_segment_that_no_load_balancer_could_give_is_refused(spec: Json) -> None:
    assert "segmentLength is more than" in problem(EXISTING | spec)


@pytest.mark.row("PP-10")
def test_what_is_created_beforehand_is_all_that_a_load_balancer_gives() -> None:
    spec = PortPoolSpec.model_validate(EXISTING | {"precreate": {"tcp": 3, "udp": 2}})
    assert (spec.precreate.total, spec.capacity_of_one) == (5, 5)


@pytest.mark.row("PP-10")
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"precreate": {"tcp": 30, "udp": 30}}, "precreate asks for more listeners"),
        ({"precreate": {"tcp": 3}, "listenerQuota": 2}, "precreate asks for more listeners"),
        ({"precreate": {"tcp": 3}, "segmentLength": 2}, "cannot be combined with a segmentLength"),
        ({"precreate": {"tcp": 51}}, "spec.precreate.tcp: Input should be less than or equal to 50"),
    ],
)
def test_a_precreation_that_cannot_be_is_refused(spec: Json, words: str) -> None:
    assert words in problem(EXISTING | spec)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"deregistrationDelay": "61m"}, "more than the hour that AWS allows"),
        ({"deregistrationDelay": "5"}, "spec.deregistrationDelay: must be a length of time, such as 90s"),
        (growing(scaleDownDelay="soon"), "spec.autoCreate.scaleDownDelay: must be a length of time, such as 90s"),
        (growing() | {"targetAddressType": "ipv6"}, "ipv6 needs autoCreate.parameters.ipAddressType dualstack"),
        (growing(parameters={"subnets": ["s"], "namePrefix": "Big"}), "namePrefix: must be 1 to 10 lower-case letters"),
    ],
)
def test_lengths_of_time_addresses_and_names_are_checked(spec: Json, words: str) -> None:
    assert words in problem(EXISTING | spec)


@pytest.mark.parametrize(
    ("selector", "labels", "admitted"),
    [
        ({}, {}, True),
        ({"matchLabels": {"team": "a"}}, {"team": "a"}, True),
        ({"matchLabels": {"team": "a"}}, {"team": "b"}, False),
        ({"matchLabels": {"team": ""}}, {}, False),
        ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}, {"team": "b"}, True),
        ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}, {}, False),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}, {}, True),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}, {"team": "a"}, False),
        ({"matchExpressions": [{"key": "team", "operator": "Exists"}]}, {"team": ""}, True),
        ({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, {"team": ""}, False),
        (
            {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]},
            {"a": "1"},
            False,
        ),
    ],
)
def test_a_selector_of_namespaces_judges_as_kubernetes_does(selector: Json, labels: Json, admitted: bool) -> None:
    spec = PortPoolSpec.model_validate(EXISTING | {"allowedNamespaces": selector})
    assert spec.allowed_namespaces is not None
    assert spec.allowed_namespaces.admits(labels) is admitted
