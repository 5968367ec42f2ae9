"""Targets as AWS has them: one an address and port, checked at registration, slow to become healthy and to drain."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Any

from moto.elbv2.exceptions import TargetGroupNotFoundError
from moto.elbv2.models import FakeHealthStatus, FakeTargetGroup

from compose.sandbox.aws.refusals import bad_target, invalid, quota
from compose.sandbox.aws.target_groups import LAST_PORT, StrictTargetGroups

Address = tuple[str, int]
ROUTABLE = [ipaddress.ip_network(cidr) for cidr in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")]


@dataclass
class Registration:
    """A registered target. Times are of Core.now. `draining_until` is None until the target is deregistered."""

    healthy_at: float
    draining_until: float | None = None


class StrictTargets(StrictTargetGroups):
    """The targets of the strict backend."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.registrations: dict[str, dict[Address, Registration]] = {}
        self.sick: set[str] = set()  # addresses `ip` or `ip:port` that fail their health check

    def register_targets(self, target_group_arn: str, instances: list[Any]) -> None:
        """Register targets. A draining target starts anew, a registered target stays as it is."""
        group = self._group(target_group_arn)
        requested = [_address(group, target) for target in instances]
        for ip, port in requested:
            _check_address(group, ip, port)
        registered = self._registered(target_group_arn)
        limit = self.settings.quotas.targets_per_target_group
        if len(registered.keys() | set(requested)) > limit:
            raise quota("TooManyTargets", limit)
        for address in requested:
            if address not in registered or registered[address].draining_until is not None:
                registered[address] = Registration(self.now() + self.settings.initial)

    def deregister_targets(self, target_group_arn: str, instances: list[dict[str, Any]]) -> None:
        """Deregister targets. A target that is not registered is no error, as in AWS."""
        group, registered = self._group(target_group_arn), self._registered(target_group_arn)
        for address in [_address(group, target) for target in instances]:
            if address in registered and registered[address].draining_until is None:
                registered[address].draining_until = self.now() + self.settings.draining

    def describe_target_health(self, target_group_arn: str, targets: list[dict[str, Any]]) -> list[FakeHealthStatus]:
        """Return the health of the given targets, or of all registered ones."""
        group, registered = self._group(target_group_arn), self._registered(target_group_arn)
        requested = [_address(group, target) for target in targets] if targets else sorted(registered)
        return [self._health(group, address, registered.get(address)) for address in requested]

    def delete_target_group(self, target_group_arn: str) -> FakeTargetGroup | None:  # type: ignore[override] # as above
        """Delete a target group and its registrations. A missing target group is no error, as in AWS."""
        group = super().delete_target_group(target_group_arn)
        self.registrations.pop(target_group_arn, None)
        return group

    def _group(self, arn: str) -> FakeTargetGroup:
        if arn not in self.target_groups:
            raise TargetGroupNotFoundError()
        return self.target_groups[arn]

    def _registered(self, target_group_arn: str) -> dict[Address, Registration]:
        """Return the registrations, without those that have drained."""
        registered = self.registrations.setdefault(target_group_arn, {})
        for address, registration in list(registered.items()):
            if registration.draining_until is not None and self.now() >= registration.draining_until:
                del registered[address]
        return registered

    def _health(self, group: FakeTargetGroup, address: Address, registration: Registration | None) -> FakeHealthStatus:
        state, reason = self._state(group, address, registration)
        return FakeHealthStatus(address[0], str(address[1]), group.health_check_port, state, reason)

    def _state(
        self, group: FakeTargetGroup, address: Address, registration: Registration | None
    ) -> tuple[str, str | None]:
        if registration is None:
            return "unused", "Target.NotRegistered"
        if registration.draining_until is not None:
            return "draining", "Target.DeregistrationInProgress"
        if not group.load_balancer_arns:
            return "unused", "Target.NotInUse"
        if self.now() < registration.healthy_at:
            return "initial", "Elb.RegistrationInProgress"
        if {address[0], f"{address[0]}:{address[1]}"} & self.sick:
            return "unhealthy", "Target.FailedHealthChecks"
        return "healthy", None


def _address(group: FakeTargetGroup, target: dict[str, Any]) -> Address:
    return str(target["Id"]), int(target.get("Port") or group.port)


def _check_address(group: FakeTargetGroup, ip: str, port: int) -> None:
    if not 1 <= port <= LAST_PORT:
        raise invalid(f"Port '{port}' is not between 1 and {LAST_PORT}")
    try:
        parsed = ipaddress.ip_address(ip)
    except ValueError:
        raise invalid(f"The IP address '{ip}' is not a valid IP address") from None
    if parsed.version != (6 if group.ip_address_type == "ipv6" else 4):
        raise bad_target(f"The IP address '{ip}' is not of the type of the target group")
    if isinstance(parsed, ipaddress.IPv4Address) and not any(parsed in network for network in ROUTABLE):
        raise bad_target(f"The IP address '{ip}' is outside the VPC and its peers")
