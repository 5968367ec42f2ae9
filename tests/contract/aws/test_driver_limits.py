"""The account's limits: AWS's numbers, asked for once and again after a while."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.fixtures.aws import REGION, Aws
from tests.support.ports.unlimited import Unlimited
from workers.cloud.aws.limits import DEFAULTS
from workers.cloud.aws.nlb import aws_nlb
from workers.cloud.driver import Limits, LoadBalancerApi
from workers.cloud.priority import Priority


def remembering(aws: Aws, limits_for: timedelta) -> LoadBalancerApi:
    return aws_nlb(aws.settings.model_copy(update={"limits_for": limits_for}), REGION, Unlimited())


@pytest.mark.row("CL-10")
def test_limits_are_those_of_the_account(aws: Aws) -> None:
    aws.change(quotas={"load_balancers": 7, "target_groups": 90})
    assert remembering(aws, timedelta(hours=1)).limits() == Limits(7, 50, 90)


@pytest.mark.row("CL-10")
def test_limits_are_asked_for_once_by_all_callers(aws: Aws) -> None:
    driver = remembering(aws, timedelta(hours=1))
    for caller in range(3):
        driver.on_behalf_of(f"pod/a/{caller}", Priority.BIND).limits()
    assert aws.counts() == {"DescribeAccountLimits": 1}


@pytest.mark.row("CL-10")
def test_a_policy_that_does_not_allow_the_question_costs_only_the_numbers(aws: Aws) -> None:
    aws.change(quotas={"load_balancers": 7})
    aws.fault("DescribeAccountLimits", code="AccessDenied", status=403)
    assert remembering(aws, timedelta(hours=1)).limits() == DEFAULTS


@pytest.mark.row("CL-10")
def test_a_raised_limit_is_seen_within_the_refresh_time(aws: Aws) -> None:
    driver = remembering(aws, timedelta(0))
    assert driver.limits().load_balancers == 50
    aws.change(quotas={"load_balancers": 80})
    assert driver.limits().load_balancers == 80
