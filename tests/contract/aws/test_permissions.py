"""The IAM policy allows what the driver does, and nothing else."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from domain.ports.pool import HealthCheck
from tests.contract.aws.conftest import Driving
from workers.cloud.rates import ACTIONS
from workers.cloud.tags import RETIRING

POLICY = Path(__file__).parents[3] / "deploy" / "iam" / "policy.json"


def everything(drive: Driving) -> None:
    """Each method of the driver, so that each of its calls is made."""
    balancer = drive.balancer(cross_zone=True)
    group = drive.group()
    drive.group(check=HealthCheck(interval_seconds=20))
    listener = drive.listener(balancer.arn, 30000, group)
    drive.api.tag([balancer.arn], {RETIRING: "true"})
    drive.api.register(group, [("10.0.0.5", 7777)])
    drive.api.targets(group)
    drive.api.deregister(group, [("10.0.0.5", 7777)])
    drive.api.listeners(balancer.arn)
    drive.api.find_owned_load_balancers("blue")
    drive.api.limits()
    drive.group("bm-30001-a", drain=30)
    [first, second] = ["arn:aws:acm:us-east-1:123456789012:certificate/" + name for name in "ab"]
    drive.listener(balancer.arn, 30001, drive.group("bm-30002-a"), "TLS", first)
    drive.listener(balancer.arn, 30001, drive.group("bm-30002-a"), "TLS", second)
    drive.api.delete_listener(listener)
    drive.api.delete_target_group(group)
    drive.api.delete_load_balancer(balancer.arn)


@pytest.mark.row("EV-19")
def test_the_driver_uses_exactly_the_actions_of_its_table(drive: Driving) -> None:
    everything(drive)
    assert set(drive.aws.counts()) == set(ACTIONS)


@pytest.mark.row("EV-19")
def test_the_policy_allows_exactly_the_actions_of_the_table() -> None:
    statements = orjson.loads(POLICY.read_bytes())["Statement"]
    allowed = {action for statement in statements for action in statement["Action"]}
    assert allowed == {f"elasticloadbalancing:{action}" for action in ACTIONS}
    assert all(statement["Effect"] == "Allow" for statement in statements)
