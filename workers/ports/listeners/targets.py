"""What stands in a target group: the addresses that AWS sends traffic to, or is about to."""

from __future__ import annotations

from typing import Final

from domain.ports.target import target_text
from workers.cloud.driver import LoadBalancerApi

DRAINING: Final = "draining"


def registered_targets(driver: LoadBalancerApi, target_group: str) -> frozenset[str]:
    """`ip:port` of each, without those that drain. One call. Raises NotFound when the target group is gone."""
    found = driver.targets(target_group)
    return frozenset(target_text(each.ip, each.port) for each in found if each.health != DRAINING)
