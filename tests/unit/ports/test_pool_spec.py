"""What a PortPool may declare; tests/contract shows that API servers judge alike."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from domain.ports.pool import NLB_LISTENERS, Policy, PortPoolSpec
from domain.ports.spec_errors import spec_problem

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
        ({}, NLB_LISTENERS),
        ({"listenerQuota": 20}, 20),
        ({"endPort": 7004}, 5),
        ({"endPort": 7004, "listenerQuota": 3}, 3),
    ],
)
def test_a_load_balancer_gives_what_quota_and_range_allow(ports: Json, capacity: int) -> None:
    assert PortPoolSpec.model_validate(EXISTING | ports).capacity_of_one == capacity


@pytest.mark.row("PP-02", "PP-03")
def test_unknown_and_doubled_values_are_named_by_their_outside_names() -> None:
    words = problem(EXISTING | {"loadBalancers": ["arn:a", "arn:a"], "lbPolicy": "Best", "segmentLength": 2})
    assert "spec.loadBalancers: Duplicate value: arn:a" in words
    assert "spec.lbPolicy: Input should be 'InOrder', 'Uniform' or 'Random'" in words
    assert "spec.segmentLength: Extra inputs are not permitted" in words


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
    assert (written["lbPolicy"], written["autoCreate"]["maxPerRound"]) == (Policy.UNIFORM, 10)
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
    assert read.unsatisfiable(most) == ""
    assert f"{most + 1} ports are asked for" in read.unsatisfiable(most + 1)
