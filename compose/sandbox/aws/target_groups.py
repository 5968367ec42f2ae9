"""Target groups as AWS has them: idempotent by name, never deleted while in use, checked by TCP or HTTP."""

from __future__ import annotations

from typing import Any

from moto.elbv2.exceptions import DuplicateTargetGroupName, TargetGroupNotFoundError
from moto.elbv2.models import FakeTargetGroup

from compose.sandbox.aws.listeners import StrictListeners
from compose.sandbox.aws.refusals import in_use, invalid, quota

CHECKS = {"TCP", "HTTP", "HTTPS"}
LAST_PORT = 65535
MODIFIABLE = ("health_check_protocol", "health_check_port", "health_check_interval_seconds", "healthy_threshold_count")


class StrictTargetGroups(StrictListeners):
    """The target groups of the strict backend."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.groups_by_name: dict[str, str] = {}

    def create_target_group(self, name: str, **kwargs: Any) -> FakeTargetGroup:
        """Create a target group, or return the existing one if its name and settings are equal."""
        port = kwargs.get("port")
        if port is None or not 1 <= int(port) <= LAST_PORT:
            raise invalid(f"Port '{port}' is not between 1 and {LAST_PORT}")
        _check_health_check(kwargs.get("healthcheck_protocol"), kwargs.get("healthcheck_port"))
        if name in self.groups_by_name:
            return self._same_group(self.target_groups[self.groups_by_name[name]], kwargs)
        limit = self.settings.quotas.target_groups
        if len(self.target_groups) >= limit:
            raise quota("TooManyTargetGroups", limit)
        tags = kwargs.pop("tags", None) or []
        self.check_tags({}, tags)
        group = super().create_target_group(name, **kwargs)
        self.tagging_service.tag_resource(group.arn, tags)
        self.groups_by_name[name] = group.arn
        return group

    def describe_target_groups(
        self, load_balancer_arn: str | None, target_group_arns: list[str], names: list[str] | None
    ) -> list[FakeTargetGroup]:
        """Return the target groups of a load balancer, or the named ones. Raises TargetGroupNotFoundError."""
        if names and not load_balancer_arn and not target_group_arns:
            if any(name not in self.groups_by_name for name in names):
                raise TargetGroupNotFoundError()
            target_group_arns, names = [self.groups_by_name[name] for name in names], None
        return list(super().describe_target_groups(load_balancer_arn, target_group_arns, names))

    def modify_target_group(self, arn: str, *args: Any, **kwargs: Any) -> FakeTargetGroup:
        """Change a target group. Raises ELBClientError for a wrong health check."""
        _check_health_check(*args[:2])
        return super().modify_target_group(arn, *args, **kwargs)

    def delete_target_group(self, target_group_arn: str) -> FakeTargetGroup | None:  # type: ignore[override] # AWS: no error
        """Delete a target group. A missing one is no error, as in AWS. Raises ELBClientError while it is in use."""
        if self.users.get(target_group_arn):
            raise in_use(f"Target group '{target_group_arn}'")
        group = self.target_groups.pop(target_group_arn, None)
        if group:
            del self.groups_by_name[group.name]
            self.users.pop(target_group_arn, None)
            self.tagging_service.delete_all_tags_for_resource(target_group_arn)
        return group

    def _same_group(self, existing: FakeTargetGroup, kwargs: dict[str, Any]) -> FakeTargetGroup:
        """Return the existing group if its settings are the requested ones. Raises DuplicateTargetGroupName.

        The requested group comes from a scratch backend, because moto fills in defaults when it creates a group.
        """
        scratch = StrictTargetGroups(self.region_name, self.account_id, self.settings)
        requested = scratch.create_target_group(existing.name, **{**kwargs, "tags": None})
        if _settings(existing) == _settings(requested):
            return existing
        raise DuplicateTargetGroupName()


def _settings(group: FakeTargetGroup) -> tuple[object, ...]:
    checks = tuple(str(getattr(group, name)) for name in MODIFIABLE)
    return group.protocol, int(group.port), group.vpc_id, group.target_type, group.ip_address_type, checks


def _check_health_check(protocol: str | None = None, port: str | None = None) -> None:
    """Check protocol and port of a health check. AWS has no health checks by UDP."""
    if protocol is not None and protocol not in CHECKS:
        raise invalid(f"Health check protocol '{protocol}' must be one of {sorted(CHECKS)}")
    if port not in (None, "traffic-port") and not (str(port).isdigit() and 1 <= int(str(port)) <= LAST_PORT):
        raise invalid(f"Health check port '{port}' must be 'traffic-port' or a number from 1 to {LAST_PORT}")
