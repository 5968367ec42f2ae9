"""What an id says about a load balancer."""

from __future__ import annotations

import pytest

from workers.cloud.aws.arns import load_balancer_name_in as name_in_arn
from workers.cloud.providers import is_load_balancer, load_balancer_name_in

PREFIX = "arn:aws:elasticloadbalancing:eu-west-1:1:"


@pytest.mark.parametrize(
    ("arn", "name"),
    [(f"{PREFIX}loadbalancer/net/mine/0123", "mine"), ("not an arn", "not an arn"), ("a/b", "a/b"), ("", "")],
)
def test_a_load_balancer_has_its_name_in_its_arn(arn: str, name: str) -> None:
    assert load_balancer_name_in(arn) == name
    assert name_in_arn(arn) == (name if is_load_balancer(arn) else None)


def test_only_the_arn_of_a_load_balancer_is_one() -> None:
    assert is_load_balancer(f"{PREFIX}loadbalancer/net/mine/0123")
    assert not is_load_balancer(f"{PREFIX}listener/net/mine/0123/4567")
    assert not is_load_balancer(f"{PREFIX}targetgroup/bm-30000/0123")
