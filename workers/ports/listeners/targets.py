"""The targets of a target group: the addresses that AWS sends traffic to, or is about to."""

from __future__ import annotations

from typing import Final

from domain.ports.target import address_of, target_text
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.errors import CloudNotFound

DRAINING: Final = "draining"


def registered_targets(driver: LoadBalancerApi, target_group: str) -> frozenset[str]:
    """The `ip:port` of each target that does not drain, by one call. Raises CloudNotFound when the group is gone."""
    targets = driver.targets(target_group)
    return frozenset(target_text(target.ip, target.port) for target in targets if target.health != DRAINING)


def deregister_others(driver: LoadBalancerApi, target_group: str, target: str) -> None:
    """Deregister every target but `target` ('' = all).

    A target group that outlives its pod may hold addresses that no record knows: of a run that died after its call, or
    whose call came late. They are deregistered by address, so that a list that grew old does not take the successor's.
    """
    try:
        others = registered_targets(driver, target_group) - {target}
    except CloudNotFound:
        if target:
            raise
        return
    if others:
        driver.deregister(target_group, [address_of(text) for text in sorted(others)])
