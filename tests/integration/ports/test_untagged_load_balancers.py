"""Somebody removes the tags of a load balancer that we created: it stays ours, also if Redis or the pool goes."""

from __future__ import annotations

import pytest

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.pool_edits import nudge
from tests.support.ports.world_checks import check_all
from workers.cloud.tags import CLUSTER, CREATED_BY, POOL
from workers.kube.port_pools import PATH
from workers.port_audit.reconciler import audit

TAGS = [CLUSTER, POOL, CREATED_BY]


@pytest.mark.row("AL-20", "FZ-07")
def test_a_pool_grows_after_its_load_balancer_has_lost_its_tags_and_redis_was_lost(fleet: Fleet, aws: Aws) -> None:
    """Its name is taken: no load balancer could be created in its slot any more, nor in a later one."""
    fleet.pool("arena", endPort=30001)
    fleet.pod("a", "7/UDP@arena,8/UDP@arena", "10.0.0.1")
    fleet.settle()
    (before,) = fleet.ledger("arena").load_balancers
    aws.client().remove_tags(ResourceArns=[before.arn], TagKeys=TAGS)
    fleet.redis.flushall()
    fleet.pod("b", "7/UDP@arena", "10.0.0.2")
    fleet.settle()
    assert [lb.slot for lb in fleet.ledger("arena").load_balancers] == [0, 1]
    assert [fleet.state(name) for name in "ab"] == ["Bound", "Bound"]
    audit(fleet.services)
    nudge(fleet)
    assert before.arn in {lb.arn for lb in fleet.driver.find_owned_load_balancers(fleet.cluster, "arena")}
    check_all(fleet, aws)


@pytest.mark.row("FZ-07")
def test_a_pool_that_is_deleted_takes_a_load_balancer_without_tags_along(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7/UDP@arena", "10.0.0.1")
    fleet.settle()
    (balancer,) = fleet.ledger("arena").load_balancers
    aws.client().remove_tags(ResourceArns=[balancer.arn], TagKeys=TAGS)
    fleet.delete("a")
    fleet.api.delete(f"{PATH}/arena")
    fleet.settle()
    nudge(fleet)
    assert fleet.driver.find_load_balancers(arns=[balancer.arn]) == []
